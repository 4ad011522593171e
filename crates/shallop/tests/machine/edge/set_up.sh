# A proxy's machine between a sender and a receiver. `$1` is the command, `$2` the folder of these files. Sourced by other
# scripts.
shallop=$1 files=$2
. "$files/../three_hosts.sh"
mount -t bpf bpf /sys/fs/bpf
serve() { nsenter -n -t $receiver python3 "$files/transfer.py" receive "$@" > received & server=$!; sleep 0.3; }
transfer() { at_sender python3 "$files/transfer.py" send "$@" > sent; wait $server; }
wrong_checksums() {
    for process in $sender $receiver; do
        nsenter -n -t $process awk '/^Tcp:/ { if (++line == 2) print $NF }' /proc/net/snmp
    done
}
