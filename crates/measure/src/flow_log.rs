//! The flow log: a row for each flow, written when the flow retires or the run ends. State: the sums of endpoint
//! counters by group, the completion times, and the rows that are not passed on yet. Rows are passed on in chunks, each
//! sorted by the start of its flows, so that a run with a million flows stores few of them.

use crate::completion::CompletionTimes;
use crate::flow_records::{FlowRecord, RECENT_FLOWS};
use crate::fractions::rate;
use shallop_core::{Node, Span, Time};
use shallop_plan::ResolvedRun;
use shallop_proto::EndpointCounters;
use shallop_results::summary::Fct;

/// Results of one flow, complete or not.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Number of the flow, in order of start.
    pub flow: u32,
    pub group: String,
    /// Name of the sender's host.
    pub from: String,
    /// Name of the receiver's host.
    pub to: String,
    /// Start time since the start of the run, in seconds.
    pub start_s: f64,
    /// Payload bytes of the flow; `None` if it never ends.
    pub size_bytes: Option<u64>,
    /// Flow completion time from the start to the arrival of the last byte, in seconds; `None` if the flow did not
    /// complete.
    pub fct_s: Option<f64>,
    /// `fct_s` divided by the completion time in an empty network (docs/model.md, "slowdown"); `None` if the flow did
    /// not complete.
    pub slowdown: Option<f64>,
    /// False if the flow started in the warm-up or cool-down of its group.
    pub counted: bool,
    /// Payload bytes that arrived, each counted once.
    pub received_bytes: u64,
    /// IP bytes of data that arrived, in bit/s, from the start of the flow to its end or the end of the run.
    pub throughput_bps: f64,
    /// Data packets sent, including retransmissions.
    pub sent: u64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Number of retransmission timeouts.
    pub timeouts: u64,
    /// Numbers of credits that arrived at the sender, that released data, and that were wasted.
    pub credits: (u64, u64, u64),
}

pub struct FlowLog<'a> {
    setup: &'a ResolvedRun<'a>,
    /// For each group, the sums of the counters of both endpoints over its flows in the log.
    pub groups: Vec<EndpointCounters>,
    /// For each group, the completion times of its flows in the log.
    pub completion: Vec<CompletionTimes>,
    rows: Vec<FlowRow>,
}

impl<'a> FlowLog<'a> {
    #[must_use]
    pub fn new(setup: &'a ResolvedRun<'a>) -> Self {
        let completion = setup.plan.groups.iter().map(|_| CompletionTimes::new(setup.plan.classes)).collect();
        let groups = vec![EndpointCounters::default(); setup.plan.groups.len()];
        Self { setup, groups, completion, rows: Vec::new() }
    }

    /// Sums of endpoint counters over all groups.
    pub fn total(&self) -> EndpointCounters {
        self.groups.iter().fold(EndpointCounters::default(), |sum, group| sum.plus(group))
    }

    /// Statistics of the completion times of all groups.
    pub fn fct(&self) -> Fct {
        CompletionTimes::fct_of_all(&self.completion)
    }

    /// Writes a flow to the log, with the counters of its sender and receiver at `now`.
    pub fn write(&mut self, flow: u32, record: &FlowRecord, ends: [EndpointCounters; 2], now: Time) {
        let [sender, receiver] = &ends;
        if let Some(sum) = self.groups.get_mut(record.facts.group as usize) {
            *sum = sum.plus(sender).plus(receiver);
        }
        if let Some(times) = self.completion.get_mut(record.facts.group as usize) {
            times.add(record, now);
        }
        self.rows.push(self.row(flow, record, &ends, now.since_start()));
    }

    /// Passes rows on to `receive` if there are enough for a chunk, or if `all`.
    pub fn flush(&mut self, all: bool, receive: &mut dyn FnMut(Vec<FlowRow>)) {
        if self.rows.len() >= RECENT_FLOWS || all && !self.rows.is_empty() {
            self.rows.sort_by_key(|row| row.flow);
            receive(std::mem::take(&mut self.rows));
        }
    }

    fn row(&self, flow: u32, record: &FlowRecord, ends: &[EndpointCounters; 2], end: Span) -> FlowRow {
        let name = |node: Node| self.setup.network.names[node.0 as usize].clone();
        let [sender, receiver] = ends;
        let until = record.complete.map_or(end, Time::since_start);
        let time = record.completion_time();
        let credits = sender.credits;
        FlowRow {
            flow,
            group: self.setup.plan.groups[record.facts.group as usize].name.clone(),
            from: name(record.facts.from),
            to: name(record.facts.to),
            start_s: record.start.since_start().as_secs_f64(),
            size_bytes: record.facts.size,
            fct_s: time.map(Span::as_secs_f64),
            slowdown: time.map(|time| time.ratio(record.facts.ideal)),
            counted: record.facts.counted,
            received_bytes: receiver.received,
            throughput_bps: rate(record.ip_bytes, until.saturating_sub(record.start.since_start())),
            sent: sender.sent,
            retransmits: sender.retransmits,
            timeouts: sender.timeouts,
            credits: (credits.granted, credits.used, credits.wasted),
        }
    }
}
