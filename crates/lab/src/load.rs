//! Who may talk to whom, and how often flows must arrive to make the load that was asked for.

use std::collections::BTreeMap;

use shallop_core::{Node, Seed};
use shallop_sim::Paths;

use crate::network::Network;
use crate::plan::{Group, Intensity, Pattern, Plan, Starts};
use crate::reach::{Talk, Tree};
use crate::run::Setup;
use crate::sources::{intensity, pairs};
use crate::summary;
use crate::tally::Classes;
use crate::workload::Sizes;

/// Who may send to whom in the groups, by their indices, for which `counts` is true.
pub fn talk(plan: &Plan, network: &Network, seed: Seed, counts: impl Fn(usize) -> bool) -> Talk {
    let mut talk = Talk::new(network.graph.nodes.len());
    for (index, group) in plan.groups.iter().enumerate().filter(|(index, _)| counts(*index)) {
        if let Starts::Trace(trace) = &group.start {
            trace.pairs.iter().for_each(|&(from, to)| talk.pair(Node(from), Node(to)));
        } else if group.pattern == Pattern::Turn {
            // Not more pairs than there are before they repeat.
            let all = group.from.len().saturating_mul(group.to.len());
            for number in 0..group.flows.min(all) {
                let pick = |hosts: &[u32]| Node(hosts[number % hosts.len()]);
                talk.pair(pick(&group.from), pick(&group.to));
            }
        } else if let Ok(pairs) = pairs(group, index, network, seed) {
            pairs.weights().for_each(|((from, to), _)| talk.pair(from, to));
        }
    }
    talk
}

/// For each group that arrives at random the flows that start in a second on average.
pub fn rates(plan: &Plan, network: &Network, paths: &Paths, seed: Seed) -> Vec<Option<f64>> {
    let groups = plan.groups.iter().enumerate();
    let rate = |(index, group): (usize, &Group)| match intensity(group)? {
        Intensity::PerSecond(rate) => Some(*rate),
        Intensity::Load(load, links) => {
            let offered = Offered::of((group, index), network, paths, links, seed)?;
            Some(load * offered.capacity / (8.0 * offered.mean_size * offered.crossings))
        }
    };
    groups.map(rate).collect()
}

/// What the groups of a run ask for.
pub fn offered(setup: &Setup<'_>) -> summary::Offered {
    let groups = &setup.plan.groups;
    let sized =
        || groups.iter().filter_map(|group| Some((group.flows as f64, group.sizes.as_ref()?)));
    let flows: f64 = sized().map(|(flows, _)| flows).sum();
    let mean = |of: &dyn Fn(&Sizes) -> f64| {
        let sum: f64 = sized().map(|(flows, sizes)| flows * of(sizes)).sum();
        (flows > 0.0).then_some(sum / flows)
    };
    let classes = setup.plan.classes;
    let part = |of: &dyn Fn(&Sizes, Classes) -> f64| {
        let classes = classes?;
        mean(&|sizes| of(sizes, classes))
    };
    summary::Offered {
        flows_per_s: setup.rates.iter().flatten().sum(),
        mean_size_bytes: mean(&Sizes::mean),
        small: part(&|sizes, at| sizes.fraction_up_to(at.small.get())),
        medium: part(&|sizes, at| {
            sizes.fraction_up_to(at.large.get()) - sizes.fraction_up_to(at.small.get())
        }),
        large: part(&|sizes, at| 1.0 - sizes.fraction_up_to(at.large.get())),
    }
}

/// What the load on a set of links is made of. Load = flows per second × mean size × 8 × crossings / capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Sum over the ports of the set, in bits per second.
    pub capacity: f64,
    /// Of a flow's payload, in bytes.
    pub mean_size: f64,
    /// How many of these ports a flow crosses on average.
    pub crossings: f64,
}

impl Offered {
    /// What this group's flows offer to these links; `None` if it cannot be said.
    pub fn of(
        (group, index): (&Group, usize),
        network: &Network,
        paths: &Paths,
        links: &str,
        seed: Seed,
    ) -> Option<Self> {
        let ports = network.links.get(links)?;
        let capacity =
            ports.iter().map(|&port| network.graph.link_of(port).rate.get() as f64).sum();
        let mut counts = vec![false; network.graph.ports()];
        for &port in ports {
            counts[port as usize] = true;
        }
        let pairs = pairs(group, index, network, seed).ok()?;
        let mut by_receiver: BTreeMap<Node, Vec<(Node, f64)>> = BTreeMap::new();
        for ((from, to), weight) in pairs.weights() {
            by_receiver.entry(to).or_default().push((from, weight));
        }
        let mut crossings = 0.0;
        for (to, senders) in by_receiver {
            let mean = Tree::towards(network, paths, to).mean_crossings(&counts);
            crossings +=
                senders.iter().map(|(from, weight)| weight * mean[from.0 as usize]).sum::<f64>();
        }
        let mean_size = group.sizes.as_ref()?.mean();
        Some(Self { capacity, mean_size, crossings }).filter(|offered| offered.crossings > 0.0)
    }
}
