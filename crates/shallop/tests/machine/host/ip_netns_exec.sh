mkdir -p /run/netns && mount -t tmpfs none /run/netns
ip netns add one
$shallop host load ecn-star > said; grep -q "ecn-star, under the name ecn_star, is" said
for command in "list" "show ecn-star" "set ecn-star a=b" "watch ecn-star" "unload ecn-star" "load vegas"; do
    code=0; ip netns exec one $shallop host $command 2> why || code=$?
    echo "$code $(grep -c 'nsenter --net=/run/netns/one shallop' why)"
done
nsenter --net=/run/netns/one $shallop host watch ecn-star --once | head -n 1
$shallop host show ecn-star | head -n 1
! $shallop host set ecn-star a=b 2> why; grep -q 'be set of "ecn_star"' why
$shallop host unload ecn-star
[ ! -e /sys/fs/bpf/shallop ]
