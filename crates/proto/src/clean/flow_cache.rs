//! The flow cache of a proxy, of bounded size. A flow expires when no packet of it has passed for some time; headers of
//! this TCP have no FIN. Each insertion checks two other entries in turn and removes those that have expired, so that a
//! packet costs one look-up.

use std::collections::BTreeMap;
use std::ops::Bound;

use shallop_core::{Span, Time};

use super::Config;
use super::flow::Flow;

/// Entries checked for expiry at each insertion.
const CHECKED_PER_INSERT: usize = 2;

/// The flows that a proxy tracks.
#[derive(Clone, Debug)]
pub struct FlowCache {
    capacity: usize,
    idle_timeout: Span,
    flows: BTreeMap<u32, Flow>,
    /// The entry that was checked last.
    cursor: u32,
}

impl FlowCache {
    /// An empty cache of this capacity, whose flows expire after this idle time.
    pub const fn new(capacity: u32, idle_timeout: Span) -> Self {
        Self { capacity: capacity as usize, idle_timeout, flows: BTreeMap::new(), cursor: 0 }
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// True if there are no flows.
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// The flow with this number, if the cache has it.
    pub fn get(&self, flow: u32) -> Option<&Flow> {
        self.flows.get(&flow)
    }

    /// The flow with this number. It is inserted if the cache does not have it, and restarted if it has expired; its
    /// next sequence number is `next` then. `None` if the cache is full.
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

    /// Checks the next few entries, and removes those that have expired.
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
