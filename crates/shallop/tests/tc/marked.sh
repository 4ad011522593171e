#!/bin/sh
# switch left, scheme dctcp: the queues of a switch on network cards of Linux, with tc (iproute2) and ethtool. It needs root.
#   sh FILE apply [PORT...]   replaces the queue discipline of these ports
#   sh FILE undo [PORT...]    removes it, and restores the offloads
#   sh FILE show [PORT...]    prints the counters as JSON
# Without PORT: eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7 eth8 eth9. KIND=WORD has the settings for a port that is not among them:
# 200Mbps, 1Gbps, 1Gbps-2.
# Packets are merged where they enter a switch, so all its ports need the script.
# hosts: sysctl -w net.ipv4.tcp_ecn=1
# hosts: ip route replace PREFIX via GATEWAY congctl dctcp features ecn
# hosts: shallop send and shallop receive, one --wait at all hosts
# hosts: tc qdisc replace dev eth0 root fq
set -eu
# The offloads that `undo` turns on again, a file for each port.
kept=${KEPT:-/run}/shallop-tc

# 200Mbps: eth0 to right
queues_0() {
    # rate of the port in bytes on the wire; packets wait in the queues below
    tc qdisc add dev "$port" root handle 1: tbf rate 200000000bit burst 3052 overhead 24 mpu 84 limit 1514
    # queues in the order 5: credits or emulation packets, 4: returned credits, 2: transports without credits, 1: data; the least weight sends one full packet a turn
    tc qdisc add dev "$port" parent 1:1 handle 2: ets bands 4 strict 2 quanta 1514 1514 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
    # credits or emulation packets, 200Mbps × 1·84 / (1·84 + 2·1538): data have 1/2 of it
    tc qdisc add dev "$port" parent 2:1 handle 11: tbf rate 5316456bit burst 144 overhead 24 mpu 84 limit 480
    # credits or emulation packets, selective drop above 2pkt: only packets that are not ECN-capable; 8pkt of 84B: 8 packets of 60 B
    tc qdisc add dev "$port" parent 11:1 handle 21: red limit 480 min 90 max 90 avpkt 90 burst 1 probability 1 bandwidth 200000000bit ecn
    # returned credits, 1000 packets: 1000 packets of 1514 B
    tc qdisc add dev "$port" parent 2:2 handle 12: bfifo limit 1514000
    # transports without credits, above 40KB; buffer = 400KB = 260.1 frames of 1538 B, weights 1 and 1: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 2:3 handle 13: red limit 196820 min 38607 max 38607 avpkt 1545 burst 25 probability 1 bandwidth 200000000bit ecn nodrop
    # data, above 40KB; buffer = 400KB = 260.1 frames of 1538 B, weights 1 and 1: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 2:4 handle 14: red limit 196820 min 38607 max 38607 avpkt 1545 burst 25 probability 1 bandwidth 200000000bit ecn nodrop
    # DSCP 8: CS1: small acknowledgements
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x20 0xfc flowid 2:2
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x20 0xfc flowid 2:2
    # DSCP 10: AF11: data on credits
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x28 0xfc flowid 2:4
    # DSCP 16: CS2: handshakes
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x40 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x40 0xfc flowid 2:4
    # DSCP 24: CS3: emulation packets
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x60 0xfc flowid 2:1
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x60 0xfc flowid 2:1
    # DSCP 32: CS4: credits
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x80 0xfc flowid 2:2
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x80 0xfc flowid 2:2
    # DSCP 40: CS5: data before the first credit
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0xa0 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0xa0 0xfc flowid 2:4
}

# 1Gbps: eth1 to s0, eth2 to s1, eth3 to s2, eth4 to s3, eth5 to s4, eth6 to s5, eth7 to s6, eth8 to s7
queues_1() {
    # rate of the port in bytes on the wire; packets wait in the queues below
    tc qdisc add dev "$port" root handle 1: tbf rate 1000000000bit burst 3052 overhead 24 mpu 84 limit 1514
    # queues in the order 5: credits or emulation packets, 4: returned credits, 2: transports without credits, 1: data; the least weight sends one full packet a turn
    tc qdisc add dev "$port" parent 1:1 handle 2: ets bands 4 strict 2 quanta 1514 1514 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
    # credits or emulation packets, 1Gbps × 1·84 / (1·84 + 2·1538): data have 1/2 of it
    tc qdisc add dev "$port" parent 2:1 handle 11: tbf rate 26582278bit burst 144 overhead 24 mpu 84 limit 480
    # credits or emulation packets, selective drop above 2pkt: only packets that are not ECN-capable; 8pkt of 84B: 8 packets of 60 B
    tc qdisc add dev "$port" parent 11:1 handle 21: red limit 480 min 90 max 90 avpkt 90 burst 1 probability 1 bandwidth 1000000000bit ecn
    # returned credits, 1000 packets: 1000 packets of 1514 B
    tc qdisc add dev "$port" parent 2:2 handle 12: bfifo limit 1514000
    # transports without credits, above 40KB; buffer = 400KB = 260.1 frames of 1538 B, weights 1 and 1: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 2:3 handle 13: red limit 196820 min 38607 max 38607 avpkt 1545 burst 25 probability 1 bandwidth 1000000000bit ecn nodrop
    # data, above 40KB; buffer = 400KB = 260.1 frames of 1538 B, weights 1 and 1: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 2:4 handle 14: red limit 196820 min 38607 max 38607 avpkt 1545 burst 25 probability 1 bandwidth 1000000000bit ecn nodrop
    # DSCP 8: CS1: small acknowledgements
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x20 0xfc flowid 2:2
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x20 0xfc flowid 2:2
    # DSCP 10: AF11: data on credits
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x28 0xfc flowid 2:4
    # DSCP 16: CS2: handshakes
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x40 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x40 0xfc flowid 2:4
    # DSCP 24: CS3: emulation packets
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x60 0xfc flowid 2:1
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x60 0xfc flowid 2:1
    # DSCP 32: CS4: credits
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x80 0xfc flowid 2:2
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x80 0xfc flowid 2:2
    # DSCP 40: CS5: data before the first credit
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0xa0 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0xa0 0xfc flowid 2:4
}

# 1Gbps-2: eth9 to s8
queues_2() {
    # rate of the port in bytes on the wire; packets wait in the queues below
    tc qdisc add dev "$port" root handle 1: tbf rate 1000000000bit burst 3052 overhead 24 mpu 84 limit 1514
    # queues in the order 5: credits or emulation packets, 4: returned credits, 2: transports without credits, 1: data; the least weight sends one full packet a turn
    tc qdisc add dev "$port" parent 1:1 handle 2: ets bands 4 strict 2 quanta 1514 1514 priomap 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
    # credits or emulation packets, 1Gbps × 84 / (84 + 1538)
    tc qdisc add dev "$port" parent 2:1 handle 11: tbf rate 51787916bit burst 144 overhead 24 mpu 84 limit 480
    # credits or emulation packets, selective drop above 2pkt: only packets that are not ECN-capable; 8pkt of 84B: 8 packets of 60 B
    tc qdisc add dev "$port" parent 11:1 handle 21: red limit 480 min 90 max 90 avpkt 90 burst 1 probability 1 bandwidth 1000000000bit ecn
    # returned credits, 1000 packets: 1000 packets of 1514 B
    tc qdisc add dev "$port" parent 2:2 handle 12: bfifo limit 1514000
    # transports without credits, above 40KB; buffer = 400KB = 260.1 frames of 1538 B, weights 1 and 1: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 2:3 handle 13: red limit 196820 min 38607 max 38607 avpkt 1545 burst 25 probability 1 bandwidth 1000000000bit ecn nodrop
    # data, above 40KB; buffer = 400KB = 260.1 frames of 1538 B, weights 1 and 1: 130 packets of 1514 B
    tc qdisc add dev "$port" parent 2:4 handle 14: red limit 196820 min 38607 max 38607 avpkt 1545 burst 25 probability 1 bandwidth 1000000000bit ecn nodrop
    # DSCP 8: CS1: small acknowledgements
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x20 0xfc flowid 2:2
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x20 0xfc flowid 2:2
    # DSCP 10: AF11: data on credits
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x28 0xfc flowid 2:4
    # DSCP 16: CS2: handshakes
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x40 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x40 0xfc flowid 2:4
    # DSCP 24: CS3: emulation packets
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x60 0xfc flowid 2:1
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x60 0xfc flowid 2:1
    # DSCP 32: CS4: credits
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0x80 0xfc flowid 2:2
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x80 0xfc flowid 2:2
    # DSCP 40: CS5: data before the first credit
    tc filter add dev "$port" parent 2: protocol ip prio 1 u32 match ip dsfield 0xa0 0xfc flowid 2:4
    tc filter add dev "$port" parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0xa0 0xfc flowid 2:4
}

# Prints the number of a port's settings.
kind() {
    case $1 in
    eth0) echo 0 ;;
    eth1 | eth2 | eth3 | eth4 | eth5 | eth6 | eth7 | eth8) echo 1 ;;
    eth9) echo 2 ;;
    *)
        case ${KIND:-200Mbps} in
        200Mbps) echo 0 ;;
        1Gbps) echo 1 ;;
        1Gbps-2) echo 2 ;;
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
# note: left, dctcp: selective drop above a number of packets: no such setting; bytes, packets of 84B
# note: left, dctcp: queue 5 (credits or emulation packets), gain of the average length: 0.5 in place of 1 (-50 %)
# note: left, dctcp: queue 4 (returned credits), no limit: no such setting; 1000 packets
# note: left, dctcp: queue 2 (transports without credits), gain of the average length: 0.5 in place of 1 (-50 %)
# note: left, dctcp: queue 1 (data), gain of the average length: 0.5 in place of 1 (-50 %)
