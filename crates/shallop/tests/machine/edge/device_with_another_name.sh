$shallop edge clean attach r0 --rate 400Mbps > said
ip link set r0 down && ip link set r0 name rc && ip link set rc up
$shallop edge clean list --json | tr -d ' \n'
$shallop edge clean set r0 decrease=half
$shallop edge clean show rc | grep decrease
! $shallop edge clean attach rc 2> why; cat why
ip link add r0 type veth peer name r1
! $shallop edge clean attach r0 --role edge --mark 5pkt 2>> why; $shallop edge clean attach r0 --role edge
$shallop edge clean detach r0 2>&1
$shallop edge clean list --json | tr -d ' \n'
$shallop edge clean detach r0 2>&1
[ ! -e /sys/fs/bpf/shallop ] && ! tc qdisc show dev rc | grep -E 'clsact|tbf'
! $shallop edge clean detach rc 2> why; cat why
