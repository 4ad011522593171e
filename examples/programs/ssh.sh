# Sends a million bytes through ssh; the other host prints their digest.
seq 200000 | head -c 1000000 > sent
sha256sum < sent
ssh -F /dev/null -p 2222 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes root@r2 sha256sum < sent
