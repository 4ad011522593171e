"""The combinations that are compared, and the parameters of each for both simulators: one network, drawn once.

Units are in the names. A packet is 1460 B of payload, 1500 B at IP and 1538 B of the link in shallop.
"""

import random
from dataclasses import dataclass

SEEDS = (1, 2, 3, 4, 5)
PAYLOAD = 1460
IP_BYTES = 1500
FRAME = 1538
# The round-trip time of a flow is drawn up to this fraction below and above the nominal one, so that flows are not in
# lockstep. The bottleneck has the delay of the shortest round trip, and each sender's link the rest.
SPREAD = 0.05


@dataclass(frozen=True)
class Path:
    """A rate and a round-trip time, and the duration of a run by the number of flows."""

    rate_bps: int
    rtt_ms: int
    warm_up_s: float
    end_s: dict[int, float]

    def product_packets(self) -> float:
        """The bandwidth-delay product, in packets on the link."""
        return self.rate_bps * self.rtt_ms / 1000 / 8 / FRAME


# Bandwidth-delay products of 162 and 325 packets. At 100 Mb/s and 2 ms it would be 16 packets, and a tenth of it below
# two packets.
PATHS = (
    Path(1_000_000_000, 2, 0.4, {1: 0.9, 20: 1.2}),
    Path(100_000_000, 40, 4.0, {1: 19.0, 20: 14.0}),
)
# The minimum retransmission timeout and the longest delay of an acknowledgement in both simulators, as in Linux. With
# the minimum of one second of RFC 6298 and ns-3, a flow of 2 ms that times out would be silent for its whole run. An
# acknowledgement that is delayed by 200 ms, ns-3's default, would then come too late.
RTO_MIN_MS = 200
ACK_DELAY_MS = 40
# The receive buffer: four times what path and queue hold. It bounds how far a sender runs ahead of a gap whose
# retransmission was lost again. Searching that gap would take most of ns-3's time.
RECEIVE_BUFFER = 2_000_000
FLOWS = (1, 20)
PRODUCTS = (0.1, 1.0)


@dataclass(frozen=True)
class Transport:
    """A transport, by its name in both simulators. `keys` makes shallop's `ns3` stack follow ns-3 where it does not."""

    name: str
    ns3: str
    marks: bool = False
    keys: tuple[str, ...] = ()


TRANSPORTS = (
    Transport("cubic", "ns3::TcpCubic"),
    Transport("newreno", "ns3::TcpLinuxReno"),
    # After a mark, ns-3 reduces the window over a round trip in all transports; shallop's dctcp does so with this key.
    Transport("dctcp", "ns3::TcpDctcp", marks=True, keys=("ecn_gradual = true",)),
    Transport("vegas", "ns3::TcpVegas"),
    # ns-3 does not detect policers.
    Transport("bbr", "ns3::TcpBbr", keys=("policer = false",)),
)


@dataclass(frozen=True)
class Combination:
    """A combination: a cell of the grid."""

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
        """The marking threshold in packets: half of the buffer, or zero if the queue does not mark."""
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
    """The random parameters of a run, in nanoseconds, one for each flow."""

    bottleneck_delay_ns: int
    sender_delays_ns: tuple[int, ...]
    starts_ns: tuple[int, ...]


def draw(combination: Combination, seed: int) -> Drawn:
    """The delays and starts of a run, equal for all transports and buffers and for both simulators."""
    path = combination.path
    stream = random.Random(f"ns3/{path.rtt_ms}ms/{combination.flows}/{seed}")
    rtt_ns = path.rtt_ms * 1_000_000
    shortest = (1 - SPREAD) * rtt_ns / 2
    flows = range(combination.flows)
    delays = tuple(int(stream.random() * SPREAD * rtt_ns) for _ in flows)
    starts = tuple(int(stream.random() * rtt_ns) for _ in flows)
    return Drawn(int(shortest), delays, starts)
