//! The scheduler of a port: strict priority, and start-time fair queueing by weight among queues of one priority
//! (Goyal, Vin and Cheng, 1996). Choosing a queue does not change the state, so a port may look ahead.

use crate::queue::{Queue, QueueConfig};
use shallop_core::{Bytes, Time};

/// Increase of the virtual time for each byte that a queue of weight 1 sends.
const BYTE: u64 = 1 << 16;

#[derive(Clone, Debug)]
pub struct Schedule {
    /// Share of each queue; the index is the queue's.
    queues: Vec<QueueShare>,
    /// Whether any priority has more than one queue. If none has, virtual times are not needed.
    pub weighted: bool,
}

/// Share of one queue in its link: priority, weight and virtual times.
#[derive(Clone, Copy, Debug)]
struct QueueShare {
    priority: u8,
    weight: u64,
    /// Virtual start time of the packet at the head of the queue.
    start_tag: u64,
    /// Virtual time of the queue's priority: start tag of the packet of this priority that was served last.
    virtual_time: u64,
}

impl Schedule {
    pub fn new(queues: &[QueueConfig]) -> Self {
        let share = |queue: &QueueConfig| QueueShare {
            priority: queue.priority,
            weight: u64::from(queue.weight.max(1)),
            start_tag: 0,
            virtual_time: 0,
        };
        let same = |a: &QueueConfig, b: &QueueConfig| a.priority == b.priority;
        let weighted = queues.iter().enumerate().any(|(i, a)| queues[i + 1..].iter().any(|b| same(a, b)));
        Self { queues: queues.iter().map(share).collect(), weighted }
    }

    /// Index of the queue to serve next, if no packet arrives before, and the time of the service. The link is free
    /// from `free` on; `backlogged` is the bitmask of queues that have packets.
    pub fn next<C: Copy>(&self, queues: &mut [Queue<C>], backlogged: u32, free: Time) -> Option<(usize, Time)> {
        let mut best: Option<(Time, u8, u64, usize)> = None;
        let mut remaining = backlogged;
        while remaining != 0 {
            let index = remaining.trailing_zeros() as usize;
            remaining &= remaining - 1;
            let (share, start) = (&self.queues[index], queues[index].ready().max(free));
            let candidate = (start, share.priority, share.start_tag, index);
            if best.is_none_or(|best| candidate < best) {
                best = Some(candidate);
            }
        }
        best.map(|(start, _, _, index)| (index, start))
    }

    /// Sets the start tag of a queue that was empty and has received a packet.
    pub fn on_backlogged(&mut self, index: usize) {
        if self.weighted {
            let share = &mut self.queues[index];
            share.start_tag = share.start_tag.max(share.virtual_time);
        }
    }

    /// Advances the virtual times after a queue has sent `size` bytes.
    pub fn on_served(&mut self, index: usize, size: Bytes) {
        if !self.weighted {
            return;
        }
        let QueueShare { priority, weight, start_tag, .. } = self.queues[index];
        for share in self.queues.iter_mut().filter(|share| share.priority == priority) {
            share.virtual_time = start_tag;
        }
        self.queues[index].start_tag = start_tag + size.get() * BYTE / weight;
    }
}
