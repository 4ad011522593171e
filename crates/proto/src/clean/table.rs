//! The flows that a proxy knows: so many and no more. A flow ends here when nothing of it has passed for a while; heads
//! of this TCP say no end. Whenever a flow joins, two others are looked at in turn, and forgotten if they are over: the
//! cost of a packet is that of a look-up.

use std::collections::BTreeMap;
use std::ops::Bound;

use shallop_core::{Span, Time};

use super::Config;
use super::flow::Flow;

/// Flows looked at for each that joins.
const LOOKED_AT: usize = 2;

/// A table of flows.
#[derive(Clone, Debug)]
pub struct Table {
    most: usize,
    idle: Span,
    flows: BTreeMap<u32, Flow>,
    /// The flow that was looked at last.
    cursor: u32,
}

impl Table {
    /// An empty table for so many flows, which are over when nothing of them has passed for so long.
    #[must_use]
    pub const fn new(most: u32, idle: Span) -> Self {
        Self { most: most as usize, idle, flows: BTreeMap::new(), cursor: 0 }
    }

    /// How many flows it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// True if it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// A flow it holds, by its number.
    #[must_use]
    pub fn get(&self, flow: u32) -> Option<&Flow> {
        self.flows.get(&flow)
    }

    /// The flow of this number, a new one if it is not known or was over; its next byte has the number `next` then.
    /// `None` if there is no room for it.
    pub fn find(&mut self, config: &Config, now: Time, flow: u32, next: u32) -> Option<&mut Flow> {
        let idle = self.idle;
        if !self.flows.contains_key(&flow) {
            self.sweep(now);
            if self.flows.len() >= self.most {
                return None;
            }
        }
        let known = self.flows.entry(flow).or_insert_with(|| Flow::new(config, now, next));
        if now.saturating_since(known.seen) > idle {
            known.restart(config, now, next);
        }
        Some(known)
    }

    /// Looks at the next few flows, and forgets those that are over.
    fn sweep(&mut self, now: Time) {
        for _ in 0..LOOKED_AT {
            let after = (Bound::Excluded(self.cursor), Bound::Unbounded);
            let next = self.flows.range(after).next().or_else(|| self.flows.iter().next());
            let Some((&flow, known)) = next else { return };
            self.cursor = flow;
            if now.saturating_since(known.seen) > self.idle {
                self.flows.remove(&flow);
            }
        }
    }
}
