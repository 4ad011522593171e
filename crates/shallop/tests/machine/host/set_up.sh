# Two hosts with a wire between them, in namespaces of their own: "here" is 10.9.0.1, "there" 10.9.0.2, which gets every
# 16th packet with a mark. `$1` is the command, `$2` the folder of these files. Sourced by other scripts.
set -eu
shallop=$1 files=$2
mount -t bpf bpf /sys/fs/bpf
ip link set lo up
unshare -n sleep 120 & sleeper=$!
trap 'kill $(jobs -p) 2> /dev/null' EXIT
while [ "$(readlink /proc/$sleeper/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link add veth0 type veth peer name veth1
ip link set veth1 netns $sleeper
ip addr add 10.9.0.1/24 dev veth0
ip link set veth0 up
there() { nsenter -n -t $sleeper "$@"; }
there ip link set lo up
there ip addr add 10.9.0.2/24 dev veth1
there ip link set veth1 up
clang -target bpf -O2 -c "$files/mark.bpf.c" -o mark.o
there tc qdisc add dev veth1 clsact
there tc filter add dev veth1 ingress bpf da obj mark.o sec classifier
serve() { nsenter -n -t $sleeper python3 "$files/transfer.py" server "$1" "$2" & }
transfer() { python3 "$files/transfer.py" client 10.9.0.2 "$@"; }
received() { until [ -s "received.$1" ]; do sleep 0.05; done; cat "received.$1"; rm "received.$1"; }
# The connection of a controller, as soon as there is one; and nothing, once there is none.
seen() {
    until $shallop host watch "$1" --once --json > told && [ -s told ]; do sleep 0.05; done
    head -n 1 told
}
unseen() { while $shallop host watch "$1" --once --json > told && [ -s told ]; do sleep 0.05; done; }
