# A sender, a machine in the path, and a receiver, in network namespaces of their own: "here" is the machine in the path,
# with devices s0 to the sender (10.8.1.2, fd08:1::2) and r0 to the receiver (10.8.2.2, fd08:2::2). All end with the
# script. Sourced by other scripts.
set -eu
ip link set lo up
unshare -n sleep 240 & sender=$!
unshare -n sleep 240 & receiver=$!
trap 'kill $(jobs -p) 2> /dev/null' EXIT
for process in $sender $receiver; do
    while [ "$(readlink /proc/$process/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
done
at_sender() { nsenter -n -t $sender "$@"; }
at_receiver() { nsenter -n -t $receiver "$@"; }
wire() { # NAME PROCESS NUMBER
    ip link add "$1" type veth peer name eth0 netns "$2"
    ip addr add "10.8.$3.1/24" dev "$1"
    ip addr add "fd08:$3::1/64" dev "$1" nodad
    ip link set "$1" up
    nsenter -n -t "$2" sh -c "ip link set lo up && ip addr add 10.8.$3.2/24 dev eth0 &&
        ip addr add fd08:$3::2/64 dev eth0 nodad && ip link set eth0 up &&
        ip route add default via 10.8.$3.1 && ip -6 route add default via fd08:$3::1"
}
wire s0 $sender 1
wire r0 $receiver 2
echo 1 > /proc/sys/net/ipv4/ip_forward
echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
