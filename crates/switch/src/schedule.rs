//! Which queue of a port is served next: strict priority between priorities, start-time fair queueing by weight
//! (Goyal, Vin, Cheng 1996) among queues of one priority. Choosing changes nothing, so a port may look ahead.

use shallop_core::{Bytes, Time};

use crate::queue::{Queue, QueueConfig};

/// Virtual time of a byte at weight one.
const SCALE: u64 = 1 << 16;

/// The order of service of a port's queues.
#[derive(Clone, Debug)]
pub struct Schedule {
    lines: Vec<Line>,
    /// Whether any priority has more than one queue: otherwise virtual time is not kept.
    weighted: bool,
}

#[derive(Clone, Copy, Debug)]
struct Line {
    priority: u8,
    weight: u64,
    /// Virtual start of the first packet.
    tag: u64,
    /// Virtual start of the packet of this priority served last.
    reached: u64,
}

impl Schedule {
    /// A schedule for queues in this order.
    #[must_use]
    pub fn new(queues: &[QueueConfig]) -> Self {
        let lines = queues
            .iter()
            .map(|q| Line {
                priority: q.priority,
                weight: u64::from(q.weight.max(1)),
                tag: 0,
                reached: 0,
            })
            .collect();
        let same = |a: &QueueConfig, b: &QueueConfig| a.priority == b.priority;
        let weighted =
            queues.iter().enumerate().any(|(i, a)| queues[i + 1..].iter().any(|b| same(a, b)));
        Self { lines, weighted }
    }

    /// The queue to serve if the link is free from `free` on and nothing else arrives, and when it is served. `busy`
    /// has a bit for each queue that holds anything.
    #[must_use]
    pub fn next<C: Copy>(
        &self,
        queues: &mut [Queue<C>],
        busy: u32,
        free: Time,
    ) -> Option<(usize, Time)> {
        let mut best: Option<(Time, u8, u64, usize)> = None;
        let mut rest = busy;
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (line, start) = (&self.lines[index], queues[index].ready().max(free));
            let bid = (start, line.priority, line.tag, index);
            if best.is_none_or(|best| bid < best) {
                best = Some(bid);
            }
        }
        best.map(|(start, _, _, index)| (index, start))
    }

    /// Whether queues of one priority share by weight: otherwise nothing has to be told of what is served.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// A packet joined this queue, which was empty.
    pub fn joined(&mut self, index: usize) {
        if self.weighted {
            let line = &mut self.lines[index];
            line.tag = line.tag.max(line.reached);
        }
    }

    /// A packet of this size was served from this queue.
    pub fn served(&mut self, index: usize, size: Bytes) {
        if !self.weighted {
            return;
        }
        let Line { priority, weight, tag, .. } = self.lines[index];
        for line in self.lines.iter_mut().filter(|line| line.priority == priority) {
            line.reached = tag;
        }
        self.lines[index].tag = tag + size.get() * SCALE / weight;
    }
}
