$shallop host load gemini --name $NAME --capacity 10Gbps --mark 50pkt > said
serve 5001 $NAME
transfer 5001 $NAME 2.5 > sent & sender=$!
seen $NAME > first; sleep 0.5; seen $NAME
$shallop host set $NAME mark=100B
sleep 0.5; seen $NAME
wait $sender; unseen $NAME
$shallop host set $NAME mark=50pkt --to 10.9.0.2/32
transfer 5001 $NAME 2 > sent & sender=$!
seen $NAME > first; sleep 0.5; seen $NAME
$shallop host show $NAME --json
for wrong in decrease=2 kk=1 delay=-1ms mark=; do
    ! $shallop host set $NAME $wrong 2> why || exit 1
done
wait $sender
$shallop host unload $NAME
