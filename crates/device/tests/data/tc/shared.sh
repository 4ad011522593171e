#!/bin/sh
# $(id) id: the queues of a switch on network cards of Linux, with tc (iproute2) and ethtool. It needs root.
#   sh FILE apply [PORT...]   replaces the queue discipline of these ports
#   sh FILE undo [PORT...]    removes it, and restores the offloads
#   sh FILE show [PORT...]    prints the counters as JSON
# Without PORT: eth0 eth__id_. KIND=WORD has the settings for a port that is not among them:
# 200Mbps, 1_Gb_s___id_.
# Packets are merged where they enter a switch, so all its ports need the script.
# hosts: tc qdisc replace dev eth0 root fq
set -eu
# The offloads that `undo` turns on again, a file for each port.
kept=${KEPT:-/run}/shallop-tc

# 200Mbps: eth0 to r0
queues_0() {
    # rate of the port in bytes on the wire; the queues below hold what waits
    tc qdisc add dev "$port" root handle 1: tbf rate 200000000bit burst 3052 overhead 24 mpu 84 limit 1514
    # data, min = 30KB, max = 90KB; private memory and alpha 1 / (1 + alpha) of 400KB: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 1:1 handle 11: red limit 196820 min 28009 max 87055 avpkt 1557 burst 24 probability 0.1 bandwidth 200000000bit ecn
}

# 1 Gb/s; `id`: eth$(id) to r0
queues_1() {
    # rate of the port in bytes on the wire; the queues below hold what waits
    tc qdisc add dev "$port" root handle 1: tbf rate 1000000000bit burst 3052 overhead 24 mpu 84 limit 1514
    # in this order, queues 1: data
    tc qdisc add dev "$port" parent 1:1 handle 2: ets bands 1 strict 1 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
    # data, shaper
    tc qdisc add dev "$port" parent 2:1 handle 11: tbf rate 50000000bit burst 31976 overhead 24 mpu 84 limit 98410
    # data, aqm = codel; buffer = 100KB: 65 packets of 1514 B
    tc qdisc add dev "$port" parent 11:1 handle 21: codel target 1ms interval 20ms limit 65 noecn
    # policer
    tc filter add dev "$port" parent 2: protocol all prio 9 u32 match u32 0 0 police rate 100000000bit burst 250000 overhead 24 mpu 84 conform-exceed drop/ok flowid 2:1
}

# Prints the number of a port's settings.
kind() {
    case $1 in
    eth0) echo 0 ;;
    eth__id_) echo 1 ;;
    *)
        case ${KIND:-200Mbps} in
        200Mbps) echo 0 ;;
        1_Gb_s___id_) echo 1 ;;
        esac
        ;;
    esac
}

offloads() {
    while read -r offload; do
        ethtool -K "$1" "$offload" "$2"
    done < "$kept.$1"
}

# Offloads make one packet of up to 64 KB of several, for thresholds and shapers too.
apply() {
    port=$1
    if [ "$(cat "/sys/class/net/$port/mtu")" -gt 1500 ]; then
        echo "$port: the settings hold for an MTU of up to 1500 bytes" >&2
        return 1
    fi
    [ -e "$kept.$port" ] || ethtool -k "$port" |
        sed -n -e 's/^\(tcp-segmentation-offload\): on$/\1/p' -e 's/^\(generic-segmentation-offload\): on$/\1/p' \
            -e 's/^\(generic-receive-offload\): on$/\1/p' > "$kept.$port"
    offloads "$port" off
    tc qdisc del dev "$port" root 2> /dev/null || true
    "queues_$(kind "$port")"
}

undo() {
    tc qdisc del dev "$1" root 2> /dev/null || true
    [ -e "$kept.$1" ] || return 0
    offloads "$1" on
    rm "$kept.$1"
}

command=${1:-}
[ $# -gt 1 ] || set -- "$command" eth0 eth__id_
[ $# -lt 1 ] || shift
for name in "$@"; do
    case $command in
    apply)
        # A port whose settings Linux refuses has none of them.
        trap 'undo "$name"' EXIT
        apply "$name"
        trap - EXIT
        ;;
    undo) undo "$name" ;;
    show) tc -s -d -j qdisc show dev "$name" ;;
    *)
        echo "usage: sh FILE apply|undo|show [PORT...]" >&2
        exit 2
        ;;
    esac
done
# note: queue 1 (data) at 200Mbps, shared memory of 400KB: no such setting; 200000 B that no other queue can use, as one busy queue may hold
# note: queue 1 (data) at 200Mbps, marks or drops that are drawn for each packet: no such setting; `red` spaces them: a fraction of 2 p / (1 + p) at a probability of p
# note: queue 1 (data) at 1 Gb/s; `id`, memory of codel: no such setting; the value that Linux has
