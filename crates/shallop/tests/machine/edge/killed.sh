before=$(tc qdisc show dev r0)
attach="attach r0 --rate 100Mbps"
took() { local began=$(date +%s%N); $shallop edge clean "$@" > said; echo $((($(date +%s%N) - began) / 1000)); }
attaching=$(took $attach)
detaching=$(took detach r0)
caught=0
for time in $(seq $TIMES); do
    if [ $((time % 2)) = 0 ]; then
        $shallop edge clean $attach > said; what="detach r0"; most=$detaching
    else
        what=$attach; most=$attaching
    fi
    $shallop edge clean $what > said 2> why & child=$!
    sleep 0.$(printf %06d $((RANDOM * most / 32768)))
    ! kill -9 $child 2> why || caught=$((caught + 1))
    wait $child || true
    if $shallop edge clean list 2> why | grep -q r0; then $shallop edge clean detach r0; fi
    find /sys/fs/bpf/shallop -depth -type d -exec rmdir {} + 2> why || true
    [ ! -e /sys/fs/bpf/shallop ]
    [ "$(tc qdisc show dev r0 | sed 's/qdisc tbf [0-9a-f]*/qdisc tbf/')" = "$before" ]
done
echo $caught
