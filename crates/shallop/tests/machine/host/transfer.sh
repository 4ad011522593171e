$shallop host load $PROGRAM --name $NAME $OPTIONS > said
$shallop host list --json > list
serve 5001 $NAME
transfer 5001 $NAME 3 > sent & sender=$!
seen $NAME > first; sleep 2
seen $NAME
wait $sender
cat sent; received 5001; cat list
$shallop host unload $NAME
[ ! -e /sys/fs/bpf/shallop ]
