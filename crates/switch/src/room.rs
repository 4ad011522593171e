//! The memory a port's queues draw from. Some queues have room of their own, such as the few packets of a credit queue;
//! the others share the port's buffer, or draw on a pool that the ports of a switch share ([`crate::pool`]).

use shallop_core::{Bytes, Ecn, Time};

use crate::limit::{Holding, Limit};
use crate::mark::MarkAt;
use crate::pool::{Claim, Member, Part};
use crate::red::Verdict;

/// What a port asks before it stores a packet, and tells when one leaves.
pub trait Memory {
    /// Stores a packet in this queue, which holds `held` without it; false if there is no room for it.
    fn store(&mut self, now: Time, queue: usize, held: Holding, size: Bytes) -> bool;
    /// Gives back the room of a packet that left this queue at `at`, which held `held` with it.
    fn release(&mut self, at: Time, queue: usize, held: Holding, size: Bytes);

    /// Whether what this queue shares with others is so full that a packet is marked or dropped, of so many bytes and
    /// with these bits, at this moment; `None` for one that passes an idle port.
    #[inline]
    fn judge(&mut self, _queue: usize, _look: &Look) -> Verdict {
        Verdict::Keep
    }
}

/// A packet that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Now.
    pub now: Time,
    /// As it joins or leaves; `None` for one that passes an idle port.
    pub at: Option<MarkAt>,
    /// Its bits.
    pub ecn: Ecn,
    /// Its size, if it has no room yet.
    pub size: Bytes,
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
    /// A part in a pool, which has to be there when packets are stored, and what each queue may have and has of it: see
    /// [`crate::pool::Pooled`].
    Pool(Member, Vec<Part>),
}

impl Room {
    /// A port's buffer, and bounds for the queues that have room of their own.
    #[must_use]
    pub fn new(common: Limit, own: Vec<Option<Limit>>) -> Self {
        Self { own, common: Common::Buffer(common, Holding::default()) }
    }

    /// A part in a pool, bounds for queues that have room of their own, and what each of the others may have of the
    /// pool.
    #[must_use]
    pub fn pooled(member: Member, own: Vec<Option<Limit>>, claims: &[Claim]) -> Self {
        let parts = claims.iter().map(|&claim| Part::of(claim)).collect();
        Self { own, common: Common::Pool(member, parts) }
    }

    /// The port's part in a pool, if it has one.
    #[inline]
    #[must_use]
    pub fn member(&self) -> Option<Member> {
        match self.common {
            Common::Pool(member, _) => Some(member),
            Common::Buffer(..) => None,
        }
    }

    /// What a queue has of a pool; `None` for one that has room of its own, or where there is no pool.
    pub(crate) fn part(&mut self, queue: usize) -> Option<&mut Part> {
        match (&self.own[queue], &mut self.common) {
            (None, Common::Pool(_, parts)) => parts.get_mut(queue),
            _ => None,
        }
    }
}

impl Memory for Room {
    /// A part in a pool gives nothing without the pool.
    fn store(&mut self, _now: Time, queue: usize, held: Holding, size: Bytes) -> bool {
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

    fn release(&mut self, _at: Time, queue: usize, _held: Holding, size: Bytes) {
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
        assert!(room.store(Time::ZERO, 1, none, frame) && room.store(Time::ZERO, 2, none, frame));
        assert!(!room.store(Time::ZERO, 1, none.with(frame), frame), "the buffer is full");
        let seven = Holding { bytes: Bytes::new(588), packets: 7 };
        assert!(room.store(Time::ZERO, 0, seven, Bytes::new(84)));
        assert!(!room.store(Time::ZERO, 0, seven.with(Bytes::new(84)), Bytes::new(84)));
        room.release(Time::ZERO, 2, none.with(frame), frame);
        assert!(room.store(Time::ZERO, 1, none, frame));
    }
}
