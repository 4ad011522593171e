//! A FIFO that records when each packet was enqueued, so that a queue discipline can measure sojourn times. Units:
//! bytes on the wire.

use crate::ring::Ring;
use shallop_core::{Bytes, DropCause, Envelope, Packet, Span, Time};

/// A packet that a discipline dropped from its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped {
    pub packet: Envelope,
    pub cause: DropCause,
}

/// What a discipline did about an arriving packet that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overflow {
    DropArriving,
    /// The discipline dropped at least one packet from its queue; the arriving packet may fit now.
    MadeRoom,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped<C> {
    pub enqueued: Time,
    pub packet: Packet<C>,
}

impl<C> Stamped<C> {
    /// Time since the packet was enqueued.
    pub fn sojourn(&self, now: Time) -> Span {
        now.saturating_since(self.enqueued)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Backlog<C> {
    packets: Ring<Stamped<C>>,
    bytes: Bytes,
}

impl<C> Default for Backlog<C> {
    fn default() -> Self {
        Self { packets: Ring::default(), bytes: Bytes::ZERO }
    }
}

impl<C: Copy> Backlog<C> {
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Sojourn time of the packet at the head; zero if the queue is empty.
    pub fn delay(&self, now: Time) -> Span {
        self.packets.front().map_or(Span::ZERO, |head| head.sojourn(now))
    }

    pub fn push(&mut self, now: Time, packet: Packet<C>) {
        let stamped = Stamped { enqueued: now, packet };
        self.bytes += packet.envelope.bytes();
        *self.packets.push(|| stamped) = stamped;
    }

    pub fn pop(&mut self) -> Option<Stamped<C>> {
        let head = *self.packets.pop()?;
        self.bytes -= head.packet.envelope.bytes();
        Some(head)
    }
}
