#!/bin/sh
# switch left, scheme cubic: the queues of a switch on network cards of Linux, with tc (iproute2) and ethtool. It needs root.
#   sh FILE apply [PORT...]   replaces the queue discipline of these ports
#   sh FILE undo [PORT...]    removes it, and restores the offloads
#   sh FILE show [PORT...]    prints the counters as JSON
# Without PORT: eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7 eth8 eth9. KIND=WORD has the settings for a port that is not among them:
# 200Mbps, 1Gbps.
# Packets are merged where they enter a switch, so all its ports need the script.
# hosts: ip route replace PREFIX via GATEWAY congctl cubic
# hosts: tc qdisc replace dev eth0 root fq
set -eu
# The offloads that `undo` turns on again, a file for each port.
kept=${KEPT:-/run}/shallop-tc

# 200Mbps: eth0 to right
queues_0() {
    # rate of the port in bytes on the wire; packets wait in the queues below
    tc qdisc add dev "$port" root handle 1: tbf rate 200000000bit burst 3052 overhead 24 mpu 84 limit 1514
    # queues in the order 1: data
    tc qdisc add dev "$port" parent 1:1 handle 2: ets bands 1 strict 1 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
    # data, 100Mbps with a burst of 32KB
    tc qdisc add dev "$port" parent 2:1 handle 11: tbf rate 100000000bit burst 31976 overhead 24 mpu 84 limit 196820
    # data, aqm of the switch; buffer = 200KB = 130.0 frames of 1538 B: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 11:1 handle 21: fq_codel limit 130 noecn target 1ms interval 20ms flows 1024 drop_batch 64
    # 100Mbps with a burst of 250KB
    tc filter add dev "$port" parent 2: protocol all prio 9 u32 match u32 0 0 police rate 100000000bit burst 250000 overhead 24 mpu 84 conform-exceed drop/ok flowid 2:1
}

# 1Gbps: eth1 to s0, eth2 to s1, eth3 to s2, eth4 to s3, eth5 to s4, eth6 to s5, eth7 to s6, eth8 to s7, eth9 to s8
queues_1() {
    # rate of the port in bytes on the wire; packets wait in the queues below
    tc qdisc add dev "$port" root handle 1: tbf rate 1000000000bit burst 3052 overhead 24 mpu 84 limit 1514
    # queues in the order 1: data
    tc qdisc add dev "$port" parent 1:1 handle 2: ets bands 1 strict 1 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
    # data, 100Mbps with a burst of 32KB
    tc qdisc add dev "$port" parent 2:1 handle 11: tbf rate 100000000bit burst 31976 overhead 24 mpu 84 limit 196820
    # data, aqm of the switch; buffer = 200KB = 130.0 frames of 1538 B: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 11:1 handle 21: fq_codel limit 130 noecn target 1ms interval 20ms flows 1024 drop_batch 64
    # 100Mbps with a burst of 250KB
    tc filter add dev "$port" parent 2: protocol all prio 9 u32 match u32 0 0 police rate 100000000bit burst 250000 overhead 24 mpu 84 conform-exceed drop/ok flowid 2:1
}

# Prints the number of a port's settings.
kind() {
    case $1 in
    eth0) echo 0 ;;
    eth1 | eth2 | eth3 | eth4 | eth5 | eth6 | eth7 | eth8 | eth9) echo 1 ;;
    *)
        case ${KIND:-200Mbps} in
        200Mbps) echo 0 ;;
        1Gbps) echo 1 ;;
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
[ $# -gt 1 ] || set -- "$command" eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7 eth8 eth9
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
