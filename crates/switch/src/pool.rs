//! Memory that several ports share. A queue may take from the pool while it holds less of it than its threshold, alpha
//! times what is free (Dynamic Thresholds; Choudhury and Hahne, 1998). State: what is taken, and when each port serves
//! next, so that all that has left by some time can be given back before something new is admitted. Units: bytes.
//!
//! The rule is asked of arrivals alone: a threshold that sinks below what a queue holds takes nothing from it. The
//! first bytes of a queue, as many as are private, do not count: they are in room of its own.

use shallop_core::Bytes;

use crate::limit::Holding;
use crate::order::Order;
use crate::room::{Memory, Room};

/// A port's part in a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// Which pool.
    pub pool: u32,
    /// The port's place among those that share it, from 0 on.
    pub place: u32,
    /// A queue's threshold is this times what is free.
    pub alpha: f64,
    /// What each queue may hold outside the pool.
    pub private: Bytes,
}

impl Member {
    /// How much of what a queue holds lies in the pool.
    fn shared(&self, held: Bytes) -> Bytes {
        held.saturating_sub(self.private)
    }
}

/// Memory that several ports share.
#[derive(Clone, Debug)]
pub struct Pool {
    size: Bytes,
    held: Bytes,
    most: Bytes,
    /// When each port serves next.
    pub order: Order,
}

impl Pool {
    /// An empty pool for so many ports.
    #[must_use]
    pub fn new(size: Bytes, ports: usize) -> Self {
        Self { size, held: Bytes::ZERO, most: Bytes::ZERO, order: Order::of(ports) }
    }

    /// What is taken.
    #[must_use]
    pub fn held(&self) -> Bytes {
        self.held
    }

    /// The most that ever was.
    #[must_use]
    pub fn most(&self) -> Bytes {
        self.most
    }

    /// What a queue of this port may hold of the pool, if it is to be given more.
    #[must_use]
    pub fn threshold(&self, member: &Member) -> Bytes {
        let free = self.size.saturating_sub(self.held);
        Bytes::new((member.alpha * free.get() as f64) as u64)
    }

    fn store(&mut self, member: &Member, held: Bytes, size: Bytes) -> bool {
        let (before, after) = (member.shared(held), member.shared(held + size));
        let taken = self.held + (after - before);
        let fits = taken == self.held || (taken <= self.size && before < self.threshold(member));
        if fits {
            self.held = taken;
            self.most = self.most.max(taken);
        }
        fits
    }

    fn release(&mut self, member: &Member, held: Bytes, size: Bytes) {
        self.held -= member.shared(held) - member.shared(held - size);
    }
}

/// A port's room with the pool it draws on.
#[derive(Debug)]
pub struct Pooled<'a> {
    /// The room.
    pub room: &'a mut Room,
    /// The pool.
    pub pool: &'a mut Pool,
}

impl Memory for Pooled<'_> {
    fn store(&mut self, queue: usize, held: Holding, size: Bytes) -> bool {
        match self.room.member() {
            Some(member) if self.room.own(queue).is_none() => {
                self.pool.store(&member, held.bytes, size)
            }
            _ => self.room.store(queue, held, size),
        }
    }

    fn release(&mut self, queue: usize, held: Holding, size: Bytes) {
        match self.room.member() {
            Some(member) if self.room.own(queue).is_none() => {
                self.pool.release(&member, held.bytes, size);
            }
            _ => self.room.release(queue, held, size),
        }
    }
}
