//! Memory that several ports share. A queue may take from the pool while it holds less of it than its threshold, alpha
//! times what is free, in whole bytes (Dynamic Thresholds; Choudhury and Hahne, 1998). State: what is taken, and when
//! each port serves next, so that all that has left by some time can be given back before something new is admitted;
//! and how full it was ([`crate::level`]). Units: bytes.
//!
//! The rule is asked of arrivals alone: a threshold that sinks below what a queue holds takes nothing from it. The
//! first bytes of a queue, as many as are private, do not count: they are in room of its own. What a packet takes is
//! rounded up to whole cells, where the memory has cells. A pool may mark or drop by how full it is ([`crate::red`]).

use shallop_core::{Bytes, Time};

use crate::level::Level;
use crate::limit::Holding;
use crate::mark::MarkAt;
use crate::occupancy::Occupancy;
use crate::order::Order;
use crate::red::{Red, RedConfig, Verdict};
use crate::room::{Look, Memory, Room};

/// A port's part in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Which pool.
    pub pool: u32,
    /// The port's place among those that share it, from 0 on.
    pub place: u32,
}

/// What a queue may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// Its threshold is this times what is free.
    pub alpha: f64,
    /// What it may hold outside the pool.
    pub private: Bytes,
}

/// What a queue may have, and has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    claim: Claim,
    /// Private and from the pool, in whole cells.
    taken: Bytes,
}

impl Part {
    pub(crate) fn of(claim: Claim) -> Self {
        Self { claim, taken: Bytes::ZERO }
    }

    /// How much of so many bytes lies in the pool.
    fn shared(&self, taken: Bytes) -> Bytes {
        taken.saturating_sub(self.claim.private)
    }
}

/// What a pool is made from.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// All of it.
    pub size: Bytes,
    /// Packets take whole cells of this size, 1 if bytes.
    pub cell: Bytes,
    /// Whether it marks by how full it is.
    pub red: Option<RedConfig>,
}

/// Memory that several ports share.
#[derive(Clone, Debug)]
pub struct Pool {
    size: Bytes,
    cell: u64,
    held: Bytes,
    level: Level,
    red: Option<Box<Red>>,
    /// When each port serves next.
    pub order: Order,
}

impl Pool {
    /// An empty pool for so many ports.
    #[must_use]
    pub fn new(config: &PoolConfig, ports: usize) -> Self {
        Self {
            size: config.size,
            cell: config.cell.get().max(1),
            held: Bytes::ZERO,
            level: Level::default(),
            red: config.red.as_ref().map(|red| Box::new(Red::new(red))),
            order: Order::of(ports),
        }
    }

    /// All of it.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// What is taken.
    #[must_use]
    pub fn held(&self) -> Bytes {
        self.held
    }

    /// How much was taken over time, up to the last packet that was stored or [`Pool::pass`].
    #[must_use]
    pub fn occupancy(&self) -> &Occupancy {
        self.level.occupancy()
    }

    /// Brings that history up to `now`. Everything that has left by then must have been given back.
    pub fn pass(&mut self, now: Time) {
        self.level.pass(now);
    }

    /// Whether packets are looked at that need no room: what has left must have been given back before.
    #[inline]
    #[must_use]
    pub fn marks(&self) -> bool {
        self.red.is_some()
    }

    /// Whether packets are looked at as they leave: ports must be served in order of time.
    #[inline]
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        self.red.as_ref().is_some_and(|red| red.at() == MarkAt::Dequeue)
    }

    /// The port to serve next if it may serve by `now`, and up to when.
    #[must_use]
    pub fn due(&self, now: Time) -> Option<(usize, Time)> {
        let until = if self.is_ordered() { self.order.first().min(now) } else { now };
        self.order.first_by(now).map(|place| (place, until))
    }

    fn cells(&self, size: Bytes) -> Bytes {
        if self.cell == 1 { size } else { Bytes::new(size.get().div_ceil(self.cell) * self.cell) }
    }

    /// What would be taken of the pool if this queue stored this much more.
    fn after(&self, part: &Part, size: Bytes) -> Bytes {
        let taken = part.taken + self.cells(size);
        self.held + (part.shared(taken) - part.shared(part.taken))
    }

    fn store(&mut self, now: Time, part: &mut Part, size: Bytes) -> bool {
        let after = self.after(part, size);
        let free = self.size.saturating_sub(self.held).get() as f64;
        let threshold = Bytes::new((part.claim.alpha * free) as u64);
        let below = part.shared(part.taken) < threshold;
        let fits = after == self.held || (after <= self.size && below);
        if fits {
            part.taken += self.cells(size);
            self.level.take(now, after - self.held);
            self.held = after;
        }
        fits
    }

    fn release(&mut self, at: Time, part: &mut Part, size: Bytes) {
        let left = part.taken - self.cells(size);
        let given = part.shared(part.taken) - part.shared(left);
        self.level.give(at, given);
        self.held -= given;
        part.taken = left;
    }

    fn judge(&mut self, part: &Part, look: &Look) -> Verdict {
        let length = self.after(part, look.size);
        let Some(red) = &mut self.red else { return Verdict::Keep };
        red.judge(look.now, look.at, look.ecn, length)
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
    fn store(&mut self, now: Time, queue: usize, held: Holding, size: Bytes) -> bool {
        match self.room.part(queue) {
            Some(part) => self.pool.store(now, part, size),
            None => self.room.store(now, queue, held, size),
        }
    }

    fn release(&mut self, at: Time, queue: usize, held: Holding, size: Bytes) {
        match self.room.part(queue) {
            Some(part) => self.pool.release(at, part, size),
            None => self.room.release(at, queue, held, size),
        }
    }

    #[inline]
    fn judge(&mut self, queue: usize, look: &Look) -> Verdict {
        if !self.pool.marks() {
            return Verdict::Keep;
        }
        match self.room.part(queue) {
            Some(part) => self.pool.judge(part, look),
            None => Verdict::Keep,
        }
    }
}
