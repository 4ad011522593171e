# Transfers through a router, whose path has full-size packets up to the device r0. `$1` is the command, `$2` the folder
# of these files. Sourced by other scripts.
shallop=$1
. "$2/../three_hosts.sh"
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
