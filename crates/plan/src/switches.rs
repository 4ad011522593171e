//! The configuration of switches: buffers, shared memory, ECN marking and meters.

use shallop_core::{BitsPerSec, BufferSize, Bytes, Pace, Span, Stream};
use shallop_switch::{Aqm, Average, Limit, MarkAt, MarkThreshold, RedConfig};

/// The configuration of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Its name in the scenario.
    pub name: String,
    /// The chip that it says it has, for tables.
    pub chip: Option<&'static str>,
    /// Data buffer of each port.
    pub buffer: BufferSize,
    /// The shared memory that replaces the buffers of ports, if there is one.
    pub shared: Option<Shared>,
    /// The ports of the first pools, by the nodes to which they lead or by sets of links. The other ports are in
    /// further pools, in order.
    pub pools: Vec<Vec<String>>,
    /// BCC: pools mark by their occupancy, with computed thresholds.
    pub bcc: Option<Bcc>,
    /// ECN marking of the data queue, which is a FIFO then.
    pub mark: Option<Marking>,
    /// The queue discipline of the data queue, if it is not a FIFO.
    pub aqm: Option<Aqm>,
    /// Depth of the emulation or credit queue.
    pub credit_queue: BufferSize,
    /// The burst of the credit meter, in packets of the smallest size.
    pub credit_burst: u32,
    /// The threshold above which the emulation queue drops packets that are not ECN-capable, if there is one.
    pub select: Option<BufferSize>,
    /// The threshold above which the data queue drops unscheduled data.
    pub unscheduled_above: BufferSize,
    /// The returning credits for which the emulation share of a link leaves room.
    pub accounting: Accounting,
    /// Whether it has a metered queue for emulation packets or credits. Without one they join the data queue.
    pub emulation: bool,
    /// Weights of the data queue and of one for transports without credits; `None` if they share the data queue.
    pub weights: Option<(u32, u32)>,
}

impl Switch {
    /// The ECN marking of the data queue of a link of this rate: as configured or, with BCC, above the queue that keeps
    /// the link busy.
    pub fn marking(&self, rate: BitsPerSec) -> Option<Marking> {
        let standard = |bcc: Bcc| {
            let above = BufferSize::Bytes(Bytes::new(bcc.standard(rate) as u64));
            Marking::step(above, MarkAt::Enqueue)
        };
        self.mark.or_else(|| self.bcc.map(standard))
    }

    /// Whether anything marks.
    pub fn marks(&self) -> bool {
        let shared = self.shared.is_some_and(|shared| shared.mark.is_some());
        let aqm = self.aqm.is_some_and(|aqm| aqm.marks());
        self.mark.is_some() || self.bcc.is_some() || shared || aqm
    }
}

/// A size in bytes on a link of this rate, whose full frames take so much. Packets count as full frames.
pub fn in_bytes(size: BufferSize, rate: BitsPerSec, frame: Bytes) -> Bytes {
    match size {
        BufferSize::Packets(packets) => frame * u64::from(packets),
        size => size.bytes_at(rate).unwrap_or(Bytes::MAX),
    }
}

/// How a queue or a pool marks, by its length or by what is taken of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Marking {
    /// Up to this nothing is marked.
    pub min: BufferSize,
    /// Above this everything is.
    pub max: BufferSize,
    /// The probability at `max`.
    pub max_probability: f64,
    /// The length is averaged with a weight of two to the minus this; zero for the length at the moment.
    pub weight: u32,
    /// When packets are looked at.
    pub at: MarkAt,
    /// Whether packets that are not ECN-capable are dropped where others would be marked.
    pub drops: bool,
}

impl Marking {
    /// Everything is marked above a threshold, and nothing below.
    pub const fn step(above: BufferSize, at: MarkAt) -> Self {
        Self { min: above, max: above, max_probability: 1.0, weight: 0, at, drops: false }
    }

    /// The step of a queue, if this is no more than one.
    pub fn as_step(&self, rate: BitsPerSec) -> Option<MarkThreshold> {
        let simple = self.min == self.max && self.weight == 0 && !self.drops;
        simple.then(|| MarkThreshold { above: Limit::of(self.max, rate), at: self.at })
    }

    /// The same for a queue of a link of this rate, whose full frames take so much. Packets count as full frames.
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

/// Memory that the ports of a switch share, by Dynamic Thresholds (`switch/src/pool.rs`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// The size of a pool.
    pub size: Bytes,
    /// The number of ports per pool; `None` if all ports share one.
    pub ports: Option<u32>,
    /// Alpha of Dynamic Thresholds: a queue may hold at most alpha times the free memory.
    pub alpha: f64,
    /// Alpha of the queue for transports without credits, if it is a queue of its own.
    pub legacy_alpha: f64,
    /// The private bytes of each queue.
    pub private: Bytes,
    /// The cell size: packets take whole cells. 1 B for none.
    pub cell: Bytes,
    /// The ECN marking of pools by their occupancy, if they mark.
    pub mark: Option<Marking>,
}

impl Shared {
    /// One pool of this size for all ports, with alpha 1.
    pub const fn new(size: Bytes) -> Self {
        let (alpha, legacy_alpha, private, cell) = (1.0, 1.0, Bytes::ZERO, Bytes::new(1));
        Self { size, ports: None, alpha, legacy_alpha, private, cell, mark: None }
    }

    /// The share of each of `queues` queues that are all at their limit: alpha size / (1 + alpha n) and the private
    /// bytes.
    pub fn share_of_queue(&self, queues: u32) -> Bytes {
        let share = self.alpha / (1.0 + self.alpha * f64::from(queues));
        self.private + Bytes::new((self.size.get() as f64 * share) as u64)
    }
}

/// The parameters of BCC (`crate::bcc`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bcc {
    /// The base round-trip time.
    pub rtt: Span,
    /// The part of a bandwidth-delay product that the senders need queued to keep a link busy.
    pub lambda: f64,
    /// The time in which the ports of a pool, at their rate, fill it from the lower to the upper threshold.
    pub h: Span,
    /// The probability at the upper threshold.
    pub max_probability: f64,
    /// Whether the pool marks at enqueue or at dequeue.
    pub at: MarkAt,
    /// The memory of the pool that a queue needs; `None` for the value of the rule.
    pub required: Option<Bytes>,
    /// The lower threshold; `None` for the value of the rule.
    pub min: Option<Bytes>,
    /// The upper threshold; `None` for the value of the rule.
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
    /// Those that come over this link, if any flow's do while another's data does.
    #[default]
    PerLink,
    /// None: the paper's 84/1622.
    OneWay,
    /// Always one for each data frame.
    TwoWay,
}

shallop_core::words! {
    Accounting { PerLink = "per-link", OneWay = "one-way", TwoWay = "two-way" }
}
