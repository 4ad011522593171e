//! ECN marking above a step threshold of the instantaneous queue length, as DCTCP needs (RFC 8257, section 3.1). The
//! arriving packet counts as part of the queue: with a threshold of K packets, packet K + 1 is marked.

use shallop_core::{Bytes, DropCause, Ecn, Packet, Time};

use crate::limit::{Limit, QueueLength};

/// Decision about a packet. Where two rules decide, the greater decision holds: a drop before a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Pass,
    /// Sets the ECN field to CE.
    Mark,
    Drop(DropCause),
}

/// Time at which the queue length is compared with the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MarkAt {
    #[default]
    Enqueue,
    /// The mark then reaches the receiver earlier, by the packet's time in the queue.
    Dequeue,
}

shallop_options::string_enum! { MarkAt { Enqueue = "enqueue", Dequeue = "dequeue" } }

/// A packet about which an AQM decides.
#[derive(Clone, Copy, Debug)]
pub struct AqmInput {
    pub now: Time,
    /// Whether the packet is being enqueued or dequeued; `None` for a packet that an idle port sends at once.
    pub at: Option<MarkAt>,
    pub ecn: Ecn,
    /// Size of a packet that is not stored yet, otherwise zero.
    pub size: Bytes,
}

impl AqmInput {
    /// A packet that an idle port sends at once.
    #[inline]
    pub(crate) fn idle_arrival<C>(now: Time, packet: &Packet<C>) -> Self {
        Self { now, at: None, ecn: packet.envelope.ecn, size: Bytes::ZERO }
    }
}

/// A step threshold of ECN marking.
#[derive(Clone, Copy, Debug)]
pub struct MarkThreshold {
    /// Packets are marked while the queue is longer than this.
    pub above: Limit,
    pub at: MarkAt,
}

impl MarkThreshold {
    /// Whether a packet is marked when it is enqueued or dequeued (`at`). `length` is the queue's length with the
    /// packet.
    pub fn applies(&self, at: MarkAt, length: QueueLength) -> bool {
        self.at == at && self.above.exceeded_by(length)
    }
}
