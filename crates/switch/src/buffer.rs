//! The memory in which a port stores packets. Some queues have a limit of their own, such as the few packets of a
//! credit queue; the others share the port's buffer, or draw on a pool that several ports share ([`crate::pool`]).

use shallop_core::{Bytes, DropCause, Ecn, Packet, Time};

use crate::limit::{Limit, QueueLength};
use crate::mark::Decision;
use crate::mark::MarkAt;
use crate::pool::{PoolMember, PoolQuota, PoolUsage};

/// Memory that admits packets to the queues of a port. Queues are given by their index in the port.
pub trait Buffer {
    /// Stores a packet in this queue, which has this length without it.
    ///
    /// # Errors
    /// Why there is no room for it.
    fn store(
        &mut self,
        now: Time,
        queue: usize,
        length: QueueLength,
        size: Bytes,
    ) -> Result<(), DropCause>;

    /// Releases the memory of a packet that left this queue at `at`. The queue had this length with it.
    fn release(&mut self, at: Time, queue: usize, length: QueueLength, size: Bytes);

    /// Whether a packet of this queue is marked or dropped because of the occupancy of memory that ports share.
    #[inline]
    fn decide(&mut self, _queue: usize, _input: &AqmInput) -> Decision {
        Decision::Pass
    }
}

/// A packet about which an AQM decides.
#[derive(Clone, Copy, Debug)]
pub struct AqmInput {
    /// Now.
    pub now: Time,
    /// Whether the packet is being enqueued or dequeued; `None` for one that an idle port sends at once.
    pub at: Option<MarkAt>,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its size if it is not stored yet, otherwise zero.
    pub size: Bytes,
}

impl AqmInput {
    /// A packet that an idle port sends at once.
    #[inline]
    pub(crate) fn idle_arrival<C>(now: Time, packet: &Packet<C>) -> Self {
        Self { now, at: None, ecn: packet.envelope.ecn, size: Bytes::ZERO }
    }
}

/// The buffer of a port.
#[derive(Clone, Debug)]
pub struct PortBuffer {
    /// For each queue the limit of its own, if it has one.
    own: Vec<Option<Limit>>,
    shared: Shared,
}

/// What the queues without a limit of their own share.
#[derive(Clone, Debug)]
enum Shared {
    /// The port's buffer: its limit, and how much of it the queues use together.
    Buffer(Limit, QueueLength),
    /// A pool, and how much of it each queue uses. Packets are stored through a [`crate::pool::PooledBuffer`].
    Pool(PoolMember, Vec<PoolUsage>),
}

impl PortBuffer {
    /// A buffer with this limit. `own` has, for each queue, the limit of its own if it does not share the buffer.
    #[must_use]
    pub fn new(limit: Limit, own: Vec<Option<Limit>>) -> Self {
        Self { own, shared: Shared::Buffer(limit, QueueLength::default()) }
    }

    /// A buffer that draws on a pool. `quotas` has, for each queue, how much of the pool it may use; `own` its limit if
    /// it does not draw on the pool.
    #[must_use]
    pub fn pooled(member: PoolMember, own: Vec<Option<Limit>>, quotas: &[PoolQuota]) -> Self {
        let usages = quotas.iter().map(|&quota| PoolUsage::of(quota)).collect();
        Self { own, shared: Shared::Pool(member, usages) }
    }

    /// The port's membership in a pool, if it draws on one.
    #[inline]
    #[must_use]
    pub fn member(&self) -> Option<PoolMember> {
        match self.shared {
            Shared::Pool(member, _) => Some(member),
            Shared::Buffer(..) => None,
        }
    }

    /// The limit of a queue, of its own or of the buffer that it shares; `None` for a queue that draws on a pool.
    #[must_use]
    pub fn limit(&self, queue: usize) -> Option<Limit> {
        match (self.own.get(queue)?, &self.shared) {
            (Some(own), _) => Some(*own),
            (None, Shared::Buffer(limit, _)) => Some(*limit),
            (None, Shared::Pool(..)) => None,
        }
    }

    /// How much of the pool a queue uses; `None` for a queue with a limit of its own, or where there is no pool.
    pub(crate) fn usage(&mut self, queue: usize) -> Option<&mut PoolUsage> {
        match (&self.own[queue], &mut self.shared) {
            (None, Shared::Pool(_, usages)) => usages.get_mut(queue),
            _ => None,
        }
    }
}

impl Buffer for PortBuffer {
    /// Stores nothing in a queue that draws on a pool: a [`crate::pool::PooledBuffer`] does.
    fn store(
        &mut self,
        _now: Time,
        queue: usize,
        length: QueueLength,
        size: Bytes,
    ) -> Result<(), DropCause> {
        if let Some(own) = &self.own[queue] {
            return fits(!own.exceeded_by(length.with(size)), DropCause::QueueFull);
        }
        let Shared::Buffer(limit, used) = &mut self.shared else {
            return Err(DropCause::BufferFull);
        };
        let after = used.with(size);
        fits(!limit.exceeded_by(after), DropCause::BufferFull)?;
        *used = after;
        Ok(())
    }

    fn release(&mut self, _at: Time, queue: usize, _length: QueueLength, size: Bytes) {
        if let (None, Shared::Buffer(_, used)) = (&self.own[queue], &mut self.shared) {
            *used = used.without(size);
        }
    }
}

/// `Ok` if a packet fits, otherwise the cause of its drop.
#[inline]
pub(crate) fn fits(fits: bool, cause: DropCause) -> Result<(), DropCause> {
    if fits { Ok(()) } else { Err(cause) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_without_a_limit_of_their_own_share_the_buffer() {
        let eight = Limit { packets: 8, ..Limit::NONE };
        let limit = Limit { bytes: Bytes::new(3000), ..Limit::NONE };
        let mut buffer = PortBuffer::new(limit, vec![Some(eight), None, None]);
        let (none, frame) = (QueueLength::default(), Bytes::new(1500));
        assert!(buffer.store(Time::ZERO, 1, none, frame).is_ok());
        assert!(buffer.store(Time::ZERO, 2, none, frame).is_ok());
        let full = buffer.store(Time::ZERO, 1, none.with(frame), frame);
        assert_eq!(full, Err(DropCause::BufferFull));
        let seven = QueueLength { bytes: Bytes::new(588), packets: 7 };
        assert!(buffer.store(Time::ZERO, 0, seven, Bytes::new(84)).is_ok());
        let full = buffer.store(Time::ZERO, 0, seven.with(Bytes::new(84)), Bytes::new(84));
        assert_eq!(full, Err(DropCause::QueueFull));
        buffer.release(Time::ZERO, 2, none.with(frame), frame);
        assert!(buffer.store(Time::ZERO, 1, none, frame).is_ok());
    }
}
