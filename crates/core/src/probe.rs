//! Measurement hooks. A probe is a type parameter of the simulator whose methods do nothing by default, so that hooks
//! without an implementation cost nothing.

use crate::envelope::{Class, End, Envelope, Node};
use crate::units::{Bytes, Span, Time};

/// Identifies one queue of one port, in reports of queued, marked and dropped packets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QueueId {
    pub port: u32,
    pub queue: u8,
}

/// Reason why a packet did not reach its destination: the first rule that refused the packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// Tail drop: the buffer of the port, or the shared memory that the port uses, had no room for the packet.
    BufferFull,
    /// Tail drop at a limit of the queue itself: its own part of the buffer, or the packet limit of its discipline.
    QueueFull,
    /// Tail drop of a metered queue: credits or emulation packets arrived faster than the queue's token bucket lets
    /// them leave.
    MeteredQueueFull,
    /// Dynamic Threshold: the shared memory had room, but the queue already held alpha times the free bytes (Choudhury
    /// and Hahne, 1998).
    DynamicThreshold,
    /// Selective drop: the packet was not ECN-capable, in a queue above the selective-drop threshold (Aeolus).
    Selective,
    /// Random early detection: the packet was not ECN-capable; an ECN-capable one would have been marked.
    Red,
    /// Active queue management: the discipline of the queue dropped the packet, as `CoDel` does at the head of the
    /// queue.
    Aqm,
    /// Random loss or an outage of the wire, after the port had sent the packet.
    WireLoss,
    /// Policer: the token bucket of the queue had no tokens for the packet.
    Policer,
}

crate::names! { DropCause {
    BufferFull = "buffer_full", QueueFull = "queue_full", MeteredQueueFull = "metered_queue_full",
    DynamicThreshold = "dynamic_threshold", Selective = "selective", Red = "red", Aqm = "aqm", WireLoss = "wire_loss",
    Policer = "policer",
} }

impl DropCause {
    /// Position in [`DropCause::ALL`], by which counters per cause are indexed.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Properties of a flow that are known when it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub from: Node,
    pub to: Node,
    /// Index of the flow's group, a `[[group]]` of the scenario.
    pub group: u32,
    /// Payload bytes; `None` for a flow that never ends.
    pub size: Option<u64>,
    /// Completion time if the flow were alone in the network; zero if not computed.
    pub ideal: Span,
    /// Round-trip time of the flow's path with empty queues; zero if not computed.
    pub base_rtt: Span,
    /// Time from the start of the flow until the application's data is available; a transport may set up its connection
    /// meanwhile. The completion time is counted from the end of this span.
    pub ahead: Span,
    /// False for background flows, which start too early or too late to be part of the statistics.
    pub counted: bool,
}

impl Facts {
    /// Facts of a flow that never ends, counted, in group 0, with all times zero.
    pub const fn between(from: Node, to: Node) -> Self {
        Self {
            from,
            to,
            group: 0,
            size: None,
            ideal: Span::ZERO,
            base_rtt: Span::ZERO,
            ahead: Span::ZERO,
            counted: true,
        }
    }
}

/// Observer of a run. The times given to its methods never decrease for one queue, but may between queues, since ports
/// serve packets lazily.
pub trait Probe {
    /// A flow starts. Flow numbers count up from 0 in order of the starts.
    fn on_start(&mut self, _now: Time, _flow: u32, _facts: &Facts) {}
    /// The length of a queue changed: it holds `held` from `now` on. Not called for a packet that finds the link idle,
    /// since that packet is never queued.
    fn on_queue(&mut self, _now: Time, _at: QueueId, _held: Bytes) {}
    /// A packet was dropped at this queue, or lost on the wire behind it.
    fn on_drop(&mut self, _now: Time, _at: QueueId, _packet: &Envelope, _cause: DropCause) {}
    /// The ECN field of a packet was set to CE.
    fn on_mark(&mut self, _now: Time, _at: QueueId, _packet: &Envelope) {}
    /// A port started to send a packet, which counts as one packet-hop.
    fn on_send(&mut self, _now: Time, _port: u32, _packet: &Envelope) {}
    /// A packet reached its destination host.
    fn on_deliver(&mut self, _now: Time, _packet: &Envelope) {}
    /// An endpoint measured a round-trip time.
    fn on_rtt(&mut self, _now: Time, _end: End, _rtt: Span) {}
    /// An endpoint has finished: a sender when all bytes are acknowledged, a receiver when all bytes have arrived.
    fn on_complete(&mut self, _now: Time, _end: End) {}
    /// Packets of the metered class were dropped at this queue. Reported by [`Probe::on_drop`] one by one if not
    /// [`Probe::allows_bulk`].
    fn on_drops(&mut self, _at: QueueId, _class: Class, _cause: DropCause, _count: u64) {}
    /// Whether packets of the metered class may be computed late and in bulk.
    fn allows_bulk(&self) -> bool {
        false
    }
    /// Whether [`Probe::on_send`] and [`Probe::on_queue`] must be called for each packet of this host's port.
    fn watches(&self, _port: u32) -> bool {
        true
    }
    /// Whether all that the run waits for has happened: the simulator stops at this instant.
    fn is_over(&self) -> bool {
        false
    }
}

/// A probe that does nothing, for runs whose measurements nobody reads.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProbe;

impl Probe for NoProbe {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_numbered_and_named_apart() {
        for (index, cause) in DropCause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), index);
            assert!(DropCause::ALL[..index].iter().all(|other| other.name() != cause.name()));
        }
    }
}
