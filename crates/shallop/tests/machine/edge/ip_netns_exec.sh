mkdir -p /run/netns && mount -t tmpfs none /run/netns
ip netns add one
ip netns exec one ip link add d0 type veth peer name d1
for command in "list" "show d0" "detach d0" "attach d0"; do
    code=0; ip netns exec one $shallop edge clean $command 2> why || code=$?
    echo "$code $(grep -c 'nsenter --net=/run/netns/one shallop' why)"
done
nsenter --net=/run/netns/one $shallop edge clean attach d0 > said
nsenter --net=/run/netns/one $shallop edge clean list | tail -n 1
nsenter --net=/run/netns/one $shallop edge clean detach d0
[ ! -e /sys/fs/bpf/shallop ]
