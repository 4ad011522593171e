//! What switches are like, checked: buffers, memory that ports share, what is marked and metered.

use shallop_core::{BitsPerSec, BufferSize, Bytes, Pace, Span, Stream};
use shallop_switch::{Average, Limit, Mark, MarkAt, RedConfig};

/// What a switch is like.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Its name in the scenario.
    pub name: String,
    /// Data buffer of each port.
    pub buffer: BufferSize,
    /// The memory that its ports share instead, if they do.
    pub shared: Option<Shared>,
    /// The ports of the first pools, by the nodes they lead to or the sets of links they are of. Other ports follow in
    /// pools of their own, in their order.
    pub pools: Vec<Vec<String>>,
    /// Whether pools mark by how full they are, with thresholds by the rules of BCC.
    pub bcc: Option<Bcc>,
    /// ECN marking of the data queue.
    pub mark: Option<Marking>,
    /// Depth of the emulation or credit queue.
    pub credit_queue: BufferSize,
    /// Credits or emulation packets that may leave back to back, in packets of the smallest size.
    pub credit_burst: u32,
    /// Above this, packets that are not ECN-capable are dropped from the emulation queue, if they are at all.
    pub select: Option<BufferSize>,
    /// Above this, data that was sent without a credit is dropped from the data queue.
    pub unscheduled_above: BufferSize,
    /// Which credits the emulation queue's share of a link leaves room for.
    pub accounting: Accounting,
    /// Whether it has a metered queue for emulation packets or credits. Without, they join the data.
    pub emulation: bool,
    /// Weights of the data queue and of one for transports without credits; `None` if they share the data queue.
    pub weights: Option<(u32, u32)>,
}

impl Switch {
    /// How the data queue of a link of this rate marks: as written or, with BCC, above what keeps the link busy.
    #[must_use]
    pub fn marking(&self, rate: BitsPerSec) -> Option<Marking> {
        let standard = |bcc: Bcc| {
            let above = BufferSize::Bytes(Bytes::new(bcc.standard(rate) as u64));
            Marking::step(above, MarkAt::Enqueue)
        };
        self.mark.or_else(|| self.bcc.map(standard))
    }

    /// Whether anything marks.
    #[must_use]
    pub fn marks(&self) -> bool {
        let shared = self.shared.is_some_and(|shared| shared.mark.is_some());
        self.mark.is_some() || self.bcc.is_some() || shared
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
    pub most: f64,
    /// The length is averaged with a weight of two to the minus this; zero for the length at the moment.
    pub weight: u32,
    /// When packets are looked at.
    pub at: MarkAt,
    /// Whether packets that are not ECN-capable are dropped where others would be marked.
    pub drops: bool,
}

impl Marking {
    /// Everything is marked above a threshold, and nothing below.
    #[must_use]
    pub const fn step(above: BufferSize, at: MarkAt) -> Self {
        Self { min: above, max: above, most: 1.0, weight: 0, at, drops: false }
    }

    /// The step of a queue, if this is no more than one.
    #[must_use]
    pub fn as_step(&self, rate: BitsPerSec) -> Option<Mark> {
        let simple = self.min == self.max && self.weight == 0 && !self.drops;
        simple.then(|| Mark { above: Limit::of(self.max, rate), at: self.at })
    }

    /// The same for a queue of a link of this rate, whose full frames take so much. Packets count as full frames.
    #[must_use]
    pub fn red(&self, (rate, frame): (BitsPerSec, Bytes), stream: Stream) -> RedConfig {
        let bytes = |size: BufferSize| match size {
            BufferSize::Packets(packets) => frame * u64::from(packets),
            size => size.bytes_at(rate).unwrap_or(Bytes::MAX),
        };
        let gain = 1.0 / f64::from(1u32 << self.weight.min(31));
        let packet = Pace::new(rate).quote(frame);
        let average = (self.weight > 0).then_some(Average { gain, packet });
        let (min, max, Self { most, at, drops, .. }) = (bytes(self.min), bytes(self.max), *self);
        RedConfig { min, max, most, at, drops, average, stream }
    }
}

/// Memory that the ports of a switch share, by Dynamic Thresholds (`switch/src/pool.rs`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// All of a pool.
    pub size: Bytes,
    /// So many ports draw on a pool, the next as many on another; `None` if all draw on one.
    pub ports: Option<u32>,
    /// A queue may be given more while it has less than this times what is free.
    pub alpha: f64,
    /// The same of a queue for transports without credits, beside others.
    pub legacy_alpha: f64,
    /// What each queue may hold besides.
    pub private: Bytes,
    /// Packets take whole cells of this size; 1 B for none.
    pub cell: Bytes,
    /// Whether pools mark by how full they are.
    pub mark: Option<Marking>,
}

impl Shared {
    /// One pool of this size for all ports; a queue may have as much of it as is free.
    #[must_use]
    pub const fn new(size: Bytes) -> Self {
        let (alpha, legacy_alpha, private, cell) = (1.0, 1.0, Bytes::ZERO, Bytes::new(1));
        Self { size, ports: None, alpha, legacy_alpha, private, cell, mark: None }
    }

    /// What so many queues that all want more end up with each: alpha size / (1 + alpha n), and what is private.
    #[must_use]
    pub fn of(&self, queues: u32) -> Bytes {
        let share = self.alpha / (1.0 + self.alpha * f64::from(queues));
        self.private + Bytes::new((self.size.get() as f64 * share) as u64)
    }
}

/// What BCC computes its thresholds from (`crate::bcc`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bcc {
    /// The base round-trip time.
    pub rtt: Span,
    /// The part of a bandwidth-delay product that the senders need queued to keep a link busy.
    pub lambda: f64,
    /// From the lower threshold to the upper the ports of a pool take so long at their rate.
    pub h: Span,
    /// The probability at the upper threshold.
    pub most: f64,
    /// When the pool looks at a packet.
    pub at: MarkAt,
    /// What a queue needs of the pool, if not what the rule says.
    pub required: Option<Bytes>,
    /// The lower threshold, if not what the rule says.
    pub min: Option<Bytes>,
    /// The upper threshold, if not what the rule says.
    pub max: Option<Bytes>,
}

impl Bcc {
    /// What keeps a link of this rate busy: C RTT lambda, in bytes.
    #[must_use]
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
