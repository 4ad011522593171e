sysctl -qw net.ipv4.tcp_congestion_control=reno
$shallop host load dctcp --name $NAME > said; grep -q 'names it: new connections' said
serve 5001 $NAME
ip route replace 10.9.0.0/24 dev veth0 congctl $NAME features ecn
transfer 5001 - 0.1
$shallop host unload $NAME
transfer 5001 - 0.1
$shallop host load dctcp --name $NAME > said
transfer 5001 - 0.1
$shallop host unload $NAME
