//! The arrival rates that produce the configured load.

use std::collections::BTreeMap;

use shallop_core::{Node, Seed};
use shallop_topology::Paths;
use shallop_workload::Pairs;

use crate::network::Network;
use crate::pairs::{intensity, pairs};
use crate::plan::{Group, Intensity, Plan};
use crate::traffic_paths::Crossings;

/// The mean number of flows that start in a second, for each group with random arrivals.
#[must_use]
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

/// The terms of the load on a set of links. Load = flows per second × mean size × 8 × crossings / capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// The sum of the rates of the ports in the set, in bits per second.
    pub capacity: f64,
    /// The mean payload of a flow, in bytes.
    pub mean_size: f64,
    /// The mean number of these ports that a flow crosses.
    pub crossings: f64,
}

impl Offered {
    /// The terms for this group and these links; `None` if its flows have no sizes or cross none of the links.
    #[must_use]
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
        let crossings = crossings(&pairs, network, paths, &counts);
        let mean_size = group.sizes.as_ref()?.mean();
        Some(Self { capacity, mean_size, crossings }).filter(|offered| offered.crossings > 0.0)
    }
}

/// Up to this many pairs of hosts are summed one by one; above, pairs of hosts that hang alike on the same switches are
/// summed at once, which may change the last digit of the sum.
const MAX_SUMMED_PAIRS: usize = 4_000_000;

/// The mean number of these ports that a flow crosses.
fn crossings(pairs: &Pairs, network: &Network, paths: &Paths, counts: &[bool]) -> f64 {
    let mut crossings = Crossings::new(network, paths, counts);
    if pairs.count() > MAX_SUMMED_PAIRS {
        let class_of = classes(network, paths, counts);
        let mut sum = 0.0;
        pairs.by_class(&|host| class_of[host.0 as usize], &mut |(from, to), weight| {
            sum += weight * crossings.mean(from, to);
        });
        return sum;
    }
    let mut by_receiver: BTreeMap<Node, Vec<(Node, f64)>> = BTreeMap::new();
    for ((from, to), weight) in pairs.weights() {
        by_receiver.entry(to).or_default().push((from, weight));
    }
    let of_receiver = |(to, senders): (Node, Vec<(Node, f64)>)| {
        senders.iter().map(|&(from, weight)| weight * crossings.mean(from, to)).sum::<f64>()
    };
    by_receiver.into_iter().map(of_receiver).sum()
}

/// A number for each host: the same for those that hang on one switch by links that count alike.
fn classes(network: &Network, paths: &Paths, counts: &[bool]) -> Vec<u32> {
    let (mut known, mut class_of) = (BTreeMap::new(), vec![0; network.graph.nodes.len()]);
    for host in network.graph.hosts() {
        let links =
            paths.leaf(host).map(|it| [it.exit, it.entry].map(|port| counts[port as usize]));
        let next = known.len() as u32;
        class_of[host.0 as usize] = *known.entry((paths.inner(host), links)).or_insert(next);
    }
    class_of
}
