//! The paths that traffic may take, before any flow is generated: the ports that it may cross, the longest base round
//! trip, and the mean number of links of a set that a flow crosses. All equal-cost paths count, since a flow may take
//! any of them.
//!
//! Paths are the shortest ones ([`Paths`]). The two directions of a link have equal rates and delays, so a reverse path
//! is as long as its forward path. Nodes that share a column of [`Paths`] have equal paths, so each column is computed
//! once.

use crate::host_pairs::HostPairs;
use crate::network::{Network, NoPath};
use shallop_core::{Bytes, Node, Span};
use shallop_proto::wire;
use shallop_topology::Paths;
use std::{cmp::Reverse, collections::BTreeMap};

/// The kinds of traffic that may cross a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTraffic {
    /// Whether data of some flow may cross the port.
    pub data: bool,
    /// Whether packets that receivers send may cross the port.
    pub returns: bool,
    /// Whether packets of a transport without credits may cross the port, in a network where other transports have
    /// credits.
    pub legacy: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairRtt {
    /// Round-trip time of a smallest frame in an empty network; the longest possible one if links have jitter or
    /// change.
    pub base_rtt: Span,
    pub from: Node,
    pub to: Node,
}

/// Properties of all paths between a set of host pairs.
#[derive(Clone, Debug, Default)]
pub struct TrafficPaths {
    /// By port: the kinds of traffic that may cross it.
    pub ports: Vec<PortTraffic>,
    /// The pair with the longest base round trip; of equal ones, the pair with the lowest receiver and then the lowest
    /// sender.
    pub longest: Option<PairRtt>,
    /// The pair with the shortest base round trip; of equal ones, the pair with the lowest receiver and then the lowest
    /// sender.
    pub shortest: Option<PairRtt>,
    /// The most links on a path. The reverse path has as many.
    pub hops: u32,
}

/// By receiver: the nodes that send to it.
type Senders = Vec<Vec<Node>>;

impl TrafficPaths {
    /// Finds the paths between pairs of hosts, and their properties.
    ///
    /// # Errors
    /// Of the pairs without a path, the one with the lowest receiver and then the lowest sender.
    pub fn between(network: &Network, paths: &Paths, pairs: &HostPairs) -> Result<Self, NoPath> {
        let ports = vec![PortTraffic::default(); network.graph.ports()];
        let mut traffic = Self { ports, ..Self::default() };
        traffic.add_round_trips(network, paths, pairs)?;
        for host in network.graph.hosts() {
            let Some(link) = paths.access_link(host) else { continue };
            let (sends, receives) = (pairs.sends[host.0 as usize], pairs.receives[host.0 as usize]);
            traffic.ports[link.exit as usize].data |= sends;
            traffic.ports[link.entry as usize].data |= receives;
            traffic.ports[link.exit as usize].returns |= receives;
            traffic.ports[link.entry as usize].returns |= sends;
        }
        let mut there: Senders = vec![Vec::new(); network.graph.nodes.len()];
        let mut back = there.clone();
        for (receiver, pairs_of) in pairs.by_receiver() {
            for &(from, _) in pairs_of {
                let from = pairs.attachment(from).at;
                there[receiver.at.0 as usize].push(from);
                back[from.0 as usize].push(receiver.at);
            }
        }
        each_crossed(network, paths, there, |port| traffic.ports[port as usize].data = true);
        each_crossed(network, paths, back, |port| traffic.ports[port as usize].returns = true);
        Ok(traffic)
    }

    fn add_round_trips(&mut self, network: &Network, paths: &Paths, pairs: &HostPairs) -> Result<(), NoPath> {
        let mut by_column: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for (receiver, pairs_of) in pairs.by_receiver() {
            if let Some(column) = paths.column(receiver.at) {
                by_column.entry(column).or_default().push((receiver, pairs_of));
            }
        }
        let mut without = None;
        for (column, receivers) in by_column {
            let transit = longest_transits(network, paths, column);
            for (receiver, pairs_of) in receivers {
                for &(from, to) in pairs_of {
                    let sender = pairs.attachment(from);
                    let between =
                        if sender.at == receiver.at { Some((Span::ZERO, 0)) } else { transit[sender.at.0 as usize] };
                    let Some((between, hops)) = between else {
                        without = Some(without.map_or((to, from), |first| (to, from).min(first)));
                        continue;
                    };
                    self.hops = self.hops.max(sender.hops + hops + receiver.hops);
                    let base_rtt = (sender.up + between + receiver.down) * 2;
                    self.add_pair(PairRtt { base_rtt, from, to });
                }
            }
        }
        without.map_or(Ok(()), |(to, from)| {
            let name = |node: Node| network.names[node.0 as usize].clone();
            Err(NoPath { from: name(from), to: name(to) })
        })
    }

    fn add_pair(&mut self, pair: PairRtt) {
        let longest = |pair: PairRtt| (pair.base_rtt, Reverse((pair.to, pair.from)));
        let shortest = |pair: PairRtt| (pair.base_rtt, pair.to, pair.from);
        if self.longest.is_none_or(|other| longest(pair) > longest(other)) {
            self.longest = Some(pair);
        }
        if self.shortest.is_none_or(|other| shortest(pair) < shortest(other)) {
            self.shortest = Some(pair);
        }
    }
}

/// By node: the longest time that a smallest frame takes to any other node of the routing column, and the links on that
/// path. `None` for hosts with one link, and for nodes without a path.
fn longest_transits(network: &Network, paths: &Paths, column: usize) -> Vec<Option<(Span, u32)>> {
    let graph = &network.graph;
    let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
    let mut longest = vec![None; graph.nodes.len()];
    let members = paths.members(column);
    for member in members {
        longest[member.0 as usize] = Some((Span::ZERO, 0));
    }
    let through = |longest: &[Option<(Span, u32)>], node: Node| {
        let ports = paths.ports_to_column(node, column).iter();
        let through = ports.filter_map(|&port| {
            let (rest, hops) = longest[graph.far(port).0 as usize]?;
            Some((network.longest_transit(&[port], smallest) + rest, hops + 1))
        });
        through.max()
    };
    for node in paths.nearest_first(column) {
        longest[node.0 as usize] = through(&longest, node);
    }
    // Paths to a member do not lead through other members, so members are computed last.
    for member in members {
        longest[member.0 as usize] = through(&longest, *member);
    }
    longest
}

/// Calls `each` with every port that packets may cross to each receiver from its `senders`, some ports repeatedly.
fn each_crossed(network: &Network, paths: &Paths, senders: Senders, mut each: impl FnMut(u32)) {
    // Receivers of one column with equal senders are done together. Exception: a receiver that is the column's only
    // sender. Its packets to other members come by ports by which none come to itself.
    type Key = (usize, Option<Node>, Vec<Node>);
    let mut alike: BTreeMap<Key, Vec<Node>> = BTreeMap::new();
    let senders = (0..).map(Node).zip(senders).filter(|(_, from)| !from.is_empty());
    for (to, mut from) in senders {
        from.sort_unstable();
        from.dedup();
        let Some(column) = paths.column(to) else { continue };
        let mut twins = from.iter().filter(|&&from| paths.column(from) == Some(column));
        let only = twins.next().filter(|&&first| first == to && twins.next().is_none());
        alike.entry((column, only.copied(), from)).or_default().push(to);
    }
    let mut reached = vec![false; network.graph.nodes.len()];
    for ((column, _, from), to) in alike {
        reached.fill(false);
        for node in &from {
            reached[node.0 as usize] = true;
        }
        if let [alone] = to[..] {
            // Packets between two hosts of one switch cross no further port.
            reached[alone.0 as usize] = false;
        }
        let members = paths.members(column).iter().copied();
        for node in members.chain(paths.nearest_first(column).rev()) {
            if !reached[node.0 as usize] {
                continue;
            }
            for &port in paths.ports_to_column(node, column) {
                let far = network.graph.far(port);
                if paths.column(far) == Some(column) {
                    let last = to.iter().flat_map(|&to| paths.ports(node, to));
                    last.for_each(|&port| each(port));
                    break;
                }
                reached[far.0 as usize] = true;
                each(port);
            }
        }
    }
}

/// Computes how many ports of a set flows cross on average.
pub struct Crossings<'a> {
    network: &'a Network,
    paths: &'a Paths,
    /// By port: whether it belongs to the set.
    counts: &'a [bool],
    /// The destination for which `means` was computed last, and whether the port that leads from it to the receiving
    /// host is in the set.
    last: Option<(Node, bool)>,
    /// Key of the destination that was computed last and, by node, the mean number of ports in the set on the way to
    /// it.
    means: Option<(Destination, Vec<f64>)>,
}

/// Key of a destination: the routing column; whether the port to the receiving host is in the set; and for each port
/// that leads to the destination, its delay and whether it is in the set. Destinations with equal keys have equal
/// means.
type Destination = (usize, bool, Vec<(Span, bool)>);

impl<'a> Crossings<'a> {
    pub fn new(network: &'a Network, paths: &'a Paths, counts: &'a [bool]) -> Self {
        Self { network, paths, counts, last: None, means: None }
    }

    /// The mean number of ports in the set that a flow crosses, if equal-cost paths are equally likely. Calls for one
    /// receiver should follow each other: paths are followed once for each receiver.
    pub fn mean(&mut self, from: Node, to: Node) -> f64 {
        let (sender, receiver) = (self.paths.access_link(from), self.paths.access_link(to));
        let (at, end) = (self.paths.inner(from), self.paths.inner(to));
        let counts = |port: u32| f64::from(u8::from(self.counts[port as usize]));
        let entry = receiver.is_some_and(|link| self.counts[link.entry as usize]);
        let first = sender.map(|link| counts(link.exit));
        if at != end && self.last != Some((end, entry)) {
            self.follow(end, entry);
        }
        let mean = || self.means.as_ref().map_or(0.0, |(_, means)| means[at.0 as usize]);
        let rest = if at == end { f64::from(u8::from(entry)) } else { mean() };
        first.map_or(rest, |first| first + rest)
    }

    /// Computes `means` for the destination `end`. `entry` says whether the port from there to the receiving host is in
    /// the set.
    fn follow(&mut self, end: Node, entry: bool) {
        self.last = Some((end, entry));
        let Some(column) = self.paths.column(end) else { return };
        let graph = &self.network.graph;
        let inwards = |port: &u32| (graph.link_of(*port).delay, self.counts[(*port ^ 1) as usize]);
        let key = (column, entry, self.paths.twins.ports[end.0 as usize].iter().map(inwards).collect());
        if self.means.as_ref().is_some_and(|(known, _)| *known == key) {
            return;
        }
        let mut mean = vec![0.0; graph.nodes.len()];
        mean[end.0 as usize] = f64::from(u8::from(entry));
        let through = |mean: &[f64], ports: &[u32]| {
            let each = ports.iter().map(|&port| {
                let count = f64::from(u8::from(self.counts[port as usize]));
                count + mean[graph.far(port).0 as usize]
            });
            each.sum::<f64>() / ports.len().max(1) as f64
        };
        for node in self.paths.nearest_first(column) {
            mean[node.0 as usize] = through(&mean, self.paths.ports(node, end));
        }
        // Paths to a member do not lead through other members, so members are computed last.
        for &member in self.paths.members(column) {
            mean[member.0 as usize] = through(&mean, self.paths.ports_to_column(member, column));
        }
        self.means = Some((key, mean));
    }
}
