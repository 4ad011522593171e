//! The configuration of switches: buffers, shared memory, ECN marking and meters.

use crate::chips::Chip;
use shallop_core::{BitsPerSec, BufferSize, Bytes, Pace, Span, Stream};
pub use shallop_switch::Signals;
use shallop_switch::{Aqm, Average, Limit, MarkAt, MarkThreshold, RedConfig, Spacing};

/// A configuration of switches, under a name of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    pub name: String,
    /// The chip whose values the configuration has, for tables; `None` if the scenario names no chip.
    pub chip: Option<&'static str>,
    /// Size of each port's buffer for data.
    pub buffer: BufferSize,
    /// Memory that several ports share; it replaces the buffers of single ports.
    pub shared: Option<Shared>,
    /// The ports of the first pools, given by nodes to which they lead or by sets of links. All other ports are in
    /// further pools.
    pub pools: Vec<Vec<String>>,
    /// Parameters of BCC, which marks by the occupancy of a pool.
    pub bcc: Option<Bcc>,
    /// ECN marking of the data queue, if it is a FIFO queue.
    pub mark: Option<QueueMarking>,
    /// Drops by the length of the data queue, if it is a FIFO queue (WRED).
    pub drop: Option<QueueMarking>,
    /// Rate and burst of the token bucket that delays packets of the data queue.
    pub shaper: Option<(BitsPerSec, Bytes)>,
    /// Rate and burst of the token bucket that drops packets on their way to the data queue.
    pub policer: Option<(BitsPerSec, Bytes)>,
    /// Queue discipline of the data queue; `None` for a FIFO.
    pub aqm: Option<Aqm>,
    /// Limit of the queue for emulation packets or credits.
    pub credit_queue: BufferSize,
    /// Burst of the credit meter, in packets of minimum size.
    pub credit_burst: u32,
    /// Threshold of the emulation queue above which it drops packets that are not ECN-capable.
    pub select: Option<BufferSize>,
    /// Threshold of the data queue above which it drops unscheduled data.
    pub unscheduled_above: BufferSize,
    /// Which unscheduled data is dropped; `None` for the choice of the transport.
    pub unscheduled_drop: Option<UnscheduledDrop>,
    /// Returning credits for which the share of a link for emulation packets leaves room; `None` for the default of the
    /// transport.
    pub accounting: Option<Accounting>,
    /// Whether the switch has a metered queue for emulation packets or credits. Otherwise these packets join the data
    /// queue.
    pub emulation: bool,
    /// Weights of the data queue and of a separate queue for transports without credits; `None` if both share the data
    /// queue.
    pub weights: Option<(u32, u32)>,
}

impl Switch {
    /// The ECN marking of a link's data queue: as configured or, with BCC, above the queue that keeps the link busy.
    pub fn marking(&self, rate: BitsPerSec) -> Option<QueueMarking> {
        let standard = |bcc: Bcc| {
            let above = BufferSize::Bytes(Bytes::new(bcc.standard(rate) as u64));
            QueueMarking::step(above, MarkAt::Enqueue)
        };
        self.mark.or_else(|| self.bcc.map(standard))
    }

    /// Whether any queue or pool of the switch marks packets.
    pub fn marks(&self) -> bool {
        let shared = self.shared.is_some_and(|shared| shared.mark.is_some());
        let aqm = self.aqm.is_some_and(|aqm| aqm.marks());
        self.mark.is_some() || self.bcc.is_some() || shared || aqm
    }
}

/// Converts a size to bytes on a link of this rate. A packet counts as one full frame.
pub fn in_bytes(size: BufferSize, rate: BitsPerSec, frame: Bytes) -> Bytes {
    match size {
        BufferSize::Packets(packets) => frame * u64::from(packets),
        size => size.bytes_at(rate).unwrap_or(Bytes::MAX),
    }
}

/// ECN marking or drops by the length of a queue or the occupancy of a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueMarking {
    /// Length up to which no packet is marked.
    pub min: BufferSize,
    /// Length above which every packet is marked.
    pub max: BufferSize,
    /// Marking probability at `max`, 0 to 1.
    pub max_probability: f64,
    /// The length is averaged with the weight 2^-`weight`; 0 uses the current length.
    pub weight: u32,
    /// Whether packets are marked at enqueue or at dequeue.
    pub at: MarkAt,
    pub signals: Signals,
    pub spacing: Spacing,
}

impl QueueMarking {
    /// Makes a marking that marks every packet above a threshold, and none below.
    pub const fn step(above: BufferSize, at: MarkAt) -> Self {
        let (signals, spacing) = (Signals::Mark, Spacing::Independent);
        Self { min: above, max: above, max_probability: 1.0, weight: 0, at, signals, spacing }
    }

    pub fn drops(&self) -> bool {
        self.signals != Signals::Mark
    }

    /// The threshold in bytes, if the marking is a single step without probabilities.
    pub fn as_step(&self, rate: BitsPerSec) -> Option<MarkThreshold> {
        let simple = self.min == self.max && self.weight == 0 && !self.drops();
        simple.then(|| MarkThreshold { above: Limit::for_buffer(self.max, rate), at: self.at })
    }

    /// The parameters of RED for a queue on a link with this rate, where `frame` is a full frame. A threshold in
    /// packets counts full frames.
    pub fn red(&self, rate: BitsPerSec, frame: Bytes, stream: Stream) -> RedConfig {
        let bytes = |size: BufferSize| in_bytes(size, rate, frame);
        let weight = 1.0 / f64::from(1u32 << self.weight.min(31));
        let packet_time = Pace::new(rate).quote(frame);
        let average = (self.weight > 0).then_some(Average { weight, packet_time });
        RedConfig {
            min_threshold: bytes(self.min),
            max_threshold: bytes(self.max),
            max_probability: self.max_probability,
            at: self.at,
            signals: self.signals,
            average,
            spacing: self.spacing,
            stream,
        }
    }
}

/// Memory that ports of a switch share with Dynamic Thresholds (`switch/src/pool.rs`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// Size of one pool.
    pub size: Bytes,
    /// Ports that share each pool; `None` if all ports share one pool.
    pub ports: Option<u32>,
    /// Alpha of Dynamic Thresholds: a queue may hold at most alpha times the free memory.
    pub alpha: f64,
    /// Alpha of a separate queue for transports without credits.
    pub legacy_alpha: f64,
    /// Fixed limits of the data queue and of the separate queue in a pool, in place of Dynamic Thresholds.
    pub limits: [Option<Bytes>; 2],
    /// Bytes that each queue has for itself.
    pub private: Bytes,
    /// Size of a memory cell; a packet occupies whole cells. 1 B for memory without cells.
    pub cell: Bytes,
    /// ECN marking by the occupancy of the pool.
    pub mark: Option<QueueMarking>,
}

impl Shared {
    /// Makes one pool of this size for all ports, with alpha 1 and no private memory.
    pub const fn new(size: Bytes) -> Self {
        let (alpha, legacy_alpha, private, cell) = (1.0, 1.0, Bytes::ZERO, Bytes::new(1));
        Self { size, ports: None, alpha, legacy_alpha, limits: [None; 2], private, cell, mark: None }
    }

    /// The memory of a chip as it is shipped; `None` if it is not known how the chip shares its memory.
    pub fn of_chip(chip: &Chip) -> Option<Self> {
        let (memory, size) = (chip.memory.as_ref()?, chip.pool()?);
        let (alpha, private) = (memory.alpha, memory.private);
        let ports = chip.ports_per_mmu();
        Some(Self { ports, alpha, legacy_alpha: alpha, private, ..Self::new(size) })
    }

    /// The memory of each of `queues` queues that are all at their limit: private bytes plus alpha size / (1 + alpha
    /// `queues`), or plus the fixed limit if all of these fit.
    pub fn share_of_queue(&self, queues: u32) -> Bytes {
        if let Some(limit) = self.limits[0] {
            return self.private + limit.min(self.size / u64::from(queues));
        }
        let share = self.alpha / (1.0 + self.alpha * f64::from(queues));
        self.private + Bytes::new((self.size.get() as f64 * share) as u64)
    }
}

/// Parameters of BCC ([`crate::bcc`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bcc {
    /// Base round-trip time of the network.
    pub rtt: Span,
    /// Queue that senders need to keep a link busy, as a fraction of the bandwidth-delay product.
    pub lambda: f64,
    /// The time in which the ports of a pool, each receiving at its rate, fill it from `Kmin` to `Kmax`.
    pub h: Span,
    /// Marking probability at `Kmax`, 0 to 1.
    pub max_probability: f64,
    /// Whether the pool marks packets at enqueue or at dequeue.
    pub at: MarkAt,
    pub spacing: Spacing,
    /// `B_R`, the memory of the pool that one queue needs; `None` to compute it by the rule of BCC.
    pub required: Option<Bytes>,
    /// `Kmin`, the occupancy up to which nothing is marked; `None` to compute it by the rule of BCC.
    pub min: Option<Bytes>,
    /// `Kmax`, the occupancy above which everything is marked; `None` to compute it by the rule of BCC.
    pub max: Option<Bytes>,
}

impl Bcc {
    /// The queue that keeps a link of this rate busy, in bytes: rate × round-trip time × lambda.
    pub fn standard(&self, rate: BitsPerSec) -> f64 {
        rate.get() as f64 / 8.0 * self.rtt.as_secs_f64() * self.lambda
    }
}

/// The packets that a threshold for unscheduled data drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnscheduledDrop {
    /// Those with which the queue would be longer than the threshold.
    Above,
    /// Those that find the queue at the threshold, or longer.
    Reached,
    /// None: unscheduled data waits in a queue of its own, which is served when no other packet waits.
    LowPriority,
}

shallop_options::string_enum! {
    UnscheduledDrop { Above = "above", Reached = "reached", LowPriority = "low-priority" }
}

/// Returning credits for which the share of a link for emulation packets leaves room (docs/flashpass.md, "accounting").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Accounting {
    /// The credits that cross this link, on links where credits of a flow meet data of another flow.
    #[default]
    PerLink,
    /// No credits, which gives the paper's share of 84/1622.
    OneWay,
    /// One credit for each data frame, on every link.
    TwoWay,
}

shallop_options::string_enum! {
    Accounting { PerLink = "per-link", OneWay = "one-way", TwoWay = "two-way" }
}
