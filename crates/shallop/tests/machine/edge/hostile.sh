clang -target bpf -O2 -c "$files/hostile.bpf.c" -o hostile.o
for at in at_sender at_receiver; do
    $at ip link set eth0 gso_max_segs 1
    $at tc qdisc add dev eth0 root handle 1: htb default 1
    $at tc class add dev eth0 parent 1: classid 1:1 htb rate 1gbit
    $at tc class add dev eth0 parent 1: classid 1:2 htb rate 20mbit
    $at tc qdisc add dev eth0 clsact
    $at tc filter add dev eth0 egress bpf da obj hostile.o sec classifier
done
