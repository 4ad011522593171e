//! Where the flows of a group come from: listed one by one, or drawn as they come. Each group draws from streams of its
//! own, so a group added moves no flow of another.

use shallop_core::{Node, Seed, Span, Time};

use crate::network::Network;
use crate::plan::{Group, Intensity, Pattern, Starts, Trace};
use crate::run::Setup;
use crate::workload::arrivals::{Bursts, OnOff, Poisson};
use crate::workload::pairs::PairsError;
use crate::workload::{Pairs, Sizes, TraceReader};

/// A flow of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it starts.
    pub start: Time,
    /// The host that sends.
    pub from: Node,
    /// The host that receives.
    pub to: Node,
    /// Payload bytes; `None` without end.
    pub size: Option<u64>,
    /// False if it starts in the warm-up or the cool-down.
    pub counted: bool,
}

/// The flows of a group, in the order they start.
pub type Source<'a> = Box<dyn Iterator<Item = Arrival> + Send + 'a>;

/// The flows of this group.
#[must_use]
pub fn of<'a>(setup: &'a Setup<'_>, index: usize) -> Source<'a> {
    let group = &setup.plan.groups[index];
    let flows = match (&group.start, starts(setup, index)) {
        (Starts::Trace(trace), _) => traced(setup, trace),
        (_, Some(starts)) => drawn(setup, index, starts),
        (_, None) => listed(setup, index),
    };
    Box::new(flows.take(group.flows).enumerate().map(|(number, arrival)| {
        let counted = group.counts(number);
        Arrival { counted, ..arrival }
    }))
}

/// Who sends to whom in a group.
///
/// # Errors
/// If its hosts cannot be paired like that.
pub fn pairs(
    group: &Group,
    index: usize,
    network: &Network,
    seed: Seed,
) -> Result<Pairs, PairsError> {
    let nodes = |hosts: &[u32]| hosts.iter().map(|&host| Node(host)).collect::<Vec<_>>();
    let (from, to) = (nodes(&group.from), nodes(&group.to));
    match &group.pattern {
        Pattern::Turn => Pairs::turn(&from, &to),
        Pattern::Uniform => Pairs::uniform(&from, &to),
        Pattern::AllToAll => Pairs::all_to_all(&from, &to),
        Pattern::Incast(at_once) => Pairs::incast(&from, &to, *at_once),
        Pattern::Permutation => {
            Pairs::permutation(&from, &mut seed.stream("permutation", index as u64))
        }
        Pattern::OtherSite => {
            let among = |site: &Vec<Node>| {
                site.iter().copied().filter(|host| from.contains(host)).collect::<Vec<_>>()
            };
            let mut sites: Vec<Vec<Node>> = network.sites.iter().map(among).collect();
            sites.retain(|site| !site.is_empty());
            Pairs::other_site(&sites)
        }
        Pattern::Matrix(entries) => {
            let entries =
                entries.iter().map(|(from, to, weight)| (nodes(from), nodes(to), *weight));
            Pairs::matrix(&entries.collect::<Vec<_>>())
        }
    }
}

/// The senders, receivers and sizes of a group's flows, in the order they are drawn.
fn who(setup: &Setup<'_>, index: usize) -> impl FnMut(Time) -> Option<Arrival> + Send + use<> {
    let group = &setup.plan.groups[index];
    let draw = |name| setup.root().stream(name, index as u64);
    let (mut among, mut of_size) = (draw("pairs"), draw("sizes"));
    // Whoever made the plan has tried.
    let mut pairs = pairs(group, index, &setup.network, setup.root()).ok();
    let sizes: Option<Sizes> = group.sizes.clone();
    move |start| {
        let (from, to) = pairs.as_mut()?.draw(&mut among);
        let size = sizes.as_ref().map(|table| table.draw(&mut of_size));
        Some(Arrival { start, from, to, size, counted: true })
    }
}

/// Flows that start as these say.
fn drawn(
    setup: &Setup<'_>,
    index: usize,
    starts: Box<dyn Iterator<Item = Time> + Send>,
) -> Source<'static> {
    let who = who(setup, index);
    Box::new(starts.map_while(who))
}

/// The flows of a trace. It was read before: should it be another by now, the rows up to the first bad one.
fn traced<'a>(setup: &'a Setup<'_>, trace: &'a Trace) -> Source<'a> {
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

/// Flows whose starts are known from the beginning: drawn in the order of their numbers, then put in that of their
/// starts.
fn listed(setup: &Setup<'_>, index: usize) -> Source<'static> {
    let group = &setup.plan.groups[index];
    let starts = (0..group.flows).map(|number| start(group, index, number, setup.root()));
    let who = who(setup, index);
    let mut all: Vec<Arrival> = starts.map(Time::after_start).map_while(who).collect();
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

/// The starts of a group's flows, if they are drawn or repeated without end.
fn starts(setup: &Setup<'_>, index: usize) -> Option<Box<dyn Iterator<Item = Time> + Send>> {
    let stream = setup.root().stream("arrivals", index as u64);
    let rate = setup.rates[index].unwrap_or_default();
    Some(match setup.plan.groups[index].start {
        Starts::At(_) | Starts::Every(..) | Starts::Drawn(..) | Starts::Trace(_) => return None,
        Starts::Poisson(_, begin) => {
            Box::new(Poisson::new(rate, stream).ok()?.from(Time::after_start(begin)))
        }
        Starts::OnOff(_, begin, (on, off)) => {
            // The rate is that of both periods together.
            let active = rate * ((on + off).ratio(on));
            let starts = OnOff::new(active, on, off, stream).ok()?;
            Box::new(starts.from(Time::after_start(begin)))
        }
        Starts::Bursts(each, first, every) => {
            Box::new(Bursts::new(Time::after_start(first), every, each).ok()?)
        }
    })
}

/// How many flows start, if that is asked for.
#[must_use]
pub fn intensity(group: &Group) -> Option<&Intensity> {
    match &group.start {
        Starts::Poisson(intensity, _) | Starts::OnOff(intensity, ..) => Some(intensity),
        _ => None,
    }
}
