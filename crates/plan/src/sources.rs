//! The arrivals of a group's flows: listed in advance, or generated one by one. Each group has separate random streams,
//! so that adding a group does not change the flows of others.

use crate::pairs::pairs;
use crate::plan::{Group, Starts, Trace};
use crate::resolved::ResolvedRun;
use shallop_core::{Node, Seed, Span, Time};
use shallop_workload::arrivals::{Bursts, OnOff, Poisson};
use shallop_workload::{Sizes, TraceReader};

/// The arrival of a flow: the time of its start, and its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    pub start: Time,
    pub from: Node,
    pub to: Node,
    /// Payload of the flow in bytes; `None` for a flow without end.
    pub size: Option<u64>,
    /// Whether results include the flow; false if it starts in the warm-up or cool-down.
    pub counted: bool,
}

/// Arrivals of flows, in order of start.
pub type ArrivalIter<'a> = Box<dyn Iterator<Item = Arrival> + Send + 'a>;

/// The arrivals of all flows of a group. `index` is the group's index in the plan.
pub fn arrivals<'a>(run: &'a ResolvedRun<'_>, index: usize) -> ArrivalIter<'a> {
    let group = &run.plan.groups[index];
    let flows = match (&group.start, starts(run, index)) {
        (Starts::Trace(trace), _) => traced(run, trace),
        (_, Some(starts)) => generated(run, index, starts),
        (_, None) => listed(run, index),
    };
    Box::new(flows.take(group.flows).enumerate().map(|(number, arrival)| {
        let counted = group.counts(number);
        Arrival { counted, ..arrival }
    }))
}

/// The mean time, in seconds, at which the last flow of a group with random arrivals starts, if `rate` flows start per
/// second; `None` for other groups.
pub fn mean_last_start(group: &Group, rate: f64) -> Option<f64> {
    let (Starts::Poisson(_, begin) | Starts::OnOff(_, begin, _)) = group.start else { return None };
    Some(begin.as_secs_f64() + group.flows as f64 / rate)
}

/// The number of flows of a group that start before `end`.
fn starting(run: &ResolvedRun<'_>, index: usize, end: Span) -> usize {
    let group = &run.plan.groups[index];
    match (&group.start, starts(run, index)) {
        (Starts::Trace(trace), _) => group.flows - trace.late,
        (_, Some(starts)) => starts.take(group.flows).take_while(|start| start.since_start() < end).count(),
        (_, None) => {
            let starts = (0..group.flows).map(|number| start(group, index, number, run.root()));
            starts.filter(|start| *start < end).count()
        }
    }
}

/// By group: the number of flows that start before the run ends.
pub fn starting_by_group(run: &ResolvedRun<'_>) -> Vec<usize> {
    let end = run.plan.duration;
    (0..run.plan.groups.len()).map(|index| starting(run, index, end)).collect()
}

/// Returns a function that draws sender, receiver and size of the flow that starts at a given time.
fn generator(run: &ResolvedRun<'_>, index: usize) -> impl FnMut(Time) -> Option<Arrival> + Send + use<> {
    let group = &run.plan.groups[index];
    let draw = |name| run.root().stream(name, index as u64);
    let (mut among, mut of_size) = (draw("pairs"), draw("sizes"));
    // The pairs were checked when the plan was made.
    let mut pairs = pairs(group, index, &run.network, run.root()).ok();
    let sizes: Option<Sizes> = group.sizes.clone();
    move |start| {
        let (from, to) = pairs.as_mut()?.draw(&mut among);
        let size = sizes.as_ref().map(|table| table.draw(&mut of_size));
        Some(Arrival { start, from, to, size, counted: true })
    }
}

/// Arrivals of flows at the given start times.
fn generated(
    run: &ResolvedRun<'_>, index: usize, starts: Box<dyn Iterator<Item = Time> + Send>,
) -> ArrivalIter<'static> {
    let generator = generator(run, index);
    Box::new(starts.map_while(generator))
}

/// The flows of a trace, read from its file. The file was checked when the plan was made; if it has changed since, the
/// flows end at the first bad row. Rows that are not in the order of their starts are read at once and sorted.
fn traced<'a>(run: &'a ResolvedRun<'_>, trace: &'a Trace) -> ArrivalIter<'a> {
    let Ok(text) = trace.files.open(&trace.name) else { return Box::new(std::iter::empty()) };
    let rows = TraceReader::new(&trace.name, text, &run.network.sets);
    let flows = rows.map_while(Result::ok).map(|row| Arrival {
        start: Time::after_start(row.start),
        from: row.from,
        to: row.to,
        size: Some(row.bytes),
        counted: true,
    });
    if trace.sorted {
        return Box::new(flows);
    }
    let mut all: Vec<Arrival> = flows.collect();
    all.sort_by_key(|arrival| arrival.start);
    Box::new(all.into_iter())
}

/// Flows whose starts are known before the run: drawn in order of their numbers, then sorted by start.
fn listed(run: &ResolvedRun<'_>, index: usize) -> ArrivalIter<'static> {
    let group = &run.plan.groups[index];
    let starts = (0..group.flows).map(|number| start(group, index, number, run.root()));
    let generator = generator(run, index);
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
        Starts::Poisson(..) | Starts::OnOff(..) | Starts::Bursts(..) | Starts::Trace(_) => Span::ZERO,
    }
}

/// The start times of a group's flows if they follow an arrival process; `None` for other groups.
fn starts(run: &ResolvedRun<'_>, index: usize) -> Option<Box<dyn Iterator<Item = Time> + Send>> {
    let stream = run.root().stream("arrivals", index as u64);
    let rate = run.rates[index].unwrap_or_default();
    Some(match run.plan.groups[index].start {
        Starts::At(_) | Starts::Every(..) | Starts::Drawn(..) | Starts::Trace(_) => return None,
        Starts::Poisson(_, begin) => Box::new(Poisson::new(rate, stream).ok()?.from(Time::after_start(begin))),
        Starts::OnOff(_, begin, (on, off)) => {
            // The group's rate is a mean over on and off periods.
            let active = rate * ((on + off).ratio(on));
            let starts = OnOff::new(active, on, off, stream).ok()?;
            Box::new(starts.from(Time::after_start(begin)))
        }
        Starts::Bursts(each, first, every) => Box::new(Bursts::new(Time::after_start(first), every, each).ok()?),
    })
}
