//! Time series of a run, sampled at equal intervals, and checkpoints: the counts at the edges of windows.
//!
//! Memory does not grow with the duration of a run: when [`MAX_STORED`] samples are stored, each two successive samples
//! are merged into one, and the interval doubles. A merged rate is the mean of the two, a merged peak the larger, and a
//! merged queue length the later, as if all had been sampled at the longer interval from the start.

use crate::{converge::Convergence, fractions::rate, probe::Measurements};
use shallop_core::{Class, Span};
use shallop_plan::{Plan, ResolvedRun};
use shallop_switch::PortCounters;
use std::collections::BTreeMap;

/// Largest number of flows in a run for which each flow has a series; with more flows only groups have one.
const MAX_FLOWS: usize = 100;

/// Largest number of stored samples over all queues, groups, flows and quantities. May be exceeded by the samples of
/// one point in time.
pub const MAX_STORED: usize = 2_000_000;

/// What a sample measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Bytes in a queue at the time of the sample.
    Queue,
    /// Maximum number of bytes in a queue since the previous sample.
    QueuePeak,
    /// IP bytes that arrived since the previous sample, as a rate in bit/s.
    Rate,
    /// The congestion window of a flow, in segments.
    Cwnd,
    /// The slow start threshold of a flow, in segments.
    Ssthresh,
    /// The pacing rate of a flow, in bits of payload per second.
    Pacing,
    /// The smoothed round-trip time of a flow, in seconds.
    SmoothedRtt,
    /// Segments of a flow that were acknowledged.
    Delivered,
    /// The state of a flow's congestion control ([`shallop_proto::CaState`]).
    CaState,
}

shallop_core::names! { Quantity {
    Queue = "queue_bytes", QueuePeak = "queue_peak_bytes", Rate = "rate_bps", Cwnd = "cwnd_segments",
    Ssthresh = "ssthresh_segments", Pacing = "pacing_bps", SmoothedRtt = "srtt_s", Delivered = "delivered_segments",
    CaState = "ca_state",
} }

/// One value of one time series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time since the start of the run.
    pub time: Span,
    /// The value, in the unit of `quantity`.
    pub value: f64,
    /// Index of the queue, group or flow in [`Samples::places`].
    pub place: u32,
    /// What the value measures.
    pub quantity: Quantity,
}

/// Whether each flow of a plan has its own series, or only each group.
pub fn has_flows(plan: &Plan) -> bool {
    plan.flows() <= MAX_FLOWS
}

/// A value of a flow's state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// The time since the start of the run.
    pub at: Span,
    /// Number of the flow, in order of start.
    pub flow: u32,
    /// Congestion window or smoothed round-trip time.
    pub quantity: Quantity,
    /// The value, in the unit of `quantity`.
    pub value: f64,
}

/// All samples of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Samples in order of time.
    pub samples: Vec<Sample>,
    /// Names of the queues, groups and flows to which samples refer.
    pub places: Vec<String>,
}

impl Samples {
    fn push(&mut self, time: Span, quantity: Quantity, place: usize, value: f64) {
        self.samples.push(Sample { time, value, place: place as u32, quantity });
    }

    /// Adds the traces of flows. Samples stay in order of time; at equal times, samples of queues and rates come first.
    pub fn add_traces(&mut self, traces: &[FlowSample]) {
        let names = self.places.iter().zip(0..);
        let number = |(name, place): (&String, u32)| Some((name.strip_prefix("flow ")?.parse().ok()?, place));
        let mut places: BTreeMap<u32, u32> = names.filter_map(number).collect();
        self.samples.extend(traces.iter().map(|&FlowSample { at, flow, quantity, value }| {
            let place = *places.entry(flow).or_insert_with(|| {
                self.places.push(format!("flow {flow}"));
                self.places.len() as u32 - 1
            });
            Sample { time: at, value, place, quantity }
        }));
        self.samples.sort_by_key(|sample| sample.time);
    }

    /// Merges the samples of each two successive times. A queue, group or flow without an earlier sample counts as zero
    /// before.
    fn merge_pairs(&mut self) {
        let mut merged = Vec::with_capacity(self.samples.len());
        let mut earlier = BTreeMap::new();
        for (index, row) in self.samples.chunk_by(|a, b| a.time == b.time).enumerate() {
            if index % 2 == 0 {
                earlier = row.iter().map(|it| ((it.place, it.quantity), it.value)).collect();
                continue;
            }
            merged.extend(row.iter().map(|later| {
                let before = earlier.get(&(later.place, later.quantity)).copied().unwrap_or(0.0);
                let value = match later.quantity {
                    Quantity::QueuePeak => later.value.max(before),
                    Quantity::Rate => f64::midpoint(before, later.value),
                    _ => later.value,
                };
                Sample { value, ..*later }
            }));
        }
        self.samples = merged;
    }
}

/// Cumulative counts at one point in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Time since the start of the run.
    pub at: Span,
    /// IP bytes that had arrived, by group.
    pub groups: Vec<u64>,
    /// IP bytes that had arrived, by flow; `None` if some flow has no record.
    pub flows: Option<Vec<u64>>,
    /// Numbers of metered packets (credits or emulation packets) that had arrived, and that had been dropped.
    pub metered: (u64, u64),
}

impl Checkpoint {
    /// IP bytes that had arrived, over all groups.
    pub fn bytes(&self) -> u64 {
        self.groups.iter().sum()
    }
}

/// Time series, checkpoints and convergence of a run.
#[derive(Clone, Debug)]
pub struct Series {
    /// Samples of queues, groups and flows.
    pub samples: Samples,
    /// Counts at the edges of windows, in order of time.
    pub checkpoints: Vec<Checkpoint>,
    /// Time at which the run ended.
    pub end: Span,
    /// Convergence to fairness, measured over windows of the run.
    pub converge: Convergence,
    metered: Option<Class>,
    /// Index in `Samples::places` of the first group; queues precede groups.
    first_group: usize,
    /// Whether each flow has its own series.
    per_flow: bool,
    /// Sampling interval of the scenario, and the present one, a multiple of it.
    intervals: (Span, Span),
    /// Number of sampling times that are stored.
    rows: usize,
    most: usize,
    /// Time of the previous sample, and the IP bytes that had arrived then, by group and by flow.
    last: (Span, Vec<u64>, Vec<u64>),
}

impl Series {
    /// Empty series for a run, with the names of its queues, groups and flows.
    #[must_use]
    pub fn new(setup: &ResolvedRun<'_>) -> Self {
        let network = &setup.network;
        let queues = network.switch_ports().flat_map(|port| {
            let name = network.port_name(port);
            setup.layout.queues.iter().map(move |queue| format!("{name} {queue}"))
        });
        let mut places: Vec<String> = queues.collect();
        let (first_group, groups) = (places.len(), setup.plan.groups.len());
        places.extend(setup.plan.groups.iter().map(|group| group.name.clone()));
        let start = Checkpoint { at: Span::ZERO, groups: vec![0; groups], flows: Some(Vec::new()), metered: (0, 0) };
        Self {
            samples: Samples { samples: vec![], places },
            checkpoints: vec![start],
            end: Span::ZERO,
            converge: Convergence::new(setup.plan.fairness_window),
            metered: setup.layout.metered,
            first_group,
            last: (Span::ZERO, vec![0; groups], Vec::new()),
            per_flow: has_flows(setup.plan),
            intervals: (setup.plan.sample, setup.plan.sample),
            rows: 0,
            most: MAX_STORED,
        }
    }

    /// Replaces the bound [`MAX_STORED`] on the number of stored samples.
    #[must_use]
    pub fn with_bound(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Whether `now` is a multiple of the present sampling interval, when samples must be taken.
    pub fn is_due(&self, now: Span) -> bool {
        now.as_ps().is_multiple_of(self.intervals.1.as_ps())
    }

    /// Warning for runs in which samples were taken less often than the scenario says.
    pub fn note(&self) -> Option<String> {
        let (asked, interval) = self.intervals;
        (interval > asked).then(|| {
            format!(
                "the time series have a sample every {interval} in place of {asked}: a run stores {} samples",
                self.most
            )
        })
    }

    /// Takes all samples that are due at `now`.
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
        self.rows += 1;
        if self.samples.samples.len() > self.most && self.rows.is_multiple_of(2) {
            self.samples.merge_pairs();
            self.rows /= 2;
            self.intervals.1 = self.intervals.1 * 2;
        }
    }

    /// Records the counts at the edge of a window.
    pub fn checkpoint(&mut self, at: Span, measure: &Measurements, ports: impl Iterator<Item = PortCounters>) {
        let flows = measure.flows.all();
        let flows = flows.map(|flows| flows.iter().map(|flow| flow.ip_bytes).collect());
        let metered = (measure.metered, dropped(ports, self.metered));
        let groups = measure.groups.iter().map(|group| group.ip_bytes).collect();
        self.checkpoints.push(Checkpoint { at, groups, flows, metered });
    }

    /// Records the time at which the run ended.
    pub fn end(&mut self, at: Span) {
        self.end = at;
    }

    /// The checkpoint of exactly this time, or the last one if the run ended before; `None` if no checkpoint was taken
    /// then.
    pub fn at(&self, at: Span) -> Option<&Checkpoint> {
        let at = at.min(self.end);
        self.checkpoints.iter().rev().find(|checkpoint| checkpoint.at == at)
    }
}

/// Number of packets of a class that all ports dropped so far.
fn dropped(ports: impl Iterator<Item = PortCounters>, class: Option<Class>) -> u64 {
    let Some(class) = class else { return 0 };
    ports.map(|port| port.dropped[class.index()]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_added_in_order_of_time_with_places_for_flows_that_had_none() {
        let places = ["s>r data", "all", "flow 0"].map(str::to_owned).to_vec();
        let mut samples = Samples { samples: Vec::new(), places };
        samples.push(Span::from_ms(10), Quantity::Queue, 0, 5.0);
        samples.push(Span::from_ms(20), Quantity::Rate, 2, 7.0);
        let of = |ms, flow, value| FlowSample { at: Span::from_ms(ms), flow, quantity: Quantity::Cwnd, value };
        samples.add_traces(&[of(5, 0, 1.0), of(10, 0, 2.0), of(10, 7, 3.0)]);
        let got: Vec<_> = samples.samples.iter().map(|it| (it.place, it.quantity, it.value)).collect();
        let cwnd = Quantity::Cwnd;
        let expected =
            [(2, cwnd, 1.0), (0, Quantity::Queue, 5.0), (2, cwnd, 2.0), (3, cwnd, 3.0), (2, Quantity::Rate, 7.0)];
        assert_eq!(got, expected);
        assert_eq!(samples.places[3], "flow 7");
    }

    #[test]
    fn merged_samples_are_those_of_the_longer_interval() {
        let mut samples = Samples::default();
        let mut at = |ms, quantity, place, value| {
            samples.push(Span::from_ms(ms), quantity, place, value);
        };
        at(10, Quantity::Queue, 0, 5.0);
        at(10, Quantity::QueuePeak, 0, 9.0);
        at(10, Quantity::Rate, 1, 100.0);
        at(20, Quantity::Queue, 0, 3.0);
        at(20, Quantity::QueuePeak, 0, 4.0);
        at(20, Quantity::Rate, 1, 200.0);
        // A flow that started after the first sample.
        at(20, Quantity::Rate, 2, 50.0);
        samples.merge_pairs();
        let got: Vec<_> = samples.samples.iter().map(|it| (it.time, it.quantity, it.place, it.value)).collect();
        let at = Span::from_ms(20);
        let expected = [
            (at, Quantity::Queue, 0, 3.0),
            (at, Quantity::QueuePeak, 0, 9.0),
            (at, Quantity::Rate, 1, 150.0),
            (at, Quantity::Rate, 2, 25.0),
        ];
        assert_eq!(got, expected);
    }
}
