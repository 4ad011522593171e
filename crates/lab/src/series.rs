//! What is looked at while a run goes on: rows at equal intervals, and counts at the edges of windows.

use shallop_core::{Class, Span};
use shallop_switch::Counts;

use crate::converge::Convergence;
use crate::measure::Measure;
use crate::run::{Setup, rate};

/// Up to so many flows have rows of their own; more appear by group only.
const MOST_FLOWS: usize = 100;

/// What a row of a series measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Bytes in a queue, as it is.
    Queue,
    /// The most that were in it since the row before.
    QueuePeak,
    /// IP bytes that arrived since the row before, in bits per second.
    Rate,
}

impl What {
    /// What it is called in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue_bytes",
            Self::QueuePeak => "queue_peak_bytes",
            Self::Rate => "rate_bps",
        }
    }
}

/// A row of a series: one value of one thing at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Since the start.
    pub time: Span,
    /// The value, in the unit of what it measures.
    pub value: f64,
    /// Of what, by its place in [`Rows::places`].
    pub place: u32,
    /// What it measures.
    pub what: What,
}

/// The rows of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The rows, in order of time.
    pub rows: Vec<Row>,
    /// Names of the queues, the groups and the flows.
    pub places: Vec<String>,
}

impl Rows {
    fn push(&mut self, time: Span, what: What, place: usize, value: f64) {
        self.rows.push(Row { time, value, place: place as u32, what });
    }
}

/// What had been counted by some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// When.
    pub at: Span,
    /// IP bytes that had arrived, by group.
    pub groups: Vec<u64>,
    /// The same by flow, if every flow is remembered.
    pub flows: Option<Vec<u64>>,
    /// Metered packets that had arrived, and that had been dropped.
    pub metered: (u64, u64),
}

impl Mark {
    /// IP bytes that had arrived.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.groups.iter().sum()
    }
}

/// The series of a run.
#[derive(Clone, Debug)]
pub struct Series {
    /// The rows.
    pub rows: Rows,
    /// The counts at the edges of windows, in order.
    pub marks: Vec<Mark>,
    /// When the run ended.
    pub end: Span,
    /// When the run became fair.
    pub converge: Convergence,
    metered: Option<Class>,
    /// The place of the first group, behind the queues.
    first_group: usize,
    /// Flows have rows of their own.
    each: bool,
    /// Bytes by group and by flow at the last row, and when that was.
    last: (Span, Vec<u64>, Vec<u64>),
}

impl Series {
    /// A series without rows.
    #[must_use]
    pub fn new(setup: &Setup<'_>) -> Self {
        let network = &setup.network;
        let ports = (0..network.graph.ports() as u32).filter(|&port| network.is_switch_port(port));
        let queues = ports.flat_map(|port| {
            let name = network.port_name(port);
            setup.layout.queues.iter().map(move |queue| format!("{name} {queue}"))
        });
        let mut places: Vec<String> = queues.collect();
        let (first_group, groups) = (places.len(), setup.plan.groups.len());
        places.extend(setup.plan.groups.iter().map(|group| group.name.clone()));
        let start = Mark {
            at: Span::ZERO,
            groups: vec![0; groups],
            flows: Some(Vec::new()),
            metered: (0, 0),
        };
        Self {
            rows: Rows { rows: vec![], places },
            marks: vec![start],
            end: Span::ZERO,
            converge: Convergence::new(setup.plan.fairness),
            metered: setup.layout.metered,
            first_group,
            last: (Span::ZERO, vec![0; groups], Vec::new()),
            each: setup.plan.flows() <= MOST_FLOWS,
        }
    }

    /// Adds the rows of this time.
    pub fn sample(&mut self, now: Span, measure: &mut Measure) {
        for (place, (_, queue)) in measure.queues.iter_mut().take(self.first_group).enumerate() {
            let peak = queue.take_peak();
            if queue.max().get() > 0 {
                self.rows.push(now, What::Queue, place, queue.held().get() as f64);
                self.rows.push(now, What::QueuePeak, place, peak.get() as f64);
            }
        }
        let (then, groups, flows) = &mut self.last;
        let span = now - *then;
        *then = now;
        let first_flow = self.first_group + groups.len();
        for ((place, group), before) in (self.first_group..).zip(&measure.groups).zip(groups) {
            let arrived = group.ip_bytes - std::mem::replace(before, group.ip_bytes);
            self.rows.push(now, What::Rate, place, rate(arrived, span));
        }
        let each = measure.flows.all().filter(|_| self.each);
        for (number, flow) in each.into_iter().flatten().enumerate() {
            if number == flows.len() {
                flows.push(0);
                self.rows.places.push(format!("flow {number}"));
            }
            let arrived = flow.ip_bytes - std::mem::replace(&mut flows[number], flow.ip_bytes);
            self.rows.push(now, What::Rate, first_flow + number, rate(arrived, span));
        }
    }

    /// Notes the counts of this time.
    pub fn mark(&mut self, at: Span, measure: &Measure, ports: impl Iterator<Item = Counts>) {
        let flows = measure.flows.all();
        let flows = flows.map(|flows| flows.iter().map(|flow| flow.ip_bytes).collect());
        let metered = (measure.metered, dropped(ports, self.metered));
        let groups = measure.groups.iter().map(|group| group.ip_bytes).collect();
        self.marks.push(Mark { at, groups, flows, metered });
    }

    /// The run ends here.
    pub fn end(&mut self, at: Span) {
        self.end = at;
    }

    /// The counts at this time, if they were noted; those of the end for any later time.
    #[must_use]
    pub fn at(&self, at: Span) -> Option<&Mark> {
        let at = at.min(self.end);
        self.marks.iter().rev().find(|mark| mark.at == at)
    }
}

/// Packets of a class dropped so far.
fn dropped(ports: impl Iterator<Item = Counts>, class: Option<Class>) -> u64 {
    let Some(class) = class else { return 0 };
    ports.map(|port| port.dropped[class.index()]).sum()
}
