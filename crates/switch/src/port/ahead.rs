//! Packets that a port sends ahead of time, at times in the future, and takes back if another packet comes before.

use super::Port;
use crate::{meter::Meter, wire::WireState};
use shallop_core::{Bytes, Class, Pace, Time};

/// The state of a port that changes when it sends a packet at once, besides the packet on the wire.
#[derive(Clone, Debug)]
pub struct PortState {
    /// Queue of the packets, and its meter.
    queue: u8,
    meter: Option<Meter>,
    free_at: Time,
    pace: Pace,
    sent: [u64; Class::COUNT],
    bytes: u64,
    wire: WireState,
}

impl<C: Copy> Port<C> {
    /// Whether a packet of this class and of at most `size` bytes that comes at `at` is sent at once, and can be taken
    /// back with [`Port::restore`].
    pub fn sends_ahead(&mut self, at: Time, class: Class, size: u16) -> bool {
        let queue = &mut self.cold.queues[usize::from(self.queue_of[class.index()])];
        let size = Bytes::new(u64::from(size));
        self.backlogged == 0
            && self.link.free_at <= at
            && at < self.next_change
            && queue.meter.as_mut().is_none_or(|meter| meter.ready(size) <= at)
            && queue.is_plain()
            && !self.cold.schedule.weighted
            && self.link.wire.draws_only_jitter()
    }

    /// The state before packets of this class are sent ahead of time.
    pub fn state(&self, class: Class) -> PortState {
        let queue = self.queue_of[class.index()];
        let meter = self.cold.queues[usize::from(queue)].meter;
        let (free_at, pace, sent, bytes) = (self.link.free_at, self.link.pace, self.link.sent, self.link.bytes);
        PortState { queue, meter, free_at, pace, sent, bytes, wire: self.link.wire.state() }
    }

    /// Takes back the `count` packets that were sent since this state. Returns how many of them have crossed the wire:
    /// the caller sends these again, then calls [`Port::drop_first`].
    pub fn restore(&mut self, state: &PortState, count: usize) -> usize {
        self.cold.queues[usize::from(state.queue)].meter = state.meter;
        let link = &mut self.link;
        (link.free_at, link.pace, link.sent, link.bytes) = (state.free_at, state.pace, state.sent, state.bytes);
        link.wire.restore(&state.wire, count)
    }

    /// Removes the first `count` packets on the wire.
    pub fn drop_first(&mut self, count: usize) {
        self.link.wire.drop_first(count);
    }
}
