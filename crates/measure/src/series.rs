//! Time series of a run, sampled at equal intervals, and checkpoints: the counts at the edges of windows.

use shallop_core::{Class, Span};
use shallop_switch::PortCounters;

use crate::converge::Convergence;
use crate::fractions::rate;
use crate::probe::Measurements;
use shallop_plan::Setup;

/// The most flows in a run for which each flow has a series; with more, only groups have.
const MAX_FLOWS: usize = 100;

/// The quantity of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Bytes in a queue at this time.
    Queue,
    /// The most bytes in the queue since the previous sample.
    QueuePeak,
    /// IP bytes that arrived since the previous sample, in bits per second.
    Rate,
}

impl Quantity {
    /// The name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue_bytes",
            Self::QueuePeak => "queue_peak_bytes",
            Self::Rate => "rate_bps",
        }
    }
}

/// One value of a time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The time since the start.
    pub time: Span,
    /// The value, in the unit of its quantity.
    pub value: f64,
    /// The queue, group or flow, as an index of [`Samples::places`].
    pub place: u32,
    /// The quantity.
    pub quantity: Quantity,
}

/// The samples of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// The samples, in order of time.
    pub samples: Vec<Sample>,
    /// The names of the queues, groups and flows.
    pub places: Vec<String>,
}

impl Samples {
    fn push(&mut self, time: Span, quantity: Quantity, place: usize, value: f64) {
        self.samples.push(Sample { time, value, place: place as u32, quantity });
    }
}

/// The counts up to some time.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The time.
    pub at: Span,
    /// IP bytes that had arrived, by group.
    pub groups: Vec<u64>,
    /// IP bytes that had arrived, by flow, if every flow has a record.
    pub flows: Option<Vec<u64>>,
    /// Metered packets that had arrived, and that had been dropped.
    pub metered: (u64, u64),
}

impl Checkpoint {
    /// IP bytes that had arrived.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.groups.iter().sum()
    }
}

/// The series of a run.
#[derive(Clone, Debug)]
pub struct Series {
    /// The samples.
    pub samples: Samples,
    /// The counts at the edges of windows, in order of time.
    pub checkpoints: Vec<Checkpoint>,
    /// When the run ended.
    pub end: Span,
    /// The convergence to fairness.
    pub converge: Convergence,
    metered: Option<Class>,
    /// The index of the first group in the names, behind the queues.
    first_group: usize,
    /// Whether each flow has a series.
    per_flow: bool,
    /// The time of the previous sample, and the bytes by group and by flow then.
    last: (Span, Vec<u64>, Vec<u64>),
}

impl Series {
    /// A series without samples.
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
        let start = Checkpoint {
            at: Span::ZERO,
            groups: vec![0; groups],
            flows: Some(Vec::new()),
            metered: (0, 0),
        };
        Self {
            samples: Samples { samples: vec![], places },
            checkpoints: vec![start],
            end: Span::ZERO,
            converge: Convergence::new(setup.plan.fairness),
            metered: setup.layout.metered,
            first_group,
            last: (Span::ZERO, vec![0; groups], Vec::new()),
            per_flow: setup.plan.flows() <= MAX_FLOWS,
        }
    }

    /// Adds the samples of this time.
    pub fn sample(&mut self, now: Span, measure: &mut Measurements) {
        for (place, (_, queue)) in measure.queues.iter_mut().take(self.first_group).enumerate() {
            let peak = queue.take_peak();
            if queue.max().get() > 0 {
                self.samples.push(now, Quantity::Queue, place, queue.held().get() as f64);
                self.samples.push(now, Quantity::QueuePeak, place, peak.get() as f64);
            }
        }
        let (then, groups, flows) = &mut self.last;
        let span = now - *then;
        *then = now;
        let first_flow = self.first_group + groups.len();
        for ((place, group), before) in (self.first_group..).zip(&measure.groups).zip(groups) {
            let arrived = group.ip_bytes - std::mem::replace(before, group.ip_bytes);
            self.samples.push(now, Quantity::Rate, place, rate(arrived, span));
        }
        let each = measure.flows.all().filter(|_| self.per_flow);
        for (number, flow) in each.into_iter().flatten().enumerate() {
            if number == flows.len() {
                flows.push(0);
                self.samples.places.push(format!("flow {number}"));
            }
            let arrived = flow.ip_bytes - std::mem::replace(&mut flows[number], flow.ip_bytes);
            self.samples.push(now, Quantity::Rate, first_flow + number, rate(arrived, span));
        }
    }

    /// Adds a checkpoint.
    pub fn checkpoint(
        &mut self,
        at: Span,
        measure: &Measurements,
        ports: impl Iterator<Item = PortCounters>,
    ) {
        let flows = measure.flows.all();
        let flows = flows.map(|flows| flows.iter().map(|flow| flow.ip_bytes).collect());
        let metered = (measure.metered, dropped(ports, self.metered));
        let groups = measure.groups.iter().map(|group| group.ip_bytes).collect();
        self.checkpoints.push(Checkpoint { at, groups, flows, metered });
    }

    /// The run ends here.
    pub fn end(&mut self, at: Span) {
        self.end = at;
    }

    /// The checkpoint at this time, if there is one; that of the end for any later time.
    #[must_use]
    pub fn at(&self, at: Span) -> Option<&Checkpoint> {
        let at = at.min(self.end);
        self.checkpoints.iter().rev().find(|checkpoint| checkpoint.at == at)
    }
}

/// Packets of a class dropped so far.
fn dropped(ports: impl Iterator<Item = PortCounters>, class: Option<Class>) -> u64 {
    let Some(class) = class else { return 0 };
    ports.map(|port| port.dropped[class.index()]).sum()
}
