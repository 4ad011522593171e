before=$(tc qdisc show dev r0)
for way in in out; do
    $shallop edge clean attach r0 --rate 100Mbps > said
    ! $shallop edge clean attach r0 2> why
    tc filter del dev r0 ingress
    [ $way = in ] || tc filter del dev r0 egress
    $shallop edge clean list | tail -n 1
    # One of two programs is there still.
    [ $way = out ] || { ! $shallop edge clean attach r0 2>> why; $shallop edge clean detach r0; }
done
$shallop edge clean attach r0 > said
$shallop edge clean list | tail -n 1
[ "$(tc qdisc show dev r0 | grep -c tbf)" = 0 ]
$shallop edge clean detach r0
[ "$(tc qdisc show dev r0)" = "$before" ] && [ ! -e /sys/fs/bpf/shallop ]
for time in $(seq 6); do
    # Of two at once, the second finds the first one's proxy, whole.
    $shallop edge clean attach r0 > said.2 2> why.2 & other=$!
    code=0; $shallop edge clean attach r0 > said 2> why || code=$?
    second=0; wait $other || second=$?
    [ $((code + second)) = 2 ] && grep -q already why why.2
    $shallop edge clean list | grep -q attached
    $shallop edge clean detach r0
done
[ "$(tc qdisc show dev r0)" = "$before" ] && [ ! -e /sys/fs/bpf/shallop ]
ip link add d0 type veth peer name d1
$shallop edge clean attach d0 > said
ip link del d0
ip link add d0 type veth peer name d1
$shallop edge clean attach d0 > said
$shallop edge clean list | tail -n 1
$shallop edge clean detach d0
[ ! -e /sys/fs/bpf/shallop ]
