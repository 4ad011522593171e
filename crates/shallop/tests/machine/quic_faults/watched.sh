title = "a file, and somebody who sees all of its packets"
duration = "24s"
scheme = [{ transport = "flashpass" }]
switch.default.buffer = "100KB"
topology = { kind = "dumbbell", senders = 3, receivers = 3, rate = "400Mbps", access_rate = "1Gbps", delay = "5ms" }

[[group]]
name = "receive"
from = "r0"
to = "s0"
transport = { transport = "newreno" }
command = ["sh", "-ec", """
    export XDG_DATA_HOME=$PWD
    mkdir inbox
    shallop receive inbox --once --json --rate-limit 100Mbps --wait 30ms > report.json
    cmp inbox/data.bin $DATA
    echo same > compared"""]

[[group]]
name = "send"
from = "s0"
to = "r0"
start = "500ms"
transport = { transport = "newreno" }
command = ["sh", "-ec", """
    export XDG_DATA_HOME=$PWD
    to=$(getent ahostsv4 r0 | awk '{ print $1; exit }')
    shallop send $DATA $to --trust-new --json --rate-limit 100Mbps --wait 30ms > report.json"""]

[[group]]
name = "beside"
from = "s0"
to = "r0"
size = "10KB"
