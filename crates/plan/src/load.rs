//! The arrival rates of flows that produce the configured load, and the load that flows offer to each port.

use crate::pairs::{intensity, pairs};
use crate::plan::{Group, Intensity, Plan, Starts};
use crate::traffic_paths::{Crossings, TrafficPaths};
use crate::{host_pairs::HostPairs, network::Network};
use shallop_core::{Node, Seed};
use shallop_topology::Paths;
use shallop_workload::Pairs;
use std::collections::BTreeMap;

/// The mean number of flows per second in each group with random arrivals; `None` for other groups.
pub fn rates(plan: &Plan, network: &Network, paths: &Paths, seed: Seed) -> Vec<Option<f64>> {
    let groups = plan.groups.iter().enumerate();
    let rate = |(index, group): (usize, &Group)| match intensity(group)? {
        Intensity::PerSecond(rate) => Some(*rate),
        Intensity::Load(load, links) => {
            let terms = LoadTerms::for_group(group, index, network, paths, links, seed)?;
            Some(load * terms.capacity / (8.0 * terms.mean_size * terms.crossings))
        }
    };
    groups.map(rate).collect()
}

/// Whether any group has an offered load in bit/s: random arrivals or a trace. Groups with given start times have none.
pub fn is_offered(plan: &Plan) -> bool {
    let is_trace = |group: &Group| matches!(group.start, Starts::Trace(_));
    plan.groups.iter().any(|group| intensity(group).is_some() || is_trace(group))
}

/// Whether the offered load can be computed pair by pair: no group with random arrivals has more than four million
/// pairs of hosts.
pub fn is_summed(plan: &Plan, network: &Network, seed: Seed) -> bool {
    let mut groups = plan.groups.iter().enumerate().filter(|(_, group)| intensity(group).is_some());
    groups.all(|(index, group)| pairs(group, index, network, seed).is_ok_and(|pairs| pairs.count() <= MAX_SUMMED_PAIRS))
}

/// Computes the mean payload offered to each port, in bit/s, if equal-cost paths are equally likely. A group with
/// random arrivals counts with its `rates`, in flows per second; a trace with the bytes that start within the duration,
/// divided by the duration. A host with one link is treated as a part of its switch, so that the work grows with the
/// pairs of switches and not of hosts.
pub fn by_port(plan: &Plan, network: &Network, paths: &Paths, rates: &[Option<f64>], seed: Seed) -> Vec<f64> {
    let mut offered = vec![0.0; network.graph.ports()];
    // Bits per second by (destination, source), where hosts with one link stand for their switches. Consecutive pairs
    // often have equal switches, whose amount is in `last`.
    let mut between: BTreeMap<(Node, Node), f64> = BTreeMap::new();
    let mut last = None;
    let mut add = |(from, to): (Node, Node), bits: f64| {
        if let Some(link) = paths.access_link(from) {
            offered[link.exit as usize] += bits;
        }
        if let Some(link) = paths.access_link(to) {
            offered[link.entry as usize] += bits;
        }
        let key = (paths.inner(to), paths.inner(from));
        match &mut last {
            Some((known, amount)) if *known == key => *amount += bits,
            _ => {
                let before = between.get(&key).copied().unwrap_or_default();
                between.extend(last.replace((key, before + bits)));
            }
        }
    };
    for ((index, group), rate) in plan.groups.iter().enumerate().zip(rates) {
        if let Starts::Trace(trace) = &group.start {
            let seconds = plan.duration.as_secs_f64();
            for (&(from, to), &bytes) in &trace.pairs {
                add((Node(from), Node(to)), bytes as f64 * 8.0 / seconds);
            }
        }
        let (Some(rate), Some(sizes)) = (rate, &group.sizes) else { continue };
        let Ok(pairs) = pairs(group, index, network, seed) else { continue };
        let bits = rate * sizes.mean() * 8.0;
        pairs.weights().for_each(|(pair, weight)| add(pair, weight * bits));
    }
    between.extend(last);
    let mut amounts = vec![0.0; network.graph.nodes.len()];
    let all: Vec<_> = between.into_iter().collect();
    for same in all.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
        for ((_, from), bits) in same {
            amounts[from.0 as usize] += bits;
        }
        spread(network, paths, same[0].0.0, &mut amounts, &mut offered);
    }
    offered
}

/// Spreads the traffic `amounts`, in bit/s by node of origin, over the equal-cost paths to `to`. Adds the traffic on
/// each port to `crossing`, and sets `amounts` to zero.
fn spread(network: &Network, paths: &Paths, to: Node, amounts: &mut [f64], crossing: &mut [f64]) {
    amounts[to.0 as usize] = 0.0;
    let Some(column) = paths.column(to) else { return };
    let mut send = |node: Node, ports: &[u32]| {
        let amount = std::mem::take(&mut amounts[node.0 as usize]);
        if amount > 0.0 {
            let part = amount / ports.len().max(1) as f64;
            for &port in ports {
                crossing[port as usize] += part;
                amounts[network.graph.far(port).0 as usize] += part;
            }
        }
    };
    // Paths to a member of the column do not lead through other members.
    for &twin in paths.members(column).iter().filter(|&&twin| twin != to) {
        send(twin, paths.ports_to_column(twin, column));
    }
    for node in paths.nearest_first(column).rev() {
        send(node, paths.ports(node, to));
    }
    amounts[to.0 as usize] = 0.0;
}

/// Terms of the load on a set of links: load = flows per second × mean size × 8 × crossings / capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadTerms {
    /// The sum of the rates of the ports that flows may cross, in bit/s. A direction of a link that no flow crosses
    /// adds nothing.
    pub capacity: f64,
    /// The number of ports in the set of links that flows may cross, and of all its ports.
    pub ports: (usize, usize),
    /// Mean payload of a flow, in bytes.
    pub mean_size: f64,
    /// The mean number of ports in the set of links that a flow crosses.
    pub crossings: f64,
}

impl LoadTerms {
    /// Computes the terms of a group's load on a named set of links. `None` if the flows have no sizes or cross none of
    /// the links.
    pub fn for_group(
        group: &Group, index: usize, network: &Network, paths: &Paths, links: &str, seed: Seed,
    ) -> Option<Self> {
        let ports = network.links.get(links)?;
        let mut counts = vec![false; network.graph.ports()];
        for &port in ports {
            counts[port as usize] = true;
        }
        let only = HostPairs::from_groups([(index, group)], network, paths, seed);
        let traffic = TrafficPaths::between(network, paths, &only).ok()?;
        let used: Vec<u32> = ports.iter().copied().filter(|&port| traffic.ports[port as usize].data).collect();
        let capacity = used.iter().map(|&port| network.graph.link_of(port).rate.get() as f64).sum();
        let pairs = pairs(group, index, network, seed).ok()?;
        let crossings = crossings(&pairs, network, paths, &counts);
        let mean_size = group.sizes.as_ref()?.mean();
        let ports = (used.len(), ports.len());
        Some(Self { capacity, ports, mean_size, crossings }).filter(|it| it.crossings > 0.0)
    }
}

/// The most pairs of hosts that are summed one by one. In larger groups, pairs with equal attachments are summed
/// together, which may change the last digit.
const MAX_SUMMED_PAIRS: usize = 4_000_000;

/// Computes the mean number of ports that a flow crosses, counting only those for which `counts` is true.
pub fn crossings(pairs: &Pairs, network: &Network, paths: &Paths, counts: &[bool]) -> f64 {
    let mut crossings = Crossings::new(network, paths, counts);
    let (class_of, hosts) = classes(network, paths, counts);
    if pairs.count() > MAX_SUMMED_PAIRS {
        let mut sum = 0.0;
        pairs.by_class(&|host| class_of[host.0 as usize], &mut |(from, to), weight| {
            sum += weight * crossings.mean(from, to);
        });
        return sum;
    }
    // By receiver, with the senders of each in the order of `weights`.
    let mut sums = vec![0.0; network.graph.nodes.len()];
    if hosts.len().saturating_mul(hosts.len()) <= pairs.count() {
        let row = |&to: &Node| hosts.iter().map(|&from| crossings.mean(from, to)).collect();
        let means: Vec<Vec<f64>> = hosts.iter().map(row).collect();
        for ((from, to), weight) in pairs.weights() {
            let [from_class, to_class] = [from, to].map(|host| class_of[host.0 as usize] as usize);
            sums[to.0 as usize] += weight * means[to_class][from_class];
        }
    } else {
        let mut all: Vec<_> = pairs.weights().collect();
        all.sort_by_key(|((_, to), _)| *to);
        for ((from, to), weight) in all {
            sums[to.0 as usize] += weight * crossings.mean(from, to);
        }
    }
    sums.into_iter().sum()
}

/// Classes of hosts, by number, and a host of each class. Hosts of a class are attached to one switch, and `counts` is
/// equal for their links.
fn classes(network: &Network, paths: &Paths, counts: &[bool]) -> (Vec<u32>, Vec<Node>) {
    let (mut known, mut class_of, mut hosts) = (BTreeMap::new(), vec![0; network.graph.nodes.len()], Vec::new());
    for host in network.graph.hosts() {
        let links = paths.access_link(host).map(|it| [it.exit, it.entry].map(|port| counts[port as usize]));
        class_of[host.0 as usize] = *known.entry((paths.inner(host), links)).or_insert_with(|| {
            hosts.push(host);
            hosts.len() as u32 - 1
        });
    }
    (class_of, hosts)
}
