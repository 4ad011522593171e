"""The networks that are compared: dumbbells, 12 listed and 48 drawn once. Units are in the names."""

import math
import random
from dataclasses import dataclass

SEEDS = (1, 2, 3)
DRAWN = 48
# The draw: CUBIC twice as often as each of the others, everything else uniform in its logarithm.
DRAW_SEED = 20261126
TRANSPORTS = ("cubic", "cubic", "newreno", "dctcp", "bbr")
RATE_MBPS = (50, 5_000)
RTT_MS = (1, 80)
FLOWS = (1, 40)
LEAST_BUFFER_BYTES = 9_000
MOST_PRODUCTS = 1.5
# A run is as long as the link takes for these megabits, within these bounds.
WORK_MBITS = 6_000
DURATION_S = (2, 12)
# Flows that start at the same instant, which meet in their first slow start.
STARTS = [(rate, rtt, flows) for rate in (1_000, 10_000) for rtt in (10, 40) for flows in (1, 4, 20)]
BUFFER_BYTES_PER_MBPS = 20
# What kernels cannot do otherwise, and simulated hosts therefore do alike. A kernel offers at most 181/256 of its 64 MiB
# of receive buffer: that part of a received packet's memory is payload. Its hosts act one after the other: captures show
# the first packets of flows that start at one instant within these times.
KERNELS_WINDOW_BYTES = 64 * 2**20 * 181 // 256
KERNELS_INSTANT = {1: "0s", 4: "0s..10us", 20: "0s..20us"}


@dataclass(frozen=True)
class Network:
    """A dumbbell whose flows have hosts of their own. DCTCP is marked above a fifth of the buffer."""

    transport: str
    flows: int
    rate_mbps: int
    rtt_us: int
    buffer_bytes: int
    start: str
    duration_s: int

    @property
    def name(self) -> str:
        """Tells the network apart from all others."""
        flows = f"{self.flows} flow" + ("" if self.flows == 1 else "s")
        size = f"{self.rate_mbps} Mb/s, {self.rtt_us / 1000:g} ms, {self.buffer_bytes / 1000:g} KB"
        instant = ", one instant" if self.start == "0s" else ""
        return f"{self.transport}, {flows}, {size}{instant}"

    def scenario(self, stack: str) -> str:
        """The scenario with these hosts: `kernel` or `linux`."""
        mark = f', mark.above = "{self.buffer_bytes // 5}B"' if self.transport == "dctcp" else ""
        start, window = self.start, ""
        if stack != "kernel":
            window = f', receive_buffer = "{KERNELS_WINDOW_BYTES}B"'
            start = KERNELS_INSTANT[self.flows] if start == "0s" else start
        return f"""title = "{self.name}"
duration = "{self.duration_s}s"
switch.default = {{ buffer = "{self.buffer_bytes}B"{mark} }}
group = [{{ name = "all", start = "{start}" }}]
scheme = [{{ transport = "{self.transport}", stack = "{stack}"{window} }}]

[topology]
kind = "dumbbell"
senders = {self.flows}
receivers = {self.flows}
rate = "{self.rate_mbps}Mbps"
access_rate = "25Gbps"
delay = "{self.rtt_us // 2}us"
"""


def networks() -> list[Network]:
    """All networks, the listed ones first."""
    listed = [
        Network("cubic", flows, rate, rtt * 1000, rate * BUFFER_BYTES_PER_MBPS, "0s", 2)
        for rate, rtt, flows in STARTS
    ]
    draw = random.Random(DRAW_SEED)
    return listed + [drawn(draw) for _ in range(DRAWN)]


def drawn(draw: random.Random) -> Network:
    """Draws a network."""

    def between(least: float, most: float) -> float:
        return least * (most / least) ** draw.random()

    transport = TRANSPORTS[int(draw.random() * len(TRANSPORTS))]
    rate = round(between(*RATE_MBPS))
    rtt = round(between(*RTT_MS) * 10) * 100
    flows = math.floor(between(FLOWS[0], FLOWS[1] + 1))
    product = rate * rtt / 8
    buffer = round(between(LEAST_BUFFER_BYTES, max(LEAST_BUFFER_BYTES, MOST_PRODUCTS * product)))
    duration = max(DURATION_S[0], min(DURATION_S[1], round(WORK_MBITS / rate)))
    return Network(transport, flows, rate, rtt, buffer, "0s..10ms", duration)
