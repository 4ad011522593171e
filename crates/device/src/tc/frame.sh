#!/bin/sh
# @NAME@: the queues of a switch on network cards of Linux, with tc (iproute2) and ethtool. It needs root.
#   sh FILE apply [PORT...]   replaces the queue discipline of these ports
#   sh FILE undo [PORT...]    removes it, and restores the offloads
#   sh FILE show [PORT...]    prints the counters as JSON
# Without PORT: @PORTS@. KIND=WORD has the settings for a port that is not among them:
# @WORDS@.
# Packets are merged where they enter a switch, so all its ports need the script.
@HOSTS@
set -eu
# The offloads that `undo` turns on again, a file for each port.
kept=${KEPT:-/run}/shallop-tc
@QUEUES@
# Prints the number of a port's settings.
kind() {
    case $1 in
@KINDS@
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
    if [ "$(cat "/sys/class/net/$port/mtu")" -gt @MTU@ ]; then
        echo "$port: the settings hold for an MTU of up to @MTU@ bytes" >&2
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
[ $# -gt 1 ] || set -- "$command" @PORTS@
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
