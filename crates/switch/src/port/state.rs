//! Accessors of a port: counters, queued packets, and the time at which its link is free.

use super::{Cold, Port};
use crate::transmitter::Transmitter;
use shallop_core::{BitsPerSec, Bytes, Class, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets sent onto the wire, by class.
    pub sent: [u64; Class::COUNT],
    /// Packets dropped for any cause, by class.
    pub dropped: [u64; Class::COUNT],
    /// Packets lost on the wire, by class.
    pub lost: [u64; Class::COUNT],
    /// Packets that the wire duplicated, by class.
    pub duplicated: [u64; Class::COUNT],
    /// Bytes sent onto the wire, including preamble and inter-frame gap.
    pub bytes: u64,
}

impl<C: Copy> Port<C> {
    pub fn counters(&self) -> PortCounters {
        let Transmitter { sent, bytes, .. } = self.link;
        let Cold { dropped, lost, duplicated, .. } = *self.cold;
        PortCounters { sent, dropped, lost, duplicated, bytes }
    }

    /// Time at which the link has sent all packets that were dequeued.
    pub fn free_at(&self) -> Time {
        self.link.free_at
    }

    /// Time at which the link has sent all packets that are queued now, if no others arrive and the rate does not
    /// change.
    pub fn drained_at(&self) -> Time {
        let queued = self.cold.queues.iter().map(|queue| queue.length().bytes.get()).sum();
        self.link.free_at.saturating_add(self.link.pace.quote(Bytes::new(queued)))
    }

    /// Number of packets in all queues.
    pub fn queued(&self) -> u32 {
        self.cold.queues.iter().map(|queue| queue.length().packets).sum()
    }

    /// Number of packets on the wire.
    pub fn on_wire(&self) -> usize {
        self.link.wire.len()
    }

    pub fn rate(&self) -> BitsPerSec {
        self.link.pace.rate()
    }
}
