before=$(tc qdisc show dev r0)
$shallop edge clean attach r0 --rate 400Mbps --mark 20pkt --buffer 400pkt > said
for setting in none window_scaling timestamps sack; do
    for address in 10.8.2.2 fd08:2::2; do
        [ $setting = none ] || at_receiver sysctl -qw "net.ipv4.tcp_$setting=0"
        serve 5001 4
        transfer $address 5001 4 $SIZE
        cmp sent received
        $shallop edge clean watch r0 --once --json | grep -F "$address" | tail -n 4 > flows
        [ "$(grep -c '"controlled":true' flows)" = 4 ]
    done
    at_receiver sysctl -qw net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_timestamps=1 net.ipv4.tcp_sack=1
    echo "$setting $(wrong_checksums | sort -u)"
done
at_receiver awk '/^TcpExt:/ { if (++line == 1) split($0, name); else for (i in name)
    if (name[i] == "TCPOFOQueue") print "early", $i }' /proc/net/netstat
at_sender awk '/^Tcp:/ { if (++line == 2) print "resent", $13 }' /proc/net/snmp
$shallop edge clean show r0 --json
$shallop edge clean detach r0
[ ! -e /sys/fs/bpf/shallop ] && [ "$(tc qdisc show dev r0)" = "$before" ]
