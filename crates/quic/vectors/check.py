"""Checks packets.csv and messages.csv without the crate: encodes and decodes every packet with its MAC, and every
message.

    python3 crates/quic/vectors/check.py [PACKETS [MESSAGES]]

It follows docs/quic-wire.md and needs only Python. The exit code is 1 if a row differs.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path

TYPES = {"emulation": 0x08, "tagged": 0x09, "credit": 0x0A}
WORD = (1 << 64) - 1
WRAP = 1 << 40
LEAST_ROWS = 40
LEAST_MESSAGES = 8


def rotate(word: int, bits: int) -> int:
    """Rotates a 64-bit word to the left."""
    return (word << bits | word >> (64 - bits)) & WORD


def siphash_2_4(key: bytes, message: bytes) -> int:
    """SipHash-2-4 with 64 bits (Aumasson, Bernstein: SipHash, a fast short-input PRF, 2012)."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]

    def rounds(count: int) -> None:
        for _ in range(count):
            v[0] = (v[0] + v[1]) & WORD
            v[1] = rotate(v[1], 13) ^ v[0]
            v[0] = rotate(v[0], 32)
            v[2] = (v[2] + v[3]) & WORD
            v[3] = rotate(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & WORD
            v[3] = rotate(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & WORD
            v[1] = rotate(v[1], 17) ^ v[2]
            v[2] = rotate(v[2], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) % 256])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def packet_of(kind: int, tag: int, stamps: list[tuple[int, int]], key: bytes) -> bytes:
    """Encodes a packet; each stamp is a sequence number and a full time in steps."""
    head = bytes([kind]) + tag.to_bytes(2, "big")
    said = b"".join(number.to_bytes(2, "big") + time.to_bytes(8, "big") for number, time in stamps)
    sent = b"".join(
        number.to_bytes(2, "big") + (time % WRAP).to_bytes(5, "big") for number, time in stamps
    )
    return head + sent + siphash_2_4(key, head + said).to_bytes(8, "big")


def unwrap(wrapped: int, reference: int) -> int:
    """The time nearest to the reference with these lower 40 bits; of two equally near ones the later."""
    around = [reference // WRAP * WRAP + turns * WRAP + wrapped for turns in (-1, 0, 1)]
    possible = [time for time in around if 0 <= time < 1 << 51]
    return min(possible, key=lambda time: (abs(time - reference), -time))


def read(packet: bytes, reference: int, key: bytes) -> tuple[int, int, list[tuple[int, int]]]:
    """Decodes a packet: its type, tag and stamps. A wrong MAC is an error."""
    kind, tag = packet[0], int.from_bytes(packet[1:3], "big")
    count, rest = divmod(len(packet) - 11, 7)
    if rest or not 1 <= count <= (6 if kind == TYPES["credit"] else 1):
        raise ValueError(f"type {kind} has no packet of {len(packet)} bytes")
    stamps = []
    for at in range(3, 3 + 7 * count, 7):
        time = unwrap(int.from_bytes(packet[at + 2 : at + 7], "big"), reference)
        stamps.append((int.from_bytes(packet[at : at + 2], "big"), time))
    if packet_of(kind, tag, stamps, key) != packet:
        raise ValueError("the MAC is wrong")
    return kind, tag, stamps


def objection(row: dict[str, str]) -> str | None:
    """The error of a row of packets, or None."""
    try:
        key, packet = bytes.fromhex(row["key"]), bytes.fromhex(row["packet"])
        numbers = [int(number) for number in row["sequences"].split()]
        times = [int(time) for time in row["times"].split()]
        kind, tag, stamps = TYPES[row["kind"]], int(row["tag"]), list(zip(numbers, times))
        if len(key) != 16 or len(numbers) != len(times):
            return "a key of 16 bytes and a time for each number are needed"
        made = packet_of(kind, tag, stamps, key)
        if made != packet:
            return f"the packet is {made.hex()}"
        said = read(packet, int(row["reference"]), key)
        return None if said == (kind, tag, stamps) else f"the packet says {said}"
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"


def message_of(kind: str, values: list[int | None]) -> bytes:
    """Encodes a message."""
    if kind == "settings":
        tag, batch, wait, delay = (value for value in values if value is not None)
        times = wait.to_bytes(8, "big") + delay.to_bytes(8, "big")
        return bytes([1]) + tag.to_bytes(2, "big") + bytes([batch]) + times
    if kind == "notice":
        emulation, data = values
        if emulation is None:
            raise ValueError("a notice has the DSCP of emulation packets")
        return bytes([1, emulation, 0xFF if data is None else data])
    raise ValueError(f"no message is a {kind}")


def values_of(kind: str, message: bytes) -> list[int | None]:
    """Decodes a message."""
    if kind == "settings":
        if len(message) != 20 or message[0] != 1:
            raise ValueError("settings of version 1 have 20 bytes")
        places = ((1, 3), (3, 4), (4, 12), (12, 20))
        said = [int.from_bytes(message[start:end], "big") for start, end in places]
        bounds = ((0, 65_535), (1, 6), (1_000, 600 * 10**9), (0, 600 * 10**9))
        if any(not low <= value <= high for value, (low, high) in zip(said, bounds)):
            raise ValueError("a value is out of its bounds")
        return list(said)
    if len(message) != 3 or message[0] != 1 or message[1] > 63 or 63 < message[2] < 0xFF:
        raise ValueError("a notice has 3 bytes, and a DSCP 6 bits")
    return [message[1], None if message[2] == 0xFF else message[2]]


def message_objection(row: dict[str, str]) -> str | None:
    """The error of a row of messages, or None."""
    try:
        kind, message = row["kind"], bytes.fromhex(row["message"])
        values = [None if value == "-" else int(value) for value in row["values"].split()]
        made = message_of(kind, values)
        if made != message:
            return f"the message is {made.hex()}"
        said = values_of(kind, message)
        return None if said == values else f"the message says {said}"
    except (KeyError, ValueError, TypeError, OverflowError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"


def check(path: Path, least: int, object_to: Callable[[dict[str, str]], str | None]) -> int:
    """How much is wrong with the rows of a file."""
    lines = path.read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    wrong = 0
    for number, row in enumerate(rows, start=1):
        why = object_to(row)
        if why is not None:
            print(f"{path.name}, row {number}: {why}", file=sys.stderr)
            wrong += 1
    if len(rows) < least:
        print(f"{path.name}: {len(rows)} rows, fewer than {least}", file=sys.stderr)
        wrong += 1
    if not wrong:
        print(f"{path.name}: {len(rows)} rows are right")
    return wrong


def main() -> int:
    """Checks the files; 0 if all is right."""
    # The example of the paper, and the first and the last row of the authors' vectors.h.
    key = bytes(range(16))
    for length, mac in ((0, 0x726FDB47DD0E0E31), (15, 0xA129CA6149BE45E5), (63, 0x958A324CEB064572)):
        if siphash_2_4(key, bytes(range(length))) != mac:
            print(f"SipHash-2-4 of {length} bytes is not that of its authors", file=sys.stderr)
            return 1
    given = [Path(name) for name in sys.argv[1:3]]
    usual = [Path(__file__).with_name(name) for name in ("packets.csv", "messages.csv")]
    packets, messages = given + usual[len(given) :]
    wrong = check(packets, LEAST_ROWS, objection)
    wrong += check(messages, LEAST_MESSAGES, message_objection)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
