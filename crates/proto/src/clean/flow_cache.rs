//! The flow cache of a proxy, with a bounded number of flows. A flow expires when none of its packets has passed for
//! some time, since the simulated TCP has no FIN. Each insertion checks two other entries in turn and removes those
//! that have expired, so that a packet costs one look-up.

use super::{Config, flow::Flow};
use shallop_core::{Span, Time};
use std::{collections::BTreeMap, ops::Bound};

/// The number of entries that each insertion checks for expiry.
const CHECKED_PER_INSERT: usize = 2;

#[derive(Clone, Debug)]
pub struct FlowCache {
    capacity: usize,
    idle_timeout: Span,
    flows: BTreeMap<u32, Flow>,
    /// Index of the entry that was last checked for expiry.
    cursor: u32,
}

impl FlowCache {
    /// Makes an empty cache for `capacity` flows, which expire after `idle_timeout` without packets.
    pub const fn new(capacity: u32, idle_timeout: Span) -> Self {
        Self { capacity: capacity as usize, idle_timeout, flows: BTreeMap::new(), cursor: 0 }
    }

    pub fn len(&self) -> usize {
        self.flows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    pub fn get(&self, flow: u32) -> Option<&Flow> {
        self.flows.get(&flow)
    }

    /// Finds a flow. Inserts it if it is new, and restarts it if it has expired; then `next` is its next sequence
    /// number. `None` if the cache is full.
    pub fn find(&mut self, config: &Config, now: Time, flow: u32, next: u32) -> Option<&mut Flow> {
        let idle_timeout = self.idle_timeout;
        if !self.flows.contains_key(&flow) {
            self.remove_expired(now);
            if self.flows.len() >= self.capacity {
                return None;
            }
        }
        let entry = self.flows.entry(flow).or_insert_with(|| Flow::new(config, now, next));
        if now.saturating_since(entry.last_packet) > idle_timeout {
            entry.restart(config, now, next);
        }
        Some(entry)
    }

    /// Checks the next few entries and removes those that have expired.
    fn remove_expired(&mut self, now: Time) {
        for _ in 0..CHECKED_PER_INSERT {
            let after = (Bound::Excluded(self.cursor), Bound::Unbounded);
            let next = self.flows.range(after).next().or_else(|| self.flows.iter().next());
            let Some((&flow, entry)) = next else { return };
            self.cursor = flow;
            if now.saturating_since(entry.last_packet) > self.idle_timeout {
                self.flows.remove(&flow);
            }
        }
    }
}
