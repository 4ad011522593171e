//! The memory a port's queues draw from. Some queues have room of their own, such as the few packets of a credit queue;
//! the others share the port's buffer. A pool shared by several ports will be another kind of room, asked in the same
//! two places: before a packet is stored, and when it leaves.

use shallop_core::Bytes;

use crate::limit::{Holding, Limit};

/// Who may store how much.
#[derive(Clone, Debug)]
pub struct Room {
    /// For each queue its own bound, if it does not draw on the common one.
    own: Vec<Option<Limit>>,
    common: Limit,
    /// What the queues without a bound of their own hold together.
    held: Holding,
}

impl Room {
    /// A port's buffer, and bounds for the queues that have room of their own.
    #[must_use]
    pub fn new(common: Limit, own: Vec<Option<Limit>>) -> Self {
        Self { own, common, held: Holding::default() }
    }

    /// Stores a packet in this queue, which holds `held` without it; false if there is no room for it.
    pub fn store(&mut self, queue: usize, held: Holding, size: Bytes) -> bool {
        if let Some(own) = &self.own[queue] {
            return !own.exceeded_by(held.with(size));
        }
        let after = self.held.with(size);
        let fits = !self.common.exceeded_by(after);
        if fits {
            self.held = after;
        }
        fits
    }

    /// Gives back the room of a packet that left this queue.
    pub fn release(&mut self, queue: usize, size: Bytes) {
        if self.own[queue].is_none() {
            self.held = self.held.without(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_without_room_of_their_own_share_the_buffer() {
        let eight = Limit { packets: 8, ..Limit::NONE };
        let buffer = Limit { bytes: Bytes::new(3000), ..Limit::NONE };
        let mut room = Room::new(buffer, vec![Some(eight), None, None]);
        let (none, frame) = (Holding::default(), Bytes::new(1500));
        assert!(room.store(1, none, frame) && room.store(2, none, frame));
        assert!(!room.store(1, none.with(frame), frame), "the buffer is full");
        let seven = Holding { bytes: Bytes::new(588), packets: 7 };
        assert!(room.store(0, seven, Bytes::new(84)));
        assert!(!room.store(0, seven.with(Bytes::new(84)), Bytes::new(84)));
        room.release(2, frame);
        assert!(room.store(1, none, frame));
    }
}
