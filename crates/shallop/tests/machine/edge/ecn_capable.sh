$shallop edge clean attach s0 --role edge > said
$shallop edge clean attach r0 --set flows=16 --set decrease=half > said
serve 5001 2
transfer 10.8.2.2 5001 2 500000
cmp sent received
$shallop edge clean show s0 --json
echo ,
$shallop edge clean show r0 --json
at_receiver awk '/^IpExt:/ { if (++line == 1) split($0, name); else for (i in name)
    if (name[i] ~ /ECT0Pkts|CEPkts/) sum += $i } END { print "," sum }' /proc/net/netstat
$shallop edge clean detach s0
$shallop edge clean detach r0
[ ! -e /sys/fs/bpf/shallop ] && ! tc qdisc show | grep clsact
