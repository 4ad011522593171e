//! The pairs of hosts that may communicate, and the arrival rates that produce the configured load.

use std::collections::BTreeMap;

use shallop_core::{Node, Seed};
use shallop_topology::{NodeKind, Paths};

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

/// The payload that the groups with random arrivals offer to each port on average, in bits per second, if equal-cost
/// paths are equally likely. `rates` has the flows per second of each group. A host with one link is treated as a part
/// of its switch, so that the work grows with the pairs of switches and not of hosts.
#[must_use]
pub fn by_port(
    plan: &Plan,
    network: &Network,
    paths: &Paths,
    rates: &[Option<f64>],
    seed: Seed,
) -> Vec<f64> {
    let graph = &network.graph;
    let exits = exits(network);
    let mut offered = vec![0.0; graph.ports()];
    // What each node sends to each other one, of the nodes that are left.
    let mut between: BTreeMap<(Node, Node), f64> = BTreeMap::new();
    for ((index, group), rate) in plan.groups.iter().enumerate().zip(rates) {
        let (Some(rate), Some(sizes)) = (rate, &group.sizes) else { continue };
        let Ok(pairs) = pairs(group, index, network, seed) else { continue };
        let bits = rate * sizes.mean() * 8.0;
        for ((from, to), weight) in pairs.weights() {
            let mut ends = (to, from);
            if let Some(exit) = exits[from.0 as usize] {
                offered[exit as usize] += weight * bits;
                ends.1 = graph.far(exit);
            }
            if let Some(exit) = exits[to.0 as usize] {
                offered[exit as usize ^ 1] += weight * bits;
                ends.0 = graph.far(exit);
            }
            *between.entry(ends).or_default() += weight * bits;
        }
    }
    let mut amounts = vec![0.0; graph.nodes.len()];
    let all: Vec<_> = between.into_iter().collect();
    for same in all.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
        for ((_, from), bits) in same {
            amounts[from.0 as usize] += bits;
        }
        let tree = ShortestPathTree::towards(network, paths, same[0].0.0);
        tree.spread(&mut amounts, &mut offered);
    }
    offered
}

/// For each host whose only link leads to a switch, the port of the host.
fn exits(network: &Network) -> Vec<Option<u32>> {
    let graph = &network.graph;
    let mut exits = vec![None; graph.nodes.len()];
    let mut links = vec![0u32; graph.nodes.len()];
    for port in 0..graph.ports() as u32 {
        let near = graph.near(port).0 as usize;
        links[near] += 1;
        let leads = (graph.nodes[near], graph.kind(graph.far(port)));
        exits[near] = (leads == (NodeKind::Host, NodeKind::Switch)).then_some(port);
    }
    for (exit, links) in exits.iter_mut().zip(links) {
        *exit = exit.filter(|_| links == 1);
    }
    exits
}

/// The terms of the load on a set of links. Load = flows per second × mean size × 8 × crossings / capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// The sum of the rates of the ports in the set that a flow may cross, in bits per second. A direction of a link
    /// that no flow takes adds nothing.
    pub capacity: f64,
    /// The number of these ports, and of all ports in the set.
    pub ports: (usize, usize),
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
        let mut counts = vec![false; network.graph.ports()];
        for &port in ports {
            counts[port as usize] = true;
        }
        let pairs = pairs(group, index, network, seed).ok()?;
        let mut by_receiver: BTreeMap<Node, Vec<(Node, f64)>> = BTreeMap::new();
        for ((from, to), weight) in pairs.weights() {
            by_receiver.entry(to).or_default().push((from, weight));
        }
        let (mut crossings, mut used) = (0.0, vec![false; network.graph.ports()]);
        for (to, senders) in by_receiver {
            let tree = ShortestPathTree::towards(network, paths, to);
            for port in tree.crossed(senders.iter().map(|(from, _)| *from)) {
                used[port as usize] = true;
            }
            let mean = tree.mean_crossings(&counts);
            crossings +=
                senders.iter().map(|(from, weight)| weight * mean[from.0 as usize]).sum::<f64>();
        }
        let mean_size = group.sizes.as_ref()?.mean();
        let used: Vec<u32> = ports.iter().copied().filter(|&port| used[port as usize]).collect();
        let capacity = used.iter().map(|&port| network.graph.link_of(port).rate.get() as f64).sum();
        let ports = (used.len(), ports.len());
        Some(Self { capacity, ports, mean_size, crossings }).filter(|it| it.crossings > 0.0)
    }
}
