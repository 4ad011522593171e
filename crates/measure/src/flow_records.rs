//! Counts of each flow in progress, and of the flows that started most recently.
//!
//! State: a record for each of the recent flows, in order of start, and for each earlier flow in progress. While an
//! earlier flow lasts, each flow that starts after it takes eight bytes.

use shallop_core::{Facts, Span, Time};
use std::collections::VecDeque;

/// Number of most recently started flows that keep their records after they end. Fairness is computed for up to this
/// many flows.
pub const RECENT_FLOWS: usize = 10_000;

/// Counts of one flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowRecord {
    /// Properties of the flow that are known at its start.
    pub facts: Facts,
    /// Time at which the flow's data was available: its start, unless it requested credits ahead of its data.
    pub start: Time,
    /// IP bytes of data packets that arrived at the receiver.
    pub ip_bytes: u64,
    /// Time at which the receiver had all data.
    pub complete: Option<Time>,
    /// Whether the flow has retired: the simulator has freed its endpoints.
    pub closed: bool,
}

impl FlowRecord {
    /// Time from the availability of data to the arrival of the last byte; `None` if the flow is not complete.
    pub fn completion_time(&self) -> Option<Span> {
        self.complete.map(|at| at.saturating_since(self.start))
    }

    /// The record of a flow from the counts of two parts of the network.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self { ip_bytes: self.ip_bytes + other.ip_bytes, complete: self.complete.or(other.complete), ..*self }
    }
}

/// Records of recent flows and of all flows in progress.
#[derive(Clone, Debug, Default)]
pub struct FlowRecords {
    /// Number of flows that started before the recent ones.
    earlier: u32,
    recent: VecDeque<FlowRecord>,
    /// Records of flows before the recent ones, from the first one in progress on; `None` for flows that have ended.
    in_progress: VecDeque<Option<Box<FlowRecord>>>,
}

impl FlowRecords {
    /// Adds a record for the next flow.
    pub fn start(&mut self, start: Time, facts: &Facts) {
        let start = start.saturating_add(facts.ahead);
        let (ip_bytes, complete, closed) = (0, None, false);
        self.recent.push_back(FlowRecord { facts: *facts, start, ip_bytes, complete, closed });
        if self.recent.len() > RECENT_FLOWS
            && let Some(flow) = self.recent.pop_front()
        {
            self.in_progress.push_back((!flow.closed).then(|| Box::new(flow)));
            self.earlier += 1;
            self.drop_ended();
        }
    }

    /// Record of a flow that is in progress.
    #[inline]
    pub fn get_mut(&mut self, flow: u32) -> Option<&mut FlowRecord> {
        if let Some(index) = flow.checked_sub(self.earlier) {
            return self.recent.get_mut(index as usize);
        }
        let index = self.earlier_index(flow)?;
        self.in_progress.get_mut(index)?.as_deref_mut()
    }

    /// Record of a flow; `None` if the flow has ended and is not one of the recent ones.
    pub fn get(&self, flow: u32) -> Option<&FlowRecord> {
        match flow.checked_sub(self.earlier) {
            Some(index) => self.recent.get(index as usize),
            None => self.in_progress.get(self.earlier_index(flow)?)?.as_deref(),
        }
    }

    /// Marks a flow as retired and returns its record.
    pub fn close(&mut self, flow: u32) -> Option<FlowRecord> {
        if flow < self.earlier {
            let index = self.earlier_index(flow)?;
            let record = self.in_progress.get_mut(index)?.take();
            self.drop_ended();
            return record.map(|record| *record);
        }
        let record = self.get_mut(flow)?;
        record.closed = true;
        Some(*record)
    }

    /// Adds the counts of another part of the network, with the same flows.
    pub fn add(&mut self, other: &Self) {
        for (record, other) in self.recent.iter_mut().zip(&other.recent) {
            *record = record.plus(other);
        }
        for (record, other) in self.in_progress.iter_mut().zip(&other.in_progress) {
            if let (Some(record), Some(other)) = (record, other) {
                **record = record.plus(other);
            }
        }
    }

    /// Index in `in_progress` of a flow before the recent ones; `None` if all flows up to it have ended.
    fn earlier_index(&self, flow: u32) -> Option<usize> {
        let first = self.earlier as usize - self.in_progress.len();
        (flow as usize).checked_sub(first)
    }

    /// Drops the leading entries of flows that have ended.
    fn drop_ended(&mut self) {
        while let Some(None) = self.in_progress.front() {
            self.in_progress.pop_front();
        }
    }

    /// Number of flows that have started.
    pub fn started(&self) -> u32 {
        self.earlier + self.recent.len() as u32
    }

    /// Records of all flows in order of start; `None` if a flow has no record.
    pub fn all(&self) -> Option<&VecDeque<FlowRecord>> {
        (self.earlier == 0).then_some(&self.recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Node;

    #[test]
    fn of_the_earlier_flows_only_those_in_progress_have_records() {
        let (mut records, facts) = (FlowRecords::default(), Facts::between(Node(0), Node(1)));
        for flow in 0..50_000u32 {
            records.start(Time::ZERO, &facts);
            if flow != 7 {
                assert!(records.close(flow).is_some_and(|record| record.closed));
            }
        }
        assert_eq!((records.started(), records.recent.len()), (50_000, RECENT_FLOWS));
        assert_eq!(records.in_progress.iter().flatten().count(), 1);
        records.get_mut(7).unwrap().ip_bytes = 3;
        assert!(records.get(8).is_none() && records.all().is_none());
        assert_eq!(records.close(7).map(|record| record.ip_bytes), Some(3));
        assert!(records.get(7).is_none() && records.get(49_999).is_some());
    }
}
