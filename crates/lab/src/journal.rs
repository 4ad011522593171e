//! What becomes of each flow, written down when it is over or the run ends. State: the sums of reports by group, the
//! completion times, and the rows that have not been handed on yet. Rows go in chunks, each in the order its flows
//! started, so a run of a million flows keeps few of them.

use shallop_core::{Node, Span, Time};
use shallop_proto::Report;

use crate::records::{REMEMBERED, Record};
use crate::run::{Setup, Watch, rate};
use crate::tally::Tally;

/// A flow that is over, or how far it came.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Its number, in the order of starts.
    pub flow: u32,
    /// Its group.
    pub group: String,
    /// The host that sent.
    pub from: String,
    /// The host that received.
    pub to: String,
    /// When it started, in seconds.
    pub start_s: f64,
    /// Payload bytes to send, if there is an end to them.
    pub size_bytes: Option<u64>,
    /// From its start to the arrival of its last byte, in seconds, if that came.
    pub fct_s: Option<f64>,
    /// That time over the one on an empty network (docs/model.md, "slowdown"), if it completed.
    pub slowdown: Option<f64>,
    /// False if it started in its group's warm-up or cool-down.
    pub counted: bool,
    /// Different payload bytes that arrived.
    pub received_bytes: u64,
    /// IP bytes of data that arrived, in bits per second from its start to its end or that of the run.
    pub throughput_bps: f64,
    /// Data packets sent, repeats included.
    pub sent: u64,
    /// Data packets sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Credits that arrived at the sender, released data, and were in vain.
    pub credits: (u64, u64, u64),
}

/// The journal of a run.
pub struct Journal<'a> {
    setup: &'a Setup<'a>,
    /// For each group the sums over all ends of its flows that were written down.
    pub groups: Vec<Report>,
    /// Their completion times.
    pub tally: Tally,
    rows: Vec<FlowRow>,
}

impl<'a> Journal<'a> {
    /// Nothing yet.
    #[must_use]
    pub fn new(setup: &'a Setup<'a>) -> Self {
        let tally = Tally::new(setup.plan.classes);
        let groups = vec![Report::default(); setup.plan.groups.len()];
        Self { setup, groups, tally, rows: Vec::new() }
    }

    /// The sums over all groups.
    #[must_use]
    pub fn total(&self) -> Report {
        self.groups.iter().fold(Report::default(), |sum, group| sum.plus(group))
    }

    /// Writes a flow down, with what its sender and its receiver did by `now`.
    pub fn write(&mut self, flow: u32, record: &Record, ends: [Report; 2], now: Time) {
        let [sender, receiver] = &ends;
        if let Some(sum) = self.groups.get_mut(record.facts.group as usize) {
            *sum = sum.plus(sender).plus(receiver);
        }
        self.tally.add(record);
        self.rows.push(self.row(flow, record, &ends, now.since_start()));
    }

    /// Hands on the rows if they are many, or all of them.
    pub fn hand_on(&mut self, all: bool, watch: &mut dyn Watch) {
        if self.rows.len() >= REMEMBERED || all && !self.rows.is_empty() {
            self.rows.sort_by_key(|row| row.flow);
            watch.rows(std::mem::take(&mut self.rows));
        }
    }

    fn row(&self, flow: u32, record: &Record, ends: &[Report; 2], end: Span) -> FlowRow {
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
