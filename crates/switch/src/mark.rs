//! ECN marking above a step threshold of the instantaneous queue length, as DCTCP asks of switches (RFC 8257, section
//! 3.1). The packet itself counts as part of the queue: with a threshold of K packets, the one that makes K + 1 is
//! marked.

use shallop_core::DropCause;

use crate::limit::{Limit, QueueLength};

/// What becomes of a packet. Of two decisions about it the greater one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It is neither marked nor dropped.
    Pass,
    /// It is marked: its ECN field becomes CE.
    Mark,
    /// It is dropped, for this cause.
    Drop(DropCause),
}

/// When the length of the queue is compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MarkAt {
    /// As the packet is enqueued.
    #[default]
    Enqueue,
    /// As the packet is dequeued, so that the mark reaches the receiver earlier by the time that the packet waited.
    Dequeue,
}

shallop_core::words! { MarkAt { Enqueue = "enqueue", Dequeue = "dequeue" } }

/// A step threshold of ECN marking.
#[derive(Clone, Copy, Debug)]
pub struct MarkThreshold {
    /// Packets are marked while the queue is longer than this.
    pub above: Limit,
    /// When the length is compared.
    pub at: MarkAt,
}

impl MarkThreshold {
    /// Whether a packet is marked at this point, in a queue that has this length with it.
    #[must_use]
    pub fn applies(&self, at: MarkAt, length: QueueLength) -> bool {
        self.at == at && self.above.exceeded_by(length)
    }
}
