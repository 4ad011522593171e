[[group]]
name = "attack-NAME"
from = "FROM"
to = "TO"
start = "800ms"
transport = { transport = "newreno" }
command = ["sh", "-ec", "python3 $ATTACKER TO $RATE 9 $AIM s1 s2 r1 r2 > attack.json"]

# What the attackers say that others have sent, and what is sent to those, belongs to these.
[[group]]
name = "others-and-NAME"
from = ["s1", "s2", "r1", "r2"]
to = "TO"
transport = { transport = "newreno" }
command = ["true"]
