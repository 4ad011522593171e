//! Where the flows of a group come from: listed one by one, or drawn as they come. Each group draws from streams of its
//! own, so a group added moves no flow of another.

use shallop_core::{Node, Seed, Span, Time};

use crate::plan::{Group, Starts};
use crate::run::Setup;

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
pub fn of<'a>(setup: &'a Setup<'_>, group: usize) -> Source<'a> {
    listed(&setup.plan.groups[group], group, setup.root())
}

/// Flows whose starts are known from the beginning.
fn listed(group: &Group, index: usize, seed: Seed) -> Source<'_> {
    let mut sizes = seed.stream("sizes", index as u64);
    let arrival = |number: usize| {
        let pick = |hosts: &[u32]| Node(hosts[number % hosts.len()]);
        let start = Time::after_start(start(group, index, number, seed));
        let size = group.sizes.as_ref().map(|table| table.draw(&mut sizes));
        Arrival { start, from: pick(&group.from), to: pick(&group.to), size, counted: true }
    };
    let mut all: Vec<Arrival> = (0..group.flows).map(arrival).collect();
    all.sort_by_key(|arrival| arrival.start);
    Box::new(all.into_iter().enumerate().map(|(number, arrival)| {
        let counted = group.counts(number);
        Arrival { counted, ..arrival }
    }))
}

fn start(group: &Group, index: usize, number: usize, seed: Seed) -> Span {
    match group.start {
        Starts::At(at) => at,
        Starts::Every(first, gap) => first + gap * number as u64,
        Starts::Drawn(low, high) => {
            let id = (index as u64) << 32 | number as u64;
            low + (high - low).scale(seed.stream("start", id).unit())
        }
    }
}
