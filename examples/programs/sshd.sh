# An ssh server that lets root in without a password. Its changes of files are visible only in this host, and gone after
# the run.
ssh-keygen -q -t ed25519 -N '' -f host
mkdir -p /run/sshd
sed -i 's/^root:[^:]*:/root::/' /etc/shadow
exec /usr/sbin/sshd -D -e -p 2222 -h "$PWD/host" -f /dev/null -o UsePAM=no -o PermitRootLogin=yes \
    -o PermitEmptyPasswords=yes
