//! The memory in which a port stores packets. Some queues have their own limit, such as the few packets of a credit
//! queue. The others share the port's buffer, or a pool that several ports share ([`crate::pool`]).

use crate::limit::{Limit, QueueLength, fits};
use crate::mark::{AqmInput, Decision};
use crate::pool::{Pool, PoolMember, PoolQuota, PoolUsage};
use shallop_core::{Bytes, DropCause, Time};

/// Memory that admits packets to the queues of a port. The argument `queue` is the queue's index in the port.
pub trait Buffer {
    /// Stores a packet in the memory. `length` is the length of its queue without the packet.
    ///
    /// # Errors
    /// Cause of the drop, if there is no room for the packet.
    fn store(&mut self, now: Time, queue: usize, length: QueueLength, size: Bytes) -> Result<(), DropCause>;

    /// Releases the memory of a packet that left its queue at `at`. `length` is the length of the queue including the
    /// packet.
    fn release(&mut self, at: Time, queue: usize, length: QueueLength, size: Bytes);

    /// Whether memory that ports share marks or drops a packet because of the bytes in use.
    #[inline]
    fn decide(&mut self, _queue: usize, _input: &AqmInput) -> Decision {
        Decision::Pass
    }
}

/// The buffer of one port: a part of it for each queue with its own limit, the rest shared.
#[derive(Clone, Debug)]
pub struct PortBuffer {
    /// Limit of each queue that does not share the buffer; `None` for queues that do. The index is the queue's.
    own: Vec<Option<Limit>>,
    shared: SharedMemory,
}

/// Memory shared by the queues that have no limit of their own.
#[derive(Clone, Debug)]
enum SharedMemory {
    /// The buffer of the port: its limit, and the total length of the queues in it.
    Buffer(Limit, QueueLength),
    /// A pool, and the bytes of the pool that each queue uses. Packets are stored through a [`PooledBuffer`].
    Pool(PoolMember, Vec<PoolUsage>),
}

impl PortBuffer {
    /// A buffer with the limit `limit`. `own` has one entry for each queue: its own limit, or `None` if it shares the
    /// buffer.
    pub fn new(limit: Limit, own: Vec<Option<Limit>>) -> Self {
        Self { own, shared: SharedMemory::Buffer(limit, QueueLength::default()) }
    }

    /// A buffer that uses a pool. `quotas` and `own` have one entry for each queue: its quota of the pool, and its own
    /// limit or `None` if it uses the pool.
    pub fn pooled(member: PoolMember, own: Vec<Option<Limit>>, quotas: &[PoolQuota]) -> Self {
        let usages = quotas.iter().map(|&quota| PoolUsage::new(quota)).collect();
        Self { own, shared: SharedMemory::Pool(member, usages) }
    }

    #[inline]
    pub fn member(&self) -> Option<PoolMember> {
        match self.shared {
            SharedMemory::Pool(member, _) => Some(member),
            SharedMemory::Buffer(..) => None,
        }
    }

    /// Limit of a queue: its own, or the limit of the port's buffer. `None` for a queue that uses a pool.
    pub fn limit(&self, queue: usize) -> Option<Limit> {
        match (self.own.get(queue)?, &self.shared) {
            (Some(own), _) => Some(*own),
            (None, SharedMemory::Buffer(limit, _)) => Some(*limit),
            (None, SharedMemory::Pool(..)) => None,
        }
    }

    /// Limit of a queue that does not share the buffer.
    pub(crate) fn own_limit(&self, queue: usize) -> Option<Limit> {
        self.own[queue]
    }

    /// Bytes of the pool that a queue uses; `None` for a queue with its own limit, or without a pool.
    pub(crate) fn usage(&mut self, queue: usize) -> Option<&mut PoolUsage> {
        match (&self.own[queue], &mut self.shared) {
            (None, SharedMemory::Pool(_, usages)) => usages.get_mut(queue),
            _ => None,
        }
    }
}

impl Buffer for PortBuffer {
    /// Refuses packets of a queue that uses a pool, since only [`PooledBuffer`] can store them.
    fn store(&mut self, _now: Time, queue: usize, length: QueueLength, size: Bytes) -> Result<(), DropCause> {
        if let Some(own) = &self.own[queue] {
            return fits(!own.exceeded_by(length.with(size)), DropCause::QueueFull);
        }
        let SharedMemory::Buffer(limit, used) = &mut self.shared else {
            return Err(DropCause::BufferFull);
        };
        let after = used.with(size);
        fits(!limit.exceeded_by(after), DropCause::BufferFull)?;
        *used = after;
        Ok(())
    }

    fn release(&mut self, _at: Time, queue: usize, _length: QueueLength, size: Bytes) {
        if let (None, SharedMemory::Buffer(_, used)) = (&self.own[queue], &mut self.shared) {
            *used = used.without(size);
        }
    }
}

/// The buffer of a port together with the pool that the port uses.
#[derive(Debug)]
pub struct PooledBuffer<'a> {
    pub buffer: &'a mut PortBuffer,
    pub pool: &'a mut Pool,
}

impl Buffer for PooledBuffer<'_> {
    fn store(&mut self, now: Time, queue: usize, length: QueueLength, size: Bytes) -> Result<(), DropCause> {
        match self.buffer.usage(queue) {
            Some(usage) => self.pool.store(now, usage, size),
            None => self.buffer.store(now, queue, length, size),
        }
    }

    fn release(&mut self, at: Time, queue: usize, length: QueueLength, size: Bytes) {
        match self.buffer.usage(queue) {
            Some(usage) => self.pool.release(at, usage, size),
            None => self.buffer.release(at, queue, length, size),
        }
    }

    #[inline]
    fn decide(&mut self, queue: usize, input: &AqmInput) -> Decision {
        if !self.pool.marks() {
            return Decision::Pass;
        }
        match self.buffer.usage(queue) {
            Some(usage) => self.pool.decide(usage, input),
            None => Decision::Pass,
        }
    }
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
