//! What is known of each flow while it lasts, and of the latest flows after that.
//!
//! State: a record for each of the latest flows, in the order they started. Those that are over are forgotten once so
//! many have started since that nobody compares them any more, so memory does not grow with the flows that have been.

use std::collections::VecDeque;

use shallop_core::{Facts, Span, Time};

/// So many of the latest flows are always remembered: shares are compared among as many.
pub const REMEMBERED: usize = 10_000;

/// A flow.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// What was known as it started.
    pub facts: Facts,
    /// When its data was there: as it started, unless that was ahead of its data.
    pub start: Time,
    /// Bytes of data packets that arrived at its receiver, at IP.
    pub ip_bytes: u64,
    /// When the receiver had everything.
    pub complete: Option<Time>,
    /// Nothing can happen to it any more, and it has been told of.
    pub over: bool,
}

impl Record {
    /// From its start to the arrival of its last byte, if that has come.
    #[must_use]
    pub fn completion_time(&self) -> Option<Span> {
        self.complete.map(|at| at.saturating_since(self.start))
    }
}

/// The records.
#[derive(Clone, Debug, Default)]
pub struct Records {
    /// Flows that have been forgotten.
    forgotten: u32,
    latest: VecDeque<Record>,
}

impl Records {
    /// The next flow starts.
    pub fn start(&mut self, start: Time, facts: &Facts) {
        let start = start.saturating_add(facts.ahead);
        let (ip_bytes, complete, over) = (0, None, false);
        self.latest.push_back(Record { facts: *facts, start, ip_bytes, complete, over });
        while self.latest.len() > REMEMBERED && self.latest.front().is_some_and(|flow| flow.over) {
            self.latest.pop_front();
            self.forgotten += 1;
        }
    }

    /// A flow that is not over.
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut Record> {
        self.latest.get_mut(flow.checked_sub(self.forgotten)? as usize)
    }

    /// A flow, if it is remembered.
    #[must_use]
    pub fn get(&self, flow: u32) -> Option<&Record> {
        self.latest.get(flow.checked_sub(self.forgotten)? as usize)
    }

    /// How many flows have started.
    #[must_use]
    pub fn started(&self) -> u32 {
        self.forgotten + self.latest.len() as u32
    }

    /// All flows in the order they started, if every one is remembered.
    #[must_use]
    pub fn all(&self) -> Option<&VecDeque<Record>> {
        (self.forgotten == 0 && self.latest.len() <= REMEMBERED).then_some(&self.latest)
    }
}
