//! What a port tells of itself: counters, what it holds, and when its link is free.

use shallop_core::{BitsPerSec, Bytes, Class, Time};

use super::{Cold, Port};
use crate::transmitter::Transmitter;

/// Packet counters of a port, by class, and its byte counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets sent onto the wire.
    pub sent: [u64; Class::COUNT],
    /// Packets dropped, for whatever cause.
    pub dropped: [u64; Class::COUNT],
    /// Packets lost on the wire.
    pub lost: [u64; Class::COUNT],
    /// Packets of which the wire made a copy.
    pub duplicated: [u64; Class::COUNT],
    /// Bytes sent.
    pub bytes: u64,
}

impl<C: Copy> Port<C> {
    /// Its counters.
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        let Transmitter { sent, bytes, .. } = self.link;
        let Cold { dropped, lost, duplicated, .. } = *self.cold;
        PortCounters { sent, dropped, lost, duplicated, bytes }
    }

    /// When the link has sent everything that has been served.
    #[must_use]
    pub fn free_at(&self) -> Time {
        self.link.free_at
    }

    /// When the link has sent everything that is queued now, if nothing more comes and it keeps its rate.
    #[must_use]
    pub fn drained_at(&self) -> Time {
        let queued = self.cold.queues.iter().map(|queue| queue.length().bytes.get()).sum();
        self.link.free_at.saturating_add(self.link.pace.quote(Bytes::new(queued)))
    }

    /// Packets in all queues.
    #[must_use]
    pub fn queued(&self) -> u32 {
        self.cold.queues.iter().map(|queue| queue.length().packets).sum()
    }

    /// Packets on the wire.
    #[must_use]
    pub fn on_wire(&self) -> usize {
        self.link.wire.len()
    }

    /// The present rate of the link.
    #[must_use]
    pub fn rate(&self) -> BitsPerSec {
        self.link.pace.rate()
    }
}
