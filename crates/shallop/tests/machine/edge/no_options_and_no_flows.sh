$shallop edge clean attach s0 --role edge
! $shallop edge clean set s0 decrease=half 2>&1
$shallop edge clean show s0
$shallop edge clean attach s0 > said
$shallop edge clean set s0 decrease=half
$shallop edge clean detach s0 2>&1
[ ! -e /sys/fs/bpf/shallop ] && ! tc qdisc show dev s0 | grep clsact
