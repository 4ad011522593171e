//! Measurement hooks. A probe is a type parameter whose methods do nothing by default, so that a run that measures
//! nothing pays nothing.

use crate::envelope::{End, Envelope, Node};
use crate::units::{Bytes, Span, Time};

/// A queue of a port. Probes report by it where packets were queued, marked or dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct QueueId {
    pub port: u32,
    pub queue: u8,
}

/// The cause for which a packet did not reach its destination: the first rule that refused the packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum DropCause {
    /// Tail drop: the buffer of the port, or the shared memory that the port uses, had no room for the packet.
    BufferFull,
    /// Tail drop at a limit of the queue itself: its part of a divided buffer, or the packet limit of its discipline.
    QueueFull,
    /// Tail drop of a metered queue: credits or emulation packets came faster than their meter lets through.
    MeteredQueueFull,
    /// Dynamic Threshold: shared memory had room, but the queue held alpha times the free bytes (Choudhury and Hahne,
    /// 1998).
    DynamicThreshold,
    /// Selective drop: the packet was not ECN-capable, in a queue above the selective-drop threshold (Aeolus).
    Selective,
    /// Random early detection: the packet was not ECN-capable, and would have been marked otherwise.
    Red,
    /// Active queue management: the discipline of the queue dropped it, as `CoDel` does from the head.
    Aqm,
    /// The wire lost it after the port had sent it.
    WireLoss,
}

impl DropCause {
    pub const COUNT: usize = 8;
    /// Every cause, in the order of their indices.
    pub const ALL: [Self; Self::COUNT] = [
        Self::BufferFull,
        Self::QueueFull,
        Self::MeteredQueueFull,
        Self::DynamicThreshold,
        Self::Selective,
        Self::Red,
        Self::Aqm,
        Self::WireLoss,
    ];

    /// Position in [`DropCause::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BufferFull => "buffer_full",
            Self::QueueFull => "queue_full",
            Self::MeteredQueueFull => "metered_queue_full",
            Self::DynamicThreshold => "dynamic_threshold",
            Self::Selective => "selective",
            Self::Red => "red",
            Self::Aqm => "aqm",
            Self::WireLoss => "wire_loss",
        }
    }
}

/// The properties of a flow that the driver knows when the flow starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub from: Node,
    pub to: Node,
    /// The number of the flow's group.
    pub group: u32,
    /// Payload bytes; `None` for a flow without end.
    pub size: Option<u64>,
    /// Completion time of the flow alone in an empty network; zero if not computed.
    pub ideal: Span,
    /// Round-trip time of its path without queues; zero if not computed.
    pub base_rtt: Span,
    /// Time from the start of the flow until its data is available, which a transport may use for set-up. The
    /// completion time is counted from the end of this time.
    pub ahead: Span,
    /// False for background flows, which start too early or too late to be part of the statistics.
    pub counted: bool,
}

impl Facts {
    /// A flow without end between two hosts, in group 0.
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

/// An observer of a run. The times that it is given never decrease for one queue, but may between queues, since ports
/// serve lazily.
pub trait Probe {
    /// A flow starts. Flows are numbered in the order of their starts.
    fn on_start(&mut self, _now: Time, _flow: u32, _facts: &Facts) {}
    /// A queue holds `held` from `now` on. Not called for a packet that finds the link idle: it is never queued.
    fn on_queue(&mut self, _now: Time, _at: QueueId, _held: Bytes) {}
    /// A packet was dropped, or lost on the wire behind this queue, for this cause.
    fn on_drop(&mut self, _now: Time, _at: QueueId, _packet: &Envelope, _cause: DropCause) {}
    /// A packet was marked congestion-experienced.
    fn on_mark(&mut self, _now: Time, _at: QueueId, _packet: &Envelope) {}
    /// A port started to send a packet (a packet-hop).
    fn on_send(&mut self, _now: Time, _port: u32, _packet: &Envelope) {}
    /// A packet was delivered to its destination.
    fn on_deliver(&mut self, _now: Time, _packet: &Envelope) {}
    /// An end measured a round-trip time.
    fn on_rtt(&mut self, _now: Time, _end: End, _rtt: Span) {}
    /// An end is complete: a sender has every byte acknowledged, a receiver has received every byte.
    fn on_complete(&mut self, _now: Time, _end: End) {}
}

/// A probe that observes nothing.
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
