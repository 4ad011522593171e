//! A FIFO that keeps each packet's time of enqueue beside it, so that a queue discipline can measure the sojourn time
//! of what it dequeues. Units: bytes on the wire.

use shallop_core::{Bytes, DropCause, Envelope, Packet, Span, Time};

use crate::ring::Ring;

/// A packet that a discipline dropped from its queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped {
    pub packet: Envelope,
    pub cause: DropCause,
}

/// What a discipline does when an arriving packet does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// The arriving packet is dropped.
    DropArriving,
    /// At least one packet was dropped from the queue: the arriving one may fit now.
    MadeRoom,
}

/// A packet with the time at which it was enqueued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamped<C> {
    pub enqueued: Time,
    pub packet: Packet<C>,
}

impl<C> Stamped<C> {
    /// How long the packet has waited.
    pub fn sojourn(&self, now: Time) -> Span {
        now.saturating_since(self.enqueued)
    }
}

/// A FIFO of packets with their times of enqueue.
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
    /// How many packets wait.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True when no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// How many bytes wait.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// How long the packet at the head has waited; zero if none waits.
    pub fn delay(&self, now: Time) -> Span {
        self.packets.front().map_or(Span::ZERO, |head| head.sojourn(now))
    }

    /// Adds a packet at the tail.
    pub fn push(&mut self, now: Time, packet: Packet<C>) {
        let stamped = Stamped { enqueued: now, packet };
        self.bytes += packet.envelope.bytes();
        *self.packets.push(|| stamped) = stamped;
    }

    /// Removes the packet at the head.
    pub fn pop(&mut self) -> Option<Stamped<C>> {
        let head = *self.packets.pop()?;
        self.bytes -= head.packet.envelope.bytes();
        Some(head)
    }
}
