//! What is known of each flow while it lasts, and of the latest flows after that.
//!
//! State: a record for each of the latest flows, in the order they started, and for each earlier one that is not over.
//! So memory does not grow with the flows that have been, however long one of them lasts.

use std::collections::{BTreeMap, VecDeque};

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
    /// Flows that are not among the latest.
    earlier: u32,
    latest: VecDeque<Record>,
    /// Those of the earlier ones that are not over.
    lasting: BTreeMap<u32, Record>,
}

impl Records {
    /// The next flow starts.
    pub fn start(&mut self, start: Time, facts: &Facts) {
        let start = start.saturating_add(facts.ahead);
        let (ip_bytes, complete, over) = (0, None, false);
        self.latest.push_back(Record { facts: *facts, start, ip_bytes, complete, over });
        if self.latest.len() > REMEMBERED
            && let Some(flow) = self.latest.pop_front()
        {
            if !flow.over {
                self.lasting.insert(self.earlier, flow);
            }
            self.earlier += 1;
        }
    }

    /// A flow that is not over.
    #[inline]
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut Record> {
        match flow.checked_sub(self.earlier) {
            Some(place) => self.latest.get_mut(place as usize),
            None => self.lasting.get_mut(&flow),
        }
    }

    /// A flow, if it is remembered.
    #[must_use]
    pub fn get(&self, flow: u32) -> Option<&Record> {
        match flow.checked_sub(self.earlier) {
            Some(place) => self.latest.get(place as usize),
            None => self.lasting.get(&flow),
        }
    }

    /// A flow is over: what was known of it.
    pub fn close(&mut self, flow: u32) -> Option<Record> {
        if flow < self.earlier {
            return self.lasting.remove(&flow);
        }
        let record = self.get_mut(flow)?;
        record.over = true;
        Some(*record)
    }

    /// How many flows have started.
    #[must_use]
    pub fn started(&self) -> u32 {
        self.earlier + self.latest.len() as u32
    }

    /// All flows in the order they started, if every one is remembered.
    #[must_use]
    pub fn all(&self) -> Option<&VecDeque<Record>> {
        (self.earlier == 0).then_some(&self.latest)
    }
}

#[cfg(test)]
mod tests {
    use shallop_core::Node;

    use super::*;

    #[test]
    fn a_flow_that_lasts_is_remembered_alone() {
        let (mut records, facts) = (Records::default(), Facts::between(Node(0), Node(1)));
        for flow in 0..50_000u32 {
            records.start(Time::ZERO, &facts);
            if flow != 7 {
                assert!(records.close(flow).is_some_and(|record| record.over));
            }
        }
        assert_eq!((records.started(), records.latest.len()), (50_000, REMEMBERED));
        assert_eq!(records.lasting.len(), 1);
        records.get_mut(7).unwrap().ip_bytes = 3;
        assert!(records.get(8).is_none() && records.all().is_none());
        assert_eq!(records.close(7).map(|record| record.ip_bytes), Some(3));
        assert!(records.get(7).is_none() && records.get(49_999).is_some());
    }
}
