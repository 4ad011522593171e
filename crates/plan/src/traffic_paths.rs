//! The paths that the traffic of a workload may take, before any flow is generated: the ports that data and packets of
//! receivers may cross, the longest base round trip, and the mean number of links of a set that a flow crosses. All
//! equal-cost paths count, since a flow may take any of them.
//!
//! Paths are the shortest ones ([`Paths`]). Both directions of a link are alike, so a reverse path is as long as a
//! path.

use shallop_core::{Bytes, Node, Span};
use shallop_proto::wire;
use shallop_topology::Paths;

use crate::network::{Network, NoPath};

/// The traffic that may cross a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTraffic {
    /// Data of some flow.
    pub data: bool,
    /// Packets that the receiver of some flow sends.
    pub returns: bool,
    /// Packets of a transport without credits, if others have credits.
    pub legacy: bool,
}

/// The pairs of hosts that may communicate: for each receiver a bitmap of its senders.
#[derive(Clone, Debug)]
pub struct HostPairs {
    words: usize,
    to: Vec<Vec<u64>>,
}

impl HostPairs {
    /// No pairs, in a network with this many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { words: nodes.div_ceil(64), to: vec![Vec::new(); nodes] }
    }

    /// Adds a pair of sender and receiver.
    pub fn insert(&mut self, from: Node, to: Node) {
        let senders = &mut self.to[to.0 as usize];
        senders.resize(self.words, 0);
        senders[from.0 as usize / 64] |= 1 << (from.0 % 64);
    }

    /// The senders of a receiver, in ascending order.
    fn senders(&self, to: Node) -> impl Iterator<Item = Node> + '_ {
        let words = self.to[to.0 as usize].iter().enumerate();
        words.flat_map(|(index, &word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| Node((index * 64 + bit) as u32))
        })
    }

    /// The receivers that have senders, in ascending order.
    fn receivers(&self) -> impl Iterator<Item = Node> + '_ {
        let any = |senders: &Vec<u64>| senders.iter().any(|&word| word != 0);
        (0..self.to.len()).filter(move |&to| any(&self.to[to])).map(|to| Node(to as u32))
    }

    /// The pairs with sender and receiver exchanged.
    fn reversed(&self) -> Self {
        let mut reversed = Self::new(self.to.len());
        for to in self.receivers() {
            self.senders(to).for_each(|from| reversed.insert(to, from));
        }
        reversed
    }
}

/// The base round trip of a pair of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairRtt {
    /// The round-trip time of a smallest frame in an empty network; the longest possible one if links have jitter or
    /// change.
    pub base_rtt: Span,
    /// The sender.
    pub from: Node,
    /// The receiver.
    pub to: Node,
}

/// The paths of the traffic between a set of host pairs.
#[derive(Clone, Debug, Default)]
pub struct TrafficPaths {
    /// The traffic that may cross each port.
    pub ports: Vec<PortTraffic>,
    /// The longest base round trip; the first one of several.
    pub longest: Option<PairRtt>,
    /// The shortest base round trip.
    pub shortest: Option<PairRtt>,
    /// The most links on a path; its reverse path has as many.
    pub hops: u32,
}

impl TrafficPaths {
    /// The paths between these pairs.
    ///
    /// # Errors
    /// The first pair without a path.
    pub fn of(network: &Network, paths: &Paths, pairs: &HostPairs) -> Result<Self, NoPath> {
        let ports = vec![PortTraffic::default(); network.graph.ports()];
        let mut traffic = Self { ports, ..Self::default() };
        for to in pairs.receivers() {
            let tree = ShortestPathTree::towards(network, paths, to);
            for from in pairs.senders(to) {
                traffic.add_pair(network, &tree, from)?;
            }
            for port in tree.crossed(pairs.senders(to)) {
                traffic.ports[port as usize].data = true;
            }
        }
        let reverse = pairs.reversed();
        for to in reverse.receivers() {
            let tree = ShortestPathTree::towards(network, paths, to);
            for port in tree.crossed(reverse.senders(to)) {
                traffic.ports[port as usize].returns = true;
            }
        }
        Ok(traffic)
    }

    fn add_pair(
        &mut self,
        network: &Network,
        tree: &ShortestPathTree,
        from: Node,
    ) -> Result<(), NoPath> {
        let to = tree.to;
        let Some((transit, hops)) = tree.longest[from.0 as usize] else {
            let name = |node: Node| network.names[node.0 as usize].clone();
            return Err(NoPath { from: name(from), to: name(to) });
        };
        let pair = PairRtt { base_rtt: transit * 2, from, to };
        if self.longest.is_none_or(|longest| pair.base_rtt > longest.base_rtt) {
            self.longest = Some(pair);
        }
        if self.shortest.is_none_or(|shortest| pair.base_rtt < shortest.base_rtt) {
            self.shortest = Some(pair);
        }
        self.hops = self.hops.max(hops);
        Ok(())
    }
}

/// All shortest paths to one node.
#[derive(Clone, Debug)]
pub struct ShortestPathTree {
    to: Node,
    /// The nodes that have a path, the nearest first, each with its ports on a shortest path.
    order: Vec<(Node, Vec<u32>)>,
    /// The node to which each port leads.
    far: Vec<Node>,
    /// For each node the longest transit time of a smallest frame, and the links on that path.
    longest: Vec<Option<(Span, u32)>>,
}

impl ShortestPathTree {
    /// The shortest paths to this node.
    #[must_use]
    pub fn towards(network: &Network, paths: &Paths, to: Node) -> Self {
        let graph = &network.graph;
        let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
        let order = paths.towards(graph, to);
        let far = (0..graph.ports() as u32).map(|port| graph.far(port)).collect();
        let mut longest = vec![None; graph.nodes.len()];
        longest[to.0 as usize] = Some((Span::ZERO, 0));
        for (node, ports) in order.iter().filter(|(node, _)| *node != to) {
            let through = ports.iter().filter_map(|&port| {
                let (rest, hops) = longest[graph.far(port).0 as usize]?;
                Some((network.longest_transit(&[port], smallest) + rest, hops + 1))
            });
            longest[node.0 as usize] = through.max();
        }
        Self { to, order, far, longest }
    }

    /// The ports that packets from any of these nodes may cross.
    pub(crate) fn crossed(&self, from: impl Iterator<Item = Node>) -> Vec<u32> {
        let mut reached = vec![false; self.longest.len()];
        from.for_each(|node| reached[node.0 as usize] = true);
        let mut crossed = Vec::new();
        for (node, ports) in self.order.iter().rev() {
            if reached[node.0 as usize] {
                for &port in ports {
                    reached[self.far[port as usize].0 as usize] = true;
                    crossed.push(port);
                }
            }
        }
        crossed
    }

    /// Sends what each node has (`amounts`) to the root of the tree, in equal parts over equal-cost paths, and adds
    /// what crosses each port to `crossing`. Leaves `amounts` zero.
    pub(crate) fn spread(&self, amounts: &mut [f64], crossing: &mut [f64]) {
        for (node, ports) in self.order.iter().rev() {
            let amount = std::mem::take(&mut amounts[node.0 as usize]);
            if amount > 0.0 {
                let part = amount / ports.len().max(1) as f64;
                for &port in ports {
                    crossing[port as usize] += part;
                    amounts[self.far[port as usize].0 as usize] += part;
                }
            }
        }
    }

    /// For each node the mean number of ports with `counts` that a flow from there crosses, if equal-cost paths are
    /// equally likely.
    #[must_use]
    pub fn mean_crossings(&self, counts: &[bool]) -> Vec<f64> {
        let mut mean = vec![0.0; self.longest.len()];
        for (node, ports) in &self.order {
            let through = ports.iter().map(|&port| {
                let (port, far) = (port as usize, self.far[port as usize].0 as usize);
                f64::from(u8::from(counts[port])) + mean[far]
            });
            mean[node.0 as usize] = through.sum::<f64>() / ports.len().max(1) as f64;
        }
        mean
    }
}
