//! The pairs of hosts that may communicate, and the arrival rates that produce the configured load.

use std::collections::BTreeMap;

use shallop_core::{Node, Seed};
use shallop_topology::Paths;

use crate::network::Network;
use crate::pairs::{intensity, pairs};
use crate::plan::{Group, Intensity, Pattern, Plan, Starts};
use crate::traffic_paths::{HostPairs, ShortestPathTree};

/// The pairs of sender and receiver in the groups for whose index `counts` holds.
pub fn host_pairs(
    plan: &Plan,
    network: &Network,
    seed: Seed,
    counts: impl Fn(usize) -> bool,
) -> HostPairs {
    let mut host_pairs = HostPairs::new(network.graph.nodes.len());
    for (index, group) in plan.groups.iter().enumerate().filter(|(index, _)| counts(*index)) {
        if let Starts::Trace(trace) = &group.start {
            trace.pairs.iter().for_each(|&(from, to)| host_pairs.insert(Node(from), Node(to)));
        } else if group.pattern == Pattern::RoundRobin {
            // At most as many pairs as there are before they repeat.
            let all = group.from.len().saturating_mul(group.to.len());
            for number in 0..group.flows.min(all) {
                let pick = |hosts: &[u32]| Node(hosts[number % hosts.len()]);
                host_pairs.insert(pick(&group.from), pick(&group.to));
            }
        } else if let Ok(pairs) = pairs(group, index, network, seed) {
            pairs.weights().for_each(|((from, to), _)| host_pairs.insert(from, to));
        }
    }
    host_pairs
}

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
        let mut by_receiver: BTreeMap<Node, Vec<(Node, f64)>> = BTreeMap::new();
        for ((from, to), weight) in pairs.weights() {
            by_receiver.entry(to).or_default().push((from, weight));
        }
        let mut crossings = 0.0;
        for (to, senders) in by_receiver {
            let mean = ShortestPathTree::towards(network, paths, to).mean_crossings(&counts);
            crossings +=
                senders.iter().map(|(from, weight)| weight * mean[from.0 as usize]).sum::<f64>();
        }
        let mean_size = group.sizes.as_ref()?.mean();
        Some(Self { capacity, mean_size, crossings }).filter(|offered| offered.crossings > 0.0)
    }
}
