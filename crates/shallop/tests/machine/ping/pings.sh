nsenter -n -t $receiver $PRIORITY $shallop ping --listen --anybody --wait 20ms --json > listens & sleep 0.5
for loop in $(seq $LOOPS); do (while :; do :; done) & done
cat /proc/loadavg
for run in $(seq $RUNS); do
    timeout 60 nsenter -n -t $sender $PRIORITY $shallop ping --flashpass --anybody 10.8.2.2 --rate-limit 20Mbps --wait 20ms \
        --count 1 --json || [ $? = 1 ]
done
