"""FlashPass's Algorithm 1 and Eq. 2 (ICNP 2021, III.B and III.C), written a second time, beside `flashpass-paper`.

The model has one bottleneck and the time before any data leaves: emulation packets go out, the bottleneck meters them,
and credits return. Times are picoseconds. Emulation packets of the simulator are read from a capture.
"""

from __future__ import annotations

import heapq
import math
import struct
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

import shallop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MS = 10**9
EMULATION = 84  # bytes on the wire
EMULATION_DSCP = 0x60  # CS3
SHARE = Fraction(84, 1622)  # an emulation packet beside its data packet of 1,538 bytes
GRID = 8192  # resolution of the timestamp in emulation packets
MIN_LOSS, MAX_LOSS = 0.01, 0.1  # target loss of Algorithm 1
QUEUE = 8  # emulation packets
SELECTIVE = 2  # packets in the queue, above which a tagged one is dropped
MIN_SAMPLE = 10  # emulation packets in a change of the rate
BURST = 2  # emulation packets that the meter lets leave back to back


def transmission(rate: int) -> int:
    return EMULATION * 8 * 10**12 // rate


def on_grid(time: int) -> int:
    return -(-time // GRID) * GRID


@dataclass
class Sender:
    """Algorithm 1, and the tags of Eq. 2."""

    start: int
    full_gap: int
    wait: int
    demand: int | None
    rate: float = 1.0
    rtt: int | None = None
    next_at: int = 0
    granted: int = 0
    in_flight: int = 0
    # When the current round trip began, and the emulation packets and credits until then.
    round: tuple[int, int, int] | None = None
    # The time and the number of the first emulation packet at the current rate, and the gap to the next one.
    base: tuple[int, int, int] | None = None
    sent: list[tuple[int, bool]] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def missing(self) -> float:
        return math.inf if self.demand is None else self.demand - self.granted

    def emulate(self, now: int) -> tuple[int, int, bool]:
        """Sends an emulation packet: its time, its number, and whether it is tagged."""
        if self.base is None:
            self.base = (now, len(self.sent), int(self.full_gap * (1.0 / self.rate) + 0.5))
            self.rates.append(self.rate)
        tagged = self.in_flight * (1.0 - MAX_LOSS) >= self.missing()
        self.in_flight += 1
        self.sent.append((now, tagged))
        begun, first, gap = self.base
        self.next_at = on_grid(begun + (len(self.sent) - first) * gap)
        return now, len(self.sent) - 1, tagged

    def on_credit(self, now: int, time: int, number: int) -> None:
        """A credit for an emulation packet; those before it without a credit are lost."""
        self.granted += 1
        self.in_flight = len(self.sent) - number - 1
        self.rtt = min(self.rtt or now - time, now - time)
        counts = (now, len(self.sent), self.granted)
        if self.round is None:
            self.round, self.base = counts, None
            return
        emulation_out, credit_in = counts[1] - self.round[1], counts[2] - self.round[2]
        if now - self.round[0] >= self.rtt and emulation_out >= MIN_SAMPLE:
            self.adjust(1.0 - min(credit_in, emulation_out) / emulation_out)
            self.round, self.base = counts, None

    def adjust(self, loss: float) -> None:
        if loss > MAX_LOSS:
            self.rate = self.rate * (1.0 - loss) * (1.0 + MIN_LOSS)
        elif loss < MIN_LOSS:
            self.rate = self.rate * (1.0 + MAX_LOSS)
        least = self.full_gap / (self.rtt or self.wait)
        self.rate = min(max(self.rate, least), 1.0)


@dataclass
class Meter:
    """The emulation queue of the bottleneck: a token bucket behind a short queue."""

    rate: int
    full_at: Fraction = Fraction(0)
    free_at: int = 0
    waiting: deque[int] = field(
        default_factory=deque
    )  # start times of transmissions that have not begun

    def arrive(self, now: int, *, tagged: bool) -> int | None:
        """When the packet has left; `None` if it is dropped."""
        while self.waiting and self.waiting[0] <= now:
            self.waiting.popleft()
        length = len(self.waiting) + 1
        if length > QUEUE or (tagged and length > SELECTIVE):
            return None
        gap = Fraction(EMULATION * 8 * 10**12, int(self.rate * SHARE))
        ready = self.full_at - (BURST - 1) * gap
        start = max(now, self.free_at, math.ceil(ready))
        self.full_at = max(self.full_at, Fraction(start)) + gap
        self.free_at = start + transmission(self.rate)
        self.waiting.append(start)
        return self.free_at


def model(
    starts: list[int], demand: int | None, access: int, rate: int, delay: int, end: int
) -> list[Sender]:
    """Senders at hosts of their own, whose links of `access` bit/s meet at a link of `rate` bit/s."""
    full_gap = EMULATION * 8 * 10**12 // int(access * SHARE)
    senders = [
        Sender(start, full_gap, end + MS, demand, next_at=on_grid(start)) for start in starts
    ]
    meter = Meter(rate)
    # From the meter on: the second switch and its link, then the way back over three links.
    rest = 2 * delay + 3 * transmission(access) + transmission(rate)
    events: list[tuple[int, int, str, int, Any]] = []
    order = iter(range(10**9))

    def at(time: int, what: str, who: int, packet: Any = None) -> None:
        heapq.heappush(events, (time, next(order), what, who, packet))

    for who, sender in enumerate(senders):
        at(sender.next_at, "emulate", who)
    while events and events[0][0] <= end:
        now, _, what, who, packet = heapq.heappop(events)
        sender = senders[who]
        if what == "emulate":
            if sender.missing() > 0:
                at(now + transmission(access), "arrive", who, sender.emulate(now))
                at(sender.next_at, "emulate", who)
        elif what == "arrive":
            left = meter.arrive(now, tagged=packet[2])
            if left is not None:
                at(left + rest, "credit", who, packet[:2])
        elif sender.missing() > 0:
            sender.on_credit(now, *packet)
    return senders


def captured(path: Path, host: str) -> Iterator[tuple[int, bool]]:
    """The times in ns at which emulation packets leave a host, and whether they are tagged."""
    data, at, links = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        body = data[at + 8 : at + length - 4]
        if kind == 1:  # interface description; option 2 is its name
            links.append(body[12 : 12 + struct.unpack_from("<H", body, 10)[0]].decode())
        elif kind == 6:
            link, high, low = struct.unpack_from("<III", body)
            frame = body[20:]
            if links[link].startswith(f"{host}>") and frame[15] & 0xFC == EMULATION_DSCP:
                yield (high << 32) + low, frame[15] & 3 == 0
        at += length


def simulated(
    tmp_path: Path, starts: list[int], demand: int | None, run: dict[str, Any]
) -> list[list[tuple[int, bool]]]:
    groups = [
        {"name": f"g{who}", "from": f"s{who}", "to": f"r{who}", "start": f"{start}ps"}
        for who, start in enumerate(starts)
    ]
    if demand is not None:
        groups = [group | {"size": f"{demand * 1460}B"} for group in groups]
    scenario = {
        "title": "The paper's sender",
        "duration": f"{run['end']}ps",
        "capture": ["access"],
        "nic_jitter": "0s",
        "topology": {
            "kind": "dumbbell",
            "senders": max(len(starts), 2),
            "receivers": max(len(starts), 2),
            "rate": f"{run['rate']}bps",
            "access_rate": f"{run['access']}bps",
            "delay": f"{run['delay']}ps",
        },
        "switch": {"default": {"buffer": "200KB", "credit_queue": f"{QUEUE}pkt"}},
        "scheme": [{"transport": "flashpass-paper", "wait": f"{run['end'] + MS}ps"}],
        "group": groups,
    }
    shallop.run(scenario, out=tmp_path, progress=False)
    (capture,) = tmp_path.glob("runs/*.pcapng")
    return [list(captured(capture, f"s{who}")) for who in range(len(starts))]


GIGABIT = 10**9
CASES: dict[str, tuple[list[int], int | None, int]] = {
    "one sender at twice the rate of the link": ([0], None, 2 * GIGABIT),
    "three senders that start at different times": (
        [0, 3 * MS + 5000, 11 * MS + 777],
        None,
        GIGABIT,
    ),
    "two senders with little to send, whose last packets are tagged": (
        [0, 1_234_567],
        400,
        GIGABIT,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_senders_emulate_at_the_times_of_algorithm_1_and_tag_by_eq_2(
    name: str, tmp_path: Path
) -> None:
    starts, demand, access = CASES[name]
    run = {"access": access, "rate": GIGABIT, "delay": MS, "end": 100 * MS}
    senders = model(starts, demand, access, GIGABIT, MS, run["end"])
    found = simulated(tmp_path, starts, demand, run)
    for who, sender in enumerate(senders):
        expected = [(time // 1000, tagged) for time, tagged in sender.sent]
        assert found[who] == expected
        assert len(set(sender.rates)) >= (2 if demand is None else 1)
    assert any(tagged for sender in senders for _, tagged in sender.sent) == (demand is not None)
