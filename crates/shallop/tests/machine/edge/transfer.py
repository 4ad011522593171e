"""Sends random bytes over TCP, or receives them; either end says their number and SHA-256.

receive PORT FLOWS; send ADDRESS PORT FLOWS BYTES
"""

import hashlib
import random
import socket
import sys
import threading


def digest_of_received(listener: socket.socket, digests: list[str]) -> None:
    connection, _ = listener.accept()
    digest, count = hashlib.sha256(), 0
    while part := connection.recv(1 << 18):
        digest.update(part)
        count += len(part)
    digests.append(f"{count} {digest.hexdigest()}")
    connection.close()


def send(address: str, port: int, size: int, seed: int, digests: list[str]) -> None:
    generator, digest = random.Random(seed), hashlib.sha256()
    with socket.create_connection((address, port), timeout=60) as connection:
        left = size
        while left:
            part = generator.randbytes(min(left, 1 << 18))
            connection.sendall(part)
            digest.update(part)
            left -= len(part)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
    digests.append(f"{size} {digest.hexdigest()}")


def main() -> None:
    digests: list[str] = []
    if sys.argv[1] == "receive":
        listener = socket.create_server(("::", int(sys.argv[2])), family=socket.AF_INET6, dualstack_ipv6=True)
        work = [threading.Thread(target=digest_of_received, args=(listener, digests)) for _ in range(int(sys.argv[3]))]
    else:
        address, port, flows, size = sys.argv[2], *map(int, sys.argv[3:6])
        work = [threading.Thread(target=send, args=(address, port, size, seed, digests)) for seed in range(flows)]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    print("\n".join(sorted(digests)))


main()
