set -eu
ip link set lo up
ip link add va type veth peer name vb
unshare -n sleep 120 & there=$!
trap 'kill $there $server' EXIT
while [ "$(readlink /proc/$there/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
ip link set vb netns $there
ip link set va up
at() { nsenter -n -t $there "$@"; }
at ip link set lo up; at ip addr add "$1/8" dev vb; at ip link set vb up
head -c 300000 /dev/urandom > file
at timeout 120 python3 -m http.server 8000 > served 2>&1 & server=$!
until at python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8000))' 2> refused; do sleep 0.05; done
ip -d link show va | grep -o 'promiscuity [0-9]*' > before
ip link add idle type veth peer name other
"$2" shell scenario.toml --attach idle=r1 --host s0 -- true
"$2" shell scenario.toml --attach va=r1 --host s0 -- python3 -c '
import urllib.request
with open("got", "wb") as got:
    got.write(urllib.request.urlopen("http://r1:8000/file", timeout=20).read())'
ip -d link show va | grep -o 'promiscuity [0-9]*' > after
cmp before after
cmp file got
at cat /proc/net/snmp > counters
