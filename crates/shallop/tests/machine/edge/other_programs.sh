refused() { local code=0; $shallop edge clean "$@" > said 2> why || code=$?; echo "$code $(tr '\n' ' ' < why)"; }
refused attach nowhere
refused attach r0 --set min_window=0
refused attach r0 --set edges=1
refused attach r0 --rate 1Gbps --mark 100pkt --buffer 50pkt
refused detach r0
tc qdisc add dev r0 clsact
tc qdisc add dev r0 root handle 1: pfifo limit 100
before=$(tc qdisc show dev r0)
refused attach r0 --rate 1Gbps
$shallop edge clean attach r0 > said
refused attach r0
refused set r0 flows=3
$shallop edge clean set r0 decrease=half idle=2s
$shallop edge clean show r0 | grep -E '^(decrease|idle) ' | tr -s ' ' | tr '\n' ' '
$shallop edge clean list --json | tr -d ' \n'
$shallop edge clean detach r0
[ "$(tc qdisc show dev r0)" = "$before" ] && [ ! -e /sys/fs/bpf/shallop ]
$shallop edge clean attach s0 > said
ip link del s0
$shallop edge clean list | tail -n 1
$shallop edge clean detach s0
[ ! -e /sys/fs/bpf/shallop ]
