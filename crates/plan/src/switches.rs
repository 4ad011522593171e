//! The configuration of switches: buffers, shared memory, ECN marking and meters.

use shallop_core::{BitsPerSec, BufferSize, Bytes, Pace, Span, Stream};
use shallop_switch::{Aqm, Average, Limit, MarkAt, MarkThreshold, RedConfig};

/// The configuration of a switch, which scenarios name.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    pub name: String,
    /// The chip that the scenario names, for tables.
    pub chip: Option<&'static str>,
    /// Buffer of each port for data.
    pub buffer: BufferSize,
    /// Shared memory that replaces the buffers of ports.
    pub shared: Option<Shared>,
    /// Ports of the first pools, by the nodes that they lead to or by sets of links. All other ports follow in further
    /// pools.
    pub pools: Vec<Vec<String>>,
    /// BCC, which marks by the occupancy of pools with computed thresholds.
    pub bcc: Option<Bcc>,
    /// ECN marking of the data queue, if that is a FIFO.
    pub mark: Option<QueueMarking>,
    /// Queue discipline of the data queue; `None` for a FIFO.
    pub aqm: Option<Aqm>,
    /// Limit of the queue of emulation packets or credits.
    pub credit_queue: BufferSize,
    /// Burst of the credit meter, in packets of the smallest size.
    pub credit_burst: u32,
    /// Above this threshold, the emulation queue drops packets that are not ECN-capable.
    pub select: Option<BufferSize>,
    /// Above this threshold, the data queue drops unscheduled data.
    pub unscheduled_above: BufferSize,
    /// Which returning credits the emulation share of a link leaves room for.
    pub accounting: Accounting,
    /// Whether it has a metered queue for emulation packets or credits. Otherwise they join the data queue.
    pub emulation: bool,
    /// Weights of the data queue and of a queue for transports without credits; `None` if they share the data queue.
    pub weights: Option<(u32, u32)>,
}

impl Switch {
    /// The ECN marking of the data queue of a link: as configured or, with BCC, above the queue that keeps the link
    /// busy.
    pub fn marking(&self, rate: BitsPerSec) -> Option<QueueMarking> {
        let standard = |bcc: Bcc| {
            let above = BufferSize::Bytes(Bytes::new(bcc.standard(rate) as u64));
            QueueMarking::step(above, MarkAt::Enqueue)
        };
        self.mark.or_else(|| self.bcc.map(standard))
    }

    /// Whether any of its queues or pools marks packets.
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

/// ECN marking by the length of a queue or the occupancy of a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueMarking {
    /// Up to this length nothing is marked.
    pub min: BufferSize,
    /// Above this length everything is marked.
    pub max: BufferSize,
    /// Marking probability at `max`, 0 to 1.
    pub max_probability: f64,
    /// The length is averaged with the weight 2^-`weight`; 0 for the current length.
    pub weight: u32,
    /// Whether packets are marked at enqueue or at dequeue.
    pub at: MarkAt,
    /// Whether packets that are not ECN-capable are dropped where ECN-capable ones would be marked.
    pub drops: bool,
}

impl QueueMarking {
    /// Marks every packet above a threshold, and none below.
    pub const fn step(above: BufferSize, at: MarkAt) -> Self {
        Self { min: above, max: above, max_probability: 1.0, weight: 0, at, drops: false }
    }

    /// The threshold, if this marking is only a step.
    pub fn as_step(&self, rate: BitsPerSec) -> Option<MarkThreshold> {
        let simple = self.min == self.max && self.weight == 0 && !self.drops;
        simple.then(|| MarkThreshold { above: Limit::for_buffer(self.max, rate), at: self.at })
    }

    /// This marking for a queue of a link with this rate and full frames of this size. A packet counts as one full
    /// frame.
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
            drops: self.drops,
            average,
            stream,
        }
    }
}

/// Memory that ports of a switch share by Dynamic Thresholds (`switch/src/pool.rs`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// Size of one pool.
    pub size: Bytes,
    /// Ports of each pool; `None` if all ports share one.
    pub ports: Option<u32>,
    /// Alpha of Dynamic Thresholds: a queue may hold at most alpha times the free memory.
    pub alpha: f64,
    /// Alpha of the queue for transports without credits, where that is a queue of its own.
    pub legacy_alpha: f64,
    /// Private memory of each queue.
    pub private: Bytes,
    /// Size of a memory cell: packets take whole cells. 1 B for none.
    pub cell: Bytes,
    /// ECN marking by the occupancy of the pool.
    pub mark: Option<QueueMarking>,
}

impl Shared {
    /// One pool of this size for all ports, with alpha 1 and no private memory.
    pub const fn new(size: Bytes) -> Self {
        let (alpha, legacy_alpha, private, cell) = (1.0, 1.0, Bytes::ZERO, Bytes::new(1));
        Self { size, ports: None, alpha, legacy_alpha, private, cell, mark: None }
    }

    /// The memory of each of `queues` queues that are all at their limit: private bytes, and alpha size / (1 + alpha
    /// n).
    pub fn share_of_queue(&self, queues: u32) -> Bytes {
        let share = self.alpha / (1.0 + self.alpha * f64::from(queues));
        self.private + Bytes::new((self.size.get() as f64 * share) as u64)
    }
}

/// Parameters of BCC ([`crate::bcc`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bcc {
    /// Base round-trip time of the network.
    pub rtt: Span,
    /// The part of a bandwidth-delay product that senders need queued to keep a link busy.
    pub lambda: f64,
    /// The time in which the pool's ports, each at its rate, fill it from `Kmin` to `Kmax`.
    pub h: Span,
    /// Marking probability at `Kmax`, 0 to 1.
    pub max_probability: f64,
    /// Whether the pool marks packets at enqueue or at dequeue.
    pub at: MarkAt,
    /// The memory of the pool that one queue needs; `None` for the rule's value.
    pub required: Option<Bytes>,
    /// `Kmin`; `None` for the rule's value.
    pub min: Option<Bytes>,
    /// `Kmax`; `None` for the rule's value.
    pub max: Option<Bytes>,
}

impl Bcc {
    /// The queue that keeps a link of this rate busy: C RTT lambda, in bytes.
    pub fn standard(&self, rate: BitsPerSec) -> f64 {
        rate.get() as f64 / 8.0 * self.rtt.as_secs_f64() * self.lambda
    }
}

/// Which returning credits the emulation share of a link leaves room for (docs/flashpass.md, "accounting").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Accounting {
    /// The credits that come over this link, where credits of any flow cross it together with data of another.
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
