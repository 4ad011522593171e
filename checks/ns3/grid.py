"""The combinations that are compared, and what both simulators are given for each: one network, drawn once.

Units are in the names. A packet is 1460 B of payload, 1500 B at IP and 1538 B of the link in shallop.
"""

import random
from dataclasses import dataclass

SEEDS = (1, 2, 3, 4, 5)
PAYLOAD = 1460
IP_BYTES = 1500
FRAME = 1538
# Each flow's round trip is drawn from this much below the nominal one to this much above it, so that flows do not
# march in step. The bottleneck takes the shortest, each sender's link the rest.
SPREAD = 0.05


@dataclass(frozen=True)
class Path:
    """A rate and a round trip, and how long a run lasts by the number of flows."""

    rate_bps: int
    rtt_ms: int
    warm_up_s: float
    end_s: dict[int, float]

    def product_packets(self) -> float:
        """Rate times round trip, in packets on the link."""
        return self.rate_bps * self.rtt_ms / 1000 / 8 / FRAME


# A product of 162 and of 325 packets. At 100 Mb/s and 2 ms it would be 16, and a tenth of it not two packets.
PATHS = (
    Path(1_000_000_000, 2, 0.4, {1: 0.9, 20: 1.2}),
    Path(100_000_000, 40, 4.0, {1: 19.0, 20: 14.0}),
)
# The least retransmission timeout and the longest delay of an acknowledgement, in both: Linux's. With the second of
# RFC 6298 and of ns-3 a flow of 2 ms that times out would be silent for as long as its whole run; an acknowledgement
# that waits 200 ms, ns-3's default, would then come too late.
RTO_MIN_MS = 200
ACK_DELAY_MS = 40
# The receiver's buffer: four times what path and queue hold. It bounds how far a sender whose repeat was lost again
# runs ahead of the gap, the search through which costs ns-3 most of its time.
RECEIVE_BUFFER = 2_000_000
FLOWS = (1, 20)
PRODUCTS = (0.1, 1.0)


@dataclass(frozen=True)
class Transport:
    """A transport as both name it. What `keys` adds is what ns-3 does and the `ns3` stack of shallop leaves open."""

    name: str
    ns3: str
    marks: bool = False
    keys: tuple[str, ...] = ()


TRANSPORTS = (
    Transport("cubic", "ns3::TcpCubic"),
    Transport("newreno", "ns3::TcpLinuxReno"),
    # ns-3 shrinks over a round trip on a mark, whatever the transport; shallop's dctcp does so when told to.
    Transport("dctcp", "ns3::TcpDctcp", marks=True, keys=("ecn_gradual = true",)),
    Transport("vegas", "ns3::TcpVegas"),
    # ns-3 does not look for policers.
    Transport("bbr", "ns3::TcpBbr", keys=("policer = false",)),
)


@dataclass(frozen=True)
class Combination:
    """A cell of the grid."""

    transport: Transport
    flows: int
    path: Path
    products: float

    @property
    def name(self) -> str:
        return f"{self.transport.name}-{self.flows}-{self.path.rtt_ms}ms-{self.products:g}"

    @property
    def buffer_packets(self) -> int:
        return int(self.products * self.path.product_packets())

    @property
    def mark_packets(self) -> int:
        """Marks what finds so many packets before it; half of the buffer. Zero if the queue marks nothing."""
        return self.buffer_packets // 2 if self.transport.marks else 0

    @property
    def end_s(self) -> float:
        return self.path.end_s[self.flows]

    @property
    def window_s(self) -> float:
        return self.end_s - self.path.warm_up_s


def combinations() -> list[Combination]:
    """The whole grid."""
    return [
        Combination(transport, flows, path, products)
        for transport in TRANSPORTS
        for path in PATHS
        for flows in FLOWS
        for products in PRODUCTS
    ]


@dataclass(frozen=True)
class Drawn:
    """What chance decides. Whole nanoseconds; one for each flow."""

    bottleneck_delay_ns: int
    sender_delays_ns: tuple[int, ...]
    starts_ns: tuple[int, ...]


def draw(combination: Combination, seed: int) -> Drawn:
    """Delays and starts of a run: the same for all transports and buffers, and for both simulators."""
    path = combination.path
    stream = random.Random(f"ns3/{path.rtt_ms}ms/{combination.flows}/{seed}")
    rtt_ns = path.rtt_ms * 1_000_000
    shortest = (1 - SPREAD) * rtt_ns / 2
    flows = range(combination.flows)
    delays = tuple(int(stream.random() * SPREAD * rtt_ns) for _ in flows)
    starts = tuple(int(stream.random() * rtt_ns) for _ in flows)
    return Drawn(int(shortest), delays, starts)
