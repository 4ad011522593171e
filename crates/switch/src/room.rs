//! The memory a port's queues draw from. Some queues have room of their own, such as the few packets of a credit queue;
//! the others share the port's buffer, or draw on a pool that the ports of a switch share ([`crate::pool`]).

use shallop_core::Bytes;

use crate::limit::{Holding, Limit};
use crate::pool::Member;

/// What a port asks before it stores a packet, and tells when one leaves.
pub trait Memory {
    /// Stores a packet in this queue, which holds `held` without it; false if there is no room for it.
    fn store(&mut self, queue: usize, held: Holding, size: Bytes) -> bool;
    /// Gives back the room of a packet that left this queue, which held `held` with it.
    fn release(&mut self, queue: usize, held: Holding, size: Bytes);
}

/// Who may store how much.
#[derive(Clone, Debug)]
pub struct Room {
    /// For each queue its own bound, if it does not draw on what is common.
    own: Vec<Option<Limit>>,
    common: Common,
}

#[derive(Clone, Debug)]
enum Common {
    /// A buffer, and what the queues without a bound of their own hold of it together.
    Buffer(Limit, Holding),
    /// A part in a pool, which has to be there when packets are stored: see [`crate::pool::Pooled`].
    Pool(Member),
}

impl Room {
    /// A port's buffer, and bounds for the queues that have room of their own.
    #[must_use]
    pub fn new(common: Limit, own: Vec<Option<Limit>>) -> Self {
        Self { own, common: Common::Buffer(common, Holding::default()) }
    }

    /// A part in a pool, and bounds for the queues that have room of their own.
    #[must_use]
    pub fn pooled(member: Member, own: Vec<Option<Limit>>) -> Self {
        Self { own, common: Common::Pool(member) }
    }

    /// The port's part in a pool, if it has one.
    #[inline]
    #[must_use]
    pub fn member(&self) -> Option<Member> {
        match self.common {
            Common::Pool(member) => Some(member),
            Common::Buffer(..) => None,
        }
    }

    /// The bound of a queue that has room of its own.
    #[must_use]
    pub fn own(&self, queue: usize) -> Option<&Limit> {
        self.own[queue].as_ref()
    }
}

impl Memory for Room {
    /// A part in a pool gives nothing without the pool.
    fn store(&mut self, queue: usize, held: Holding, size: Bytes) -> bool {
        if let Some(own) = &self.own[queue] {
            return !own.exceeded_by(held.with(size));
        }
        let Common::Buffer(limit, all) = &mut self.common else { return false };
        let after = all.with(size);
        let fits = !limit.exceeded_by(after);
        if fits {
            *all = after;
        }
        fits
    }

    fn release(&mut self, queue: usize, _held: Holding, size: Bytes) {
        if let (None, Common::Buffer(_, all)) = (&self.own[queue], &mut self.common) {
            *all = all.without(size);
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
        room.release(2, none.with(frame), frame);
        assert!(room.store(1, none, frame));
    }
}
