class() { echo "htb rate $1kbit ceil $2kbit prio $3 burst $4 cburst $4 quantum 1538 overhead 24 mpu 84"; }
match() {
    tc filter add dev $1 parent 1: protocol ip prio 1 u32 match ip dsfield $2 0xfc flowid 1:$3
}
classes() { # DEVICE EMULATION DATA: the rate, ceiling and priority of both
    tc qdisc add dev $1 root handle 1: htb default 30
    tc class add dev $1 parent 1: classid 1:1 $(class 20000 20000 0 3076)
    tc class add dev $1 parent 1:1 classid 1:10 $(class $2 200)
    tc class add dev $1 parent 1:1 classid 1:20 $(class 2000 20000 0 3076)
    tc class add dev $1 parent 1:1 classid 1:30 $(class $3 3076)
    tc qdisc add dev $1 parent 1:10 handle 10: pfifo limit 8
    tc qdisc add dev $1 parent 1:20 handle 20: pfifo limit 64
    tc qdisc add dev $1 parent 1:30 handle 30: pfifo limit 13
    match $1 0x60 10
    match $1 0x80 20
    match $1 0x20 20
}
for device in r0 s0; do
    case $PATH_KIND in
        right) classes $device "1036 1036 0" "16000 20000 1" ;;
        no-meter) classes $device "2000 20000 0" "16000 20000 1" ;;
        data-first) classes $device "64 1036 7" "16000 20000 0" ;;
        data-first-no-meter) classes $device "64 20000 7" "16000 20000 0" ;;
        one-queue) tc qdisc add dev $device root tbf rate 20mbit burst 3076 limit 20000 overhead 24 mpu 84 ;;
    esac
done
