//! A memory pool that queues of several ports share by Dynamic Thresholds (Choudhury and Hahne, 1998): an arriving
//! packet is admitted while its queue holds less of the pool than alpha times the free bytes. State: the bytes in use,
//! their record over time ([`crate::pool_occupancy`]), and when each port serves next, so that the pool knows all
//! departures up to an arrival before it decides about the arrival. Units: bytes.
//!
//! A queue may have a fixed limit in place of the threshold, which depends on nothing else in the pool.
//!
//! The threshold applies to arrivals only: a queue above it keeps its packets. The first bytes of each queue are
//! private: they count neither as used nor against the threshold. A packet occupies whole cells, if the memory has
//! cells. A pool may mark or drop by the bytes in use ([`crate::red`]).

use crate::limit::fits;
use crate::mark::{AqmInput, Decision, MarkAt};
use crate::red::{Red, RedConfig};
use crate::tournament::TournamentTree;
use crate::{occupancy::Occupancy, pool_occupancy::PoolOccupancy};
use shallop_core::{Bytes, DropCause, Time};

/// A port's membership in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolMember {
    /// Index of the pool among the pools of the network.
    pub pool: u32,
    /// Index of the port among the ports of the pool.
    pub index: u32,
}

/// Memory that one queue may use in a pool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoolQuota {
    /// Ratio alpha of the Dynamic Threshold to the free bytes of the pool.
    pub alpha: f64,
    /// Fixed limit of the queue's bytes in the pool, inclusive; it replaces the Dynamic Threshold.
    pub limit: Option<Bytes>,
    /// Bytes reserved for the queue, outside the shared part of the pool.
    pub private: Bytes,
}

/// Memory that one queue may use and does use in a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolUsage {
    quota: PoolQuota,
    /// Private and shared bytes in use by the queue, in whole cells.
    used: Bytes,
}

impl PoolUsage {
    pub(crate) fn new(quota: PoolQuota) -> Self {
        Self { quota, used: Bytes::ZERO }
    }

    /// Of `used` bytes, the part above the private bytes, which lies in the pool.
    fn shared(&self, used: Bytes) -> Bytes {
        used.saturating_sub(self.quota.private)
    }
}

#[derive(Clone, Debug)]
pub struct PoolConfig {
    pub size: Bytes,
    /// Size of a memory cell in bytes; 1 for memory without cells.
    pub cell: Bytes,
    /// Marks and drops of packets by the bytes in use in the whole pool.
    pub red: Option<RedConfig>,
}

/// A memory pool that several ports share.
#[derive(Clone, Debug)]
pub struct Pool {
    size: Bytes,
    cell: u64,
    held: Bytes,
    occupancy: PoolOccupancy,
    red: Option<Box<Red>>,
    /// Time of the next service of each port; the leaf is the port's index in the pool.
    pub next_service: TournamentTree,
}

impl Pool {
    /// An empty pool that `ports` ports share.
    pub fn new(config: &PoolConfig, ports: usize) -> Self {
        Self {
            size: config.size,
            cell: config.cell.get().max(1),
            held: Bytes::ZERO,
            occupancy: PoolOccupancy::default(),
            red: config.red.as_ref().map(|red| Box::new(Red::new(red))),
            next_service: TournamentTree::new(ports),
        }
    }

    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Bytes in use in the shared part of the pool.
    pub fn held(&self) -> Bytes {
        self.held
    }

    /// Record of the bytes in use over time, up to the last admission or [`Pool::advance_to`].
    pub fn occupancy(&self) -> &Occupancy {
        self.occupancy.occupancy()
    }

    /// Extends the record of the bytes in use to `now`. All departures by `now` must have been reported.
    pub fn advance_to(&mut self, now: Time) {
        self.occupancy.advance_to(now);
    }

    /// Whether the pool marks packets. If it does, departures must be reported even before a packet that needs no
    /// memory.
    #[inline]
    pub fn marks(&self) -> bool {
        self.red.is_some()
    }

    /// Whether the pool marks packets at dequeue. If it does, its ports must be served in order of time.
    #[inline]
    pub fn marks_departures(&self) -> bool {
        self.red.as_ref().is_some_and(|red| red.at() == MarkAt::Dequeue)
    }

    /// Index of the port that must be served next, if any serves a packet by `now`, and the time up to which it must be
    /// served.
    pub fn next_to_serve(&self, now: Time) -> Option<(usize, Time)> {
        let until = if self.marks_departures() { self.next_service.earliest().min(now) } else { now };
        self.next_service.earliest_due(now).map(|index| (index, until))
    }

    fn cells(&self, size: Bytes) -> Bytes {
        if self.cell == 1 { size } else { Bytes::new(size.get().div_ceil(self.cell) * self.cell) }
    }

    /// Bytes in use in the pool after a queue has stored a packet of this size.
    fn held_with(&self, usage: &PoolUsage, size: Bytes) -> Bytes {
        let used = usage.used + self.cells(size);
        self.held + (usage.shared(used) - usage.shared(usage.used))
    }

    pub(crate) fn store(&mut self, now: Time, usage: &mut PoolUsage, size: Bytes) -> Result<(), DropCause> {
        let after = self.held_with(usage, size);
        let free = self.size.saturating_sub(self.held).get() as f64;
        let threshold = Bytes::new((usage.quota.alpha * free) as u64);
        let shared = usage.shared(usage.used);
        if after > self.held {
            fits(after <= self.size, DropCause::BufferFull)?;
            match usage.quota.limit {
                Some(limit) => fits(shared + (after - self.held) <= limit, DropCause::QueueFull)?,
                None => fits(shared < threshold, DropCause::DynamicThreshold)?,
            }
        }
        usage.used += self.cells(size);
        self.occupancy.admit(now, after - self.held);
        self.held = after;
        Ok(())
    }

    pub(crate) fn release(&mut self, at: Time, usage: &mut PoolUsage, size: Bytes) {
        let used = usage.used - self.cells(size);
        let released = usage.shared(usage.used) - usage.shared(used);
        self.occupancy.depart(at, released);
        self.held -= released;
        usage.used = used;
    }

    pub(crate) fn decide(&mut self, usage: &PoolUsage, input: &AqmInput) -> Decision {
        let length = self.held_with(usage, input.size);
        let Some(red) = &mut self.red else { return Decision::Pass };
        red.decide(input.now, input.at, input.ecn, length)
    }
}
