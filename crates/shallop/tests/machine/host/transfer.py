"""One transfer: `server PORT CONTROLLER`, or `client ADDRESS PORT CONTROLLER SECONDS`, which says what TCP_INFO has.

The controller may be "-": that of the namespace or the route.
"""

import hashlib
import socket
import sys
import time

TCP_CONGESTION = 13
ECN_NEGOTIATED = 8


def opened(controller):
    end = socket.socket()
    if controller != "-":
        end.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, controller.encode())
    return end


def serve(port, controller):
    with opened(controller) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("", port))
        server.listen()
        while True:
            peer, _ = server.accept()
            digest = hashlib.md5()
            with peer:
                while piece := peer.recv(1 << 18):
                    digest.update(piece)
            with open(f"received.{port}", "w") as file:
                print(digest.hexdigest(), file=file)


def send(address, port, controller, seconds):
    with opened(controller) as client:
        for _ in range(100):
            try:
                client.connect((address, port))
                break
            except ConnectionRefusedError:
                time.sleep(0.05)
                client.close()
                client = opened(controller)
        info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        begin, sent, digest = time.monotonic(), 0, hashlib.md5()
        while time.monotonic() - begin < seconds:
            piece = bytes([sent % 251]) * 100_000
            client.sendall(piece)
            digest.update(piece)
            sent += len(piece)
        ecn = "ecn" if info[5] & ECN_NEGOTIATED else "plain"
        used = client.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16).rstrip(b"\0").decode()
    print(used, ecn, sent, digest.hexdigest())


if sys.argv[1] == "server":
    serve(int(sys.argv[2]), sys.argv[3])
else:
    send(sys.argv[2], int(sys.argv[3]), sys.argv[4], float(sys.argv[5]))
