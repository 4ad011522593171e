//! The flows of a group: listed in advance, or generated one by one. Each group has random streams of its own, so an
//! additional group does not change the flows of others.

use shallop_core::{Node, Seed, Span, Time};

use crate::pairs::pairs;
use crate::plan::{Group, Starts, Trace};
use crate::resolved::ResolvedRun;
use shallop_workload::arrivals::{Bursts, OnOff, Poisson};
use shallop_workload::{Sizes, TraceReader};

/// A flow of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The start time.
    pub start: Time,
    /// The host of the sender.
    pub from: Node,
    /// The host of the receiver.
    pub to: Node,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// False if it starts in the warm-up or the cool-down.
    pub counted: bool,
}

/// The flows of a group in order of start.
pub type ArrivalIter<'a> = Box<dyn Iterator<Item = Arrival> + Send + 'a>;

/// The flows of this group.
pub fn arrivals<'a>(setup: &'a ResolvedRun<'_>, index: usize) -> ArrivalIter<'a> {
    let group = &setup.plan.groups[index];
    let flows = match (&group.start, starts(setup, index)) {
        (Starts::Trace(trace), _) => traced(setup, trace),
        (_, Some(starts)) => generated(setup, index, starts),
        (_, None) => listed(setup, index),
    };
    Box::new(flows.take(group.flows).enumerate().map(|(number, arrival)| {
        let counted = group.counts(number);
        Arrival { counted, ..arrival }
    }))
}

/// When the last flow of a group with random arrivals starts on average, at so many flows per second, in seconds;
/// `None` for other groups.
pub fn mean_last_start(group: &Group, rate: f64) -> Option<f64> {
    let (Starts::Poisson(_, begin) | Starts::OnOff(_, begin, _)) = group.start else { return None };
    Some(begin.as_secs_f64() + group.flows as f64 / rate)
}

/// The number of flows of this group that start before `end`.
fn starting(setup: &ResolvedRun<'_>, index: usize, end: Span) -> usize {
    let group = &setup.plan.groups[index];
    match (&group.start, starts(setup, index)) {
        (Starts::Trace(trace), _) => group.flows - trace.late,
        (_, Some(starts)) => {
            starts.take(group.flows).take_while(|start| start.since_start() < end).count()
        }
        (_, None) => {
            let starts = (0..group.flows).map(|number| start(group, index, number, setup.root()));
            starts.filter(|start| *start < end).count()
        }
    }
}

/// The number of flows of each group that start before the end of the run.
pub fn starting_by_group(setup: &ResolvedRun<'_>) -> Vec<usize> {
    let end = setup.plan.duration;
    (0..setup.plan.groups.len()).map(|index| starting(setup, index, end)).collect()
}

/// A generator of the senders, receivers and sizes of a group's flows, given their start times.
fn generator(
    setup: &ResolvedRun<'_>,
    index: usize,
) -> impl FnMut(Time) -> Option<Arrival> + Send + use<> {
    let group = &setup.plan.groups[index];
    let draw = |name| setup.root().stream(name, index as u64);
    let (mut among, mut of_size) = (draw("pairs"), draw("sizes"));
    // The pairs were checked when the plan was made.
    let mut pairs = pairs(group, index, &setup.network, setup.root()).ok();
    let sizes: Option<Sizes> = group.sizes.clone();
    move |start| {
        let (from, to) = pairs.as_mut()?.draw(&mut among);
        let size = sizes.as_ref().map(|table| table.draw(&mut of_size));
        Some(Arrival { start, from, to, size, counted: true })
    }
}

/// Flows with these start times.
fn generated(
    setup: &ResolvedRun<'_>,
    index: usize,
    starts: Box<dyn Iterator<Item = Time> + Send>,
) -> ArrivalIter<'static> {
    let generator = generator(setup, index);
    Box::new(starts.map_while(generator))
}

/// The flows of a trace. The trace was checked before; if it has changed since, the rows up to the first bad one.
fn traced<'a>(setup: &'a ResolvedRun<'_>, trace: &'a Trace) -> ArrivalIter<'a> {
    let Ok(text) = trace.files.open(&trace.name) else { return Box::new(std::iter::empty()) };
    let rows = TraceReader::new(&trace.name, text, setup.network.hosts());
    Box::new(rows.map_while(Result::ok).map(|row| Arrival {
        start: Time::after_start(row.start),
        from: row.from,
        to: row.to,
        size: Some(row.bytes),
        counted: true,
    }))
}

/// Flows whose start times are known in advance: generated in the order of their numbers, then sorted by start.
fn listed(setup: &ResolvedRun<'_>, index: usize) -> ArrivalIter<'static> {
    let group = &setup.plan.groups[index];
    let starts = (0..group.flows).map(|number| start(group, index, number, setup.root()));
    let generator = generator(setup, index);
    let mut all: Vec<Arrival> = starts.map(Time::after_start).map_while(generator).collect();
    all.sort_by_key(|arrival| arrival.start);
    Box::new(all.into_iter())
}

fn start(group: &Group, index: usize, number: usize, seed: Seed) -> Span {
    match group.start {
        Starts::Every(first, gap) => first + gap * number as u64,
        Starts::Drawn(low, high) => {
            let id = (index as u64) << 32 | number as u64;
            low + (high - low).scale(seed.stream("start", id).unit())
        }
        Starts::At(at) => at,
        Starts::Poisson(..) | Starts::OnOff(..) | Starts::Bursts(..) | Starts::Trace(_) => {
            Span::ZERO
        }
    }
}

/// The start times of a group's flows, if they follow an arrival process.
fn starts(setup: &ResolvedRun<'_>, index: usize) -> Option<Box<dyn Iterator<Item = Time> + Send>> {
    let stream = setup.root().stream("arrivals", index as u64);
    let rate = setup.rates[index].unwrap_or_default();
    Some(match setup.plan.groups[index].start {
        Starts::At(_) | Starts::Every(..) | Starts::Drawn(..) | Starts::Trace(_) => return None,
        Starts::Poisson(_, begin) => {
            Box::new(Poisson::new(rate, stream).ok()?.from(Time::after_start(begin)))
        }
        Starts::OnOff(_, begin, (on, off)) => {
            // The rate of the group is the mean over on and off periods.
            let active = rate * ((on + off).ratio(on));
            let starts = OnOff::new(active, on, off, stream).ok()?;
            Box::new(starts.from(Time::after_start(begin)))
        }
        Starts::Bursts(each, first, every) => {
            Box::new(Bursts::new(Time::after_start(first), every, each).ok()?)
        }
    })
}
