# Transfers over paths with smaller MTUs, over both versions of IP. Prints a line for each: its name, the payload of UDP
# that fits, the fragments made, and the report of the sender.
head -c 3000000 /dev/urandom > data
report() { # NAME FITS TO
    before=$(fragments at_sender; fragments env)
    sent=$(transfer "$3" $4 | tr -d '\n')
    after=$(fragments at_sender; fragments env)
    [ "$before" = "$after" ] && made=0 || made=1
    echo "$1 $2 $made $sent"
}
both() { # NAME MTU [OPTION...]
    name=$1 mtu=$2; shift 2
    report "$name-v4" $((mtu - 28)) 10.8.2.2 "$*"
    [ "$mtu" -lt 1280 ] || report "$name-v6" $((mtu - 48)) '[fd08:2::2]' "$*"
}
# First, before the router tells the sender of small MTUs: a tunnel fragments to what it was told.
if at_sender ip link add vx0 type vxlan id 8 remote 10.8.2.2 local 10.8.1.2 dstport 4789 dev eth0 2> why; then
    at_receiver ip link add vx0 type vxlan id 8 remote 10.8.1.2 local 10.8.2.2 dstport 4789 dev eth0
    at_sender ip addr add 10.9.0.1/24 dev vx0; at_sender ip link set vx0 up
    at_receiver ip addr add 10.9.0.2/24 dev vx0; at_receiver ip link set vx0 up
    report vxlan $((1450 - 28)) 10.9.0.2 ''
else
    echo "no vxlan: $(cat why)" >&2
fi
both ethernet 1500
for mtu in 1420 1300 1280; do
    # The router refuses longer packets and says so by ICMP.
    ip link set r0 mtu $mtu
    both told-$mtu $mtu
    ip link set r0 mtu 1500
    # The receiver's device drops them without a word. A device takes four bytes more than its MTU, for a VLAN tag.
    at_receiver ip link set eth0 mtu $mtu
    both untold-$mtu $((mtu + 4))
    at_receiver ip link set eth0 mtu 1500
done
# The sender's own device is too small for the probes.
at_sender ip link set eth0 mtu 1300
both own-1300 1300
at_sender ip link set eth0 mtu 1500
