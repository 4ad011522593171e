# A sender, a router and a receiver, in network namespaces of their own: "here" is the router. The path has full-size
# packets up to the device `r0` of the router. `$1` is the command. Sourced by other scripts.
set -eu
shallop=$1
ip link set lo up
unshare -n sleep 120 & sender=$!
unshare -n sleep 120 & receiver=$!
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
# The fragments that a namespace has made, of both versions of IP.
fragments() {
    "$@" awk '/^Ip:/ { if (++line == 1) for (i = 1; i <= NF; i++) at[$i] = i; else print $at["FragCreates"] }' \
        /proc/net/snmp
    "$@" awk '/^Ip6FragCreates/ { print $2 }' /proc/net/snmp6
}
# transfer TO [OPTION...]: sends the file `data` and prints the report of the sender.
transfer() {
    rm -rf inbox; mkdir inbox
    at_receiver "$shallop" receive inbox --once --wait 20ms --json > received 2> received.err & server=$!
    while ! grep -q address received; do sleep 0.02; done
    at_sender "$shallop" send data "$@" --wait 20ms --rate-limit 100Mbps --json
    wait $server
    cmp data inbox/data
}
