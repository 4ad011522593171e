//! Where measuring hooks in. A probe is a type parameter whose methods default to nothing, so measuring that is
//! switched off costs nothing.

use crate::envelope::{End, Envelope, Node};
use crate::units::{Bytes, Span, Time};

/// A queue of a port: where something was dropped, marked or held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The port, by its number in the driver.
    pub port: u32,
    /// The queue of that port.
    pub queue: u8,
}

/// Why a packet ended before its destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropCause {
    /// Its queue had no room left.
    Full,
    /// It was not ECN-capable and its queue stood above the selective-drop threshold.
    Selective,
    /// It was not ECN-capable, and would have been marked at random if it were (RED).
    Early,
}

/// What is known of a flow as it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// The host that sends.
    pub from: Node,
    /// The host that receives.
    pub to: Node,
    /// Its group, as whoever made it counts them.
    pub group: u32,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// How long it would take alone on an empty network; zero if nobody worked it out.
    pub ideal: Span,
    /// The round-trip time of its path when nothing else is there; zero if nobody worked it out.
    pub base_rtt: Span,
    /// Its data is there so much later than it starts: until then it only prepares. Completion counts from then.
    pub ahead: Span,
    /// False for flows that only make the load: they start too early or too late to be judged.
    pub counted: bool,
}

impl Facts {
    /// A flow without end between these hosts, of the first group.
    #[must_use]
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

/// What may be observed of a run. Times passed never run backwards for one place, but may between places.
pub trait Probe {
    /// A flow starts. Flows are numbered in the order they do.
    fn on_start(&mut self, _now: Time, _flow: u32, _facts: &Facts) {}
    /// A queue holds this much from now on. Not called for a packet that leaves at once: it never waited.
    fn on_queue(&mut self, _now: Time, _at: Place, _held: Bytes) {}
    /// A packet was dropped.
    fn on_drop(&mut self, _now: Time, _at: Place, _packet: &Envelope, _why: DropCause) {}
    /// A link lost a packet that this port had sent.
    fn on_wire_loss(&mut self, _now: Time, _port: u32, _packet: &Envelope) {}
    /// A packet was marked congestion-experienced.
    fn on_mark(&mut self, _now: Time, _at: Place, _packet: &Envelope) {}
    /// A port started to send a packet: a packet-hop.
    fn on_send(&mut self, _now: Time, _port: u32, _packet: &Envelope) {}
    /// A packet reached the end it was meant for.
    fn on_deliver(&mut self, _now: Time, _packet: &Envelope) {}
    /// An end measured a round-trip time.
    fn on_rtt(&mut self, _now: Time, _end: End, _rtt: Span) {}
    /// An end has done all it had to do: every byte acknowledged, or every byte received.
    fn on_complete(&mut self, _now: Time, _end: End) {}
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Off;

impl Probe for Off {}
