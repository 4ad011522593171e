//! What is looked at while a run goes on: rows at equal intervals, and counts at the edges of windows.

use shallop_core::{Class, Span};
use shallop_switch::Counts;

use crate::converge::Convergence;
use crate::measure::Measure;
use crate::run::{Setup, rate};

/// Up to so many flows have rows of their own; more appear by group only.
const MOST_FLOWS: usize = 100;

/// The rows of a series: one value of one thing at one time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Seconds since the start.
    pub time_s: Vec<f64>,
    /// What was measured: `queue_bytes` as it is, `queue_peak_bytes` since the row before, `rate_bps` since then.
    pub what: Vec<&'static str>,
    /// Of what: the queue, the group or the flow.
    pub place: Vec<String>,
    /// The value, in the unit its name says.
    pub value: Vec<f64>,
}

impl Rows {
    fn push(&mut self, now: Span, what: &'static str, place: &str, value: f64) {
        self.time_s.push(now.as_secs_f64());
        self.what.push(what);
        self.place.push(place.to_owned());
        self.value.push(value);
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
    queues: Vec<String>,
    groups: Vec<String>,
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
        let groups: Vec<_> = setup.plan.groups.iter().map(|group| group.name.clone()).collect();
        let start = Mark {
            at: Span::ZERO,
            groups: vec![0; groups.len()],
            flows: Some(Vec::new()),
            metered: (0, 0),
        };
        Self {
            rows: Rows::default(),
            marks: vec![start],
            end: Span::ZERO,
            converge: Convergence::new(setup.plan.fairness),
            metered: setup.layout.metered,
            queues: queues.collect(),
            last: (Span::ZERO, vec![0; groups.len()], Vec::new()),
            each: setup.plan.flows() <= MOST_FLOWS,
            groups,
        }
    }

    /// Adds the rows of this time.
    pub fn sample(&mut self, now: Span, measure: &mut Measure) {
        for ((_, queue), name) in measure.queues.iter_mut().zip(&self.queues) {
            let peak = queue.take_peak();
            if queue.max().get() > 0 {
                self.rows.push(now, "queue_bytes", name, queue.held().get() as f64);
                self.rows.push(now, "queue_peak_bytes", name, peak.get() as f64);
            }
        }
        let (then, groups, flows) = &mut self.last;
        let span = now - *then;
        *then = now;
        for ((name, group), before) in self.groups.iter().zip(&measure.groups).zip(groups) {
            let arrived = group.ip_bytes - std::mem::replace(before, group.ip_bytes);
            self.rows.push(now, "rate_bps", name, rate(arrived, span));
        }
        let each = measure.flows.all().filter(|_| self.each);
        for (number, flow) in each.into_iter().flatten().enumerate() {
            if number == flows.len() {
                flows.push(0);
            }
            let arrived = flow.ip_bytes - std::mem::replace(&mut flows[number], flow.ip_bytes);
            self.rows.push(now, "rate_bps", &format!("flow {number}"), rate(arrived, span));
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
