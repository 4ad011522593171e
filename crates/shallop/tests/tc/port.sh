# Puts the port of a script between the card of this host and its TCP, so that what arrives waits there as in a switch.
set -e
ip link add port type veth peer name inner
ip link set inner address "$(cat /sys/class/net/eth0/address)"
for name in all inner; do
    echo 0 > "/proc/sys/net/ipv4/conf/$name/rp_filter"
done
ip link set port up
ip link set inner up
ethtool -K eth0 gro off
sh /scenario/script.sh apply port
tc qdisc add dev eth0 clsact
tc filter add dev eth0 ingress matchall action mirred egress redirect dev port
sleep 1.99
sh /scenario/script.sh show port > qdisc.json
sh /scenario/script.sh undo port
tc qdisc show dev port > left
# Linux must accept the settings of each other kind of port, and other disciplines.
for file in script other; do
    for kind in $(sed -n 's/^        \([^ *]*\)) echo [0-9] ;;$/\1/p' /scenario/$file.sh); do
        KIND=$kind sh /scenario/$file.sh apply port
        sh /scenario/$file.sh undo port
    done
done
