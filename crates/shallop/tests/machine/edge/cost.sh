nsenter -n -t $receiver iperf3 -s > said & sleep 0.5
carried() { at_sender iperf3 -c 10.8.2.2 -t 2 --json | grep bits_per_second | tail -n 1 | tr -dc '0-9.'; }
for pair in $(seq 9); do
    without=$(carried)
    $shallop edge clean attach r0 > said.attach
    echo "$without $(carried)"
    $shallop edge clean detach r0
done
