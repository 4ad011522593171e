here=/sys/fs/bpf/shallop/host/$NAME
load() { $shallop host load gemini --name $NAME --capacity 1Gbps > said; }
out() { $shallop host list | grep -q "$NAME *$1" && $shallop host unload $NAME; [ ! -e /sys/fs/bpf/shallop ]; }
took() { local began=$(date +%s%N); "$@"; echo $((($(date +%s%N) - began) / 1000)); }
loading=$(took load)
unloading=$(took out gemini)
mkdir -p $here; out part
load; rm $here/gemini; ! load 2> why; grep -q "not loaded to the end" why; out part
load; rm $here/gemini $here/prefixes; ! $shallop host show $NAME 2> why; grep -q unload why; out part
caught=0
for time in $(seq $TIMES); do
    if [ $((time % 2)) = 0 ]; then
        load; what=unload; most=$unloading
    else
        what="load gemini --capacity 1Gbps --name"; most=$loading
    fi
    $shallop host $what $NAME > said 2> why & child=$!
    sleep 0.$(printf %06d $((RANDOM * most / 32768)))
    ! kill -9 $child 2> why || caught=$((caught + 1))
    wait $child || true
    if $shallop host list 2> why | grep -q $NAME; then $shallop host unload $NAME; fi
    rmdir /sys/fs/bpf/shallop/host /sys/fs/bpf/shallop 2> why || true
    [ ! -e /sys/fs/bpf/shallop ]
done
echo $caught
