"""Somebody who sees every packet of a host and has no key, in the network namespace of that host.

attacker.py TARGET RATE SECONDS AIM OTHER...

Sends datagrams to the ports of the connection that TARGET and this host have, at RATE a second, or with "beside" as AIM
to port 9 of TARGET, where nobody reads, so that they cost the machine as much and the connection nothing: those that have passed,
changed, cut, made up behind their header, or as they were. Half of them claim to come from this host and half from
OTHERs, who have nothing to do with it. Prints what it sent by kind, and what this host sends to OTHERs: answers to
forged datagrams, as nobody else makes it send any.
"""

import collections
import json
import os
import random
import socket
import struct
import sys
import time

PORT = 4747
BESIDE = 9
ALL = 0x0003
HEADERS = struct.Struct("!BBHHHBBH4s4sHHHH")
IS_OURS = range(4, 16)


def sniff(frames, seen, me, target, others, answers):
    """Takes the datagrams that have passed since."""
    for _ in range(200):
        try:
            frame = frames.recv(2048)
        except BlockingIOError:
            return
        # IPv4 without options, and UDP.
        if len(frame) < 43 or frame[12:15] != b"\x08\x00\x45" or frame[23] != 17:
            continue
        source, to = frame[26:30], frame[30:34]
        ports = struct.unpack_from("!HH", frame, 34)
        payload = frame[42 : 14 + struct.unpack_from("!H", frame, 16)[0]]
        if source == me and to in others:
            answers.append(payload)
        elif to == target and PORT in ports and len(payload) > 1:
            seen.append((ports, payload))


def forge(payload):
    """What somebody without the key makes of a payload, and its kind."""
    kind = random.choice(("mutated", "cut", "forged", "replayed"))
    if kind == "mutated":
        changed = bytearray(payload)
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        return kind, bytes(changed)
    if kind == "cut":
        return kind, payload[: random.randrange(1, len(payload))]
    if kind == "forged":
        kept = 3 if payload[0] in IS_OURS else 9
        return kind, payload[:kept] + os.urandom(max(len(payload) - kept, 0))
    return kind, payload


def main():
    target, rate, seconds = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    target = socket.inet_aton(socket.gethostbyname(target))
    me = socket.inet_aton(socket.gethostbyname(socket.gethostname()))
    is_beside = sys.argv[4] == "beside"
    others = [socket.inet_aton(socket.gethostbyname(name)) for name in sys.argv[5:]]
    unread = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    unread.bind(("0.0.0.0", BESIDE))
    frames = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL))
    frames.setblocking(False)
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    seen, answers, sent = collections.deque(maxlen=2048), [], collections.Counter()
    begun, count = time.monotonic(), 0
    to = (socket.inet_ntoa(target), 0)
    while (now := time.monotonic()) < begun + seconds:
        sniff(frames, seen, me, target, others, answers)
        if not seen:
            begun, seconds = now, seconds - (now - begun)
        # After a pause no more than 5 ms are made up for.
        count = max(count, int((now - begun - 0.005) * rate))
        while seen and count < (now - begun) * rate:
            count += 1
            ports, payload = seen[random.randrange(len(seen))]
            kind, payload = forge(payload)
            ports = (ports[0], BESIDE) if is_beside else ports
            source = me if random.random() < 0.5 else random.choice(others)
            size = len(payload)
            fields = (0x45, 0, 28 + size, 0, 0, 64, 17, 0, source, target, *ports, 8 + size, 0)
            try:
                raw.sendto(HEADERS.pack(*fields) + payload, to)
            except OSError:
                continue
            sent[kind] += 1
        time.sleep(0.001)
    # A packet with PATH_CHALLENGE, which asks whether the connection has moved to this address,
    # is padded to this length (RFC 9000, 8.2.1).
    lengths = [len(answer) for answer in answers]
    challenges = lengths.count(1200)
    longest = max((length for length in lengths if length != 1200), default=0)
    ours = sum(answer[0] in IS_OURS for answer in answers)
    told = {"answers": len(answers), "longest_answer": longest, "answers_of_ours": ours}
    told |= {"challenges": challenges}
    print(json.dumps({"sent": sum(sent.values()), **sent, **told}), flush=True)


main()
