$shallop host load dctcp --name $NAME > said
there sysctl -qw net.ipv4.tcp_ecn=1
serve 5001 cubic; transfer 5001 $NAME 0.1
serve 5002 $NAME; transfer 5002 $NAME 0.1
there ip route replace 10.9.0.0/24 dev veth1 congctl $NAME features ecn
serve 5003 -; transfer 5003 $NAME 0.1
ip route replace 10.9.0.0/24 dev veth0 congctl $NAME features ecn
transfer 5003 - 0.1
ip route replace 10.9.0.0/24 dev veth0
$shallop host unload $NAME
$shallop host load dctcp --name $NAME --ecn-by-sysctl > said
sysctl -qw net.ipv4.tcp_ecn=1
serve 5004 cubic; transfer 5004 $NAME 0.1
sysctl -qw net.ipv4.tcp_ecn=0
transfer 5004 $NAME 0.1
$shallop host unload $NAME
