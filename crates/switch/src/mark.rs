//! ECN marking above a step threshold of the instantaneous queue length, as DCTCP needs (RFC 8257, section 3.1). The
//! arriving packet counts as part of the queue: with a threshold of K packets, packet K + 1 is marked.

use crate::limit::{Limit, QueueLength};
use shallop_core::{Bytes, DropCause, Ecn, Packet, Time};

/// Whether a packet passes, is marked or is dropped. If two rules decide about a packet, the greater value holds: a
/// drop before a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    Pass,
    /// The ECN field of the packet is set to CE.
    Mark,
    Drop(DropCause),
}

/// Time at which the queue length is compared with the marking threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MarkAt {
    #[default]
    Enqueue,
    /// At dequeue, so that the mark reaches the receiver earlier by the packet's time in the queue.
    Dequeue,
}

shallop_options::string_enum! { MarkAt { Enqueue = "enqueue", Dequeue = "dequeue" } }

/// Facts about a packet by which shared memory decides whether to mark or drop it.
#[derive(Clone, Copy, Debug)]
pub struct AqmInput {
    pub now: Time,
    /// Whether the packet is being enqueued or dequeued; `None` for a packet that an idle port sends at once.
    pub at: Option<MarkAt>,
    pub ecn: Ecn,
    /// Size of the packet in bytes if it is not stored yet, otherwise zero.
    pub size: Bytes,
}

impl AqmInput {
    /// The facts of a packet that an idle port sends at once.
    #[inline]
    pub(crate) fn idle_arrival<C>(now: Time, packet: &Packet<C>) -> Self {
        Self { now, at: None, ecn: packet.envelope.ecn, size: Bytes::ZERO }
    }
}

/// Step threshold of ECN marking (K of DCTCP).
#[derive(Clone, Copy, Debug)]
pub struct MarkThreshold {
    /// Longest queue, including the packet, at which packets are not marked.
    pub above: Limit,
    pub at: MarkAt,
}

impl MarkThreshold {
    /// Whether to mark a packet at enqueue or dequeue (`at`). `length` is the length of the queue including the packet.
    pub fn applies(&self, at: MarkAt, length: QueueLength) -> bool {
        self.at == at && self.above.exceeded_by(length)
    }
}
