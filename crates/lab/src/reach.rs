//! What a workload may bring about in a network, before any flow is drawn: which ports data and returns may cross, the
//! longest base round trip, how many links of a set a flow crosses. All equal paths count, since a flow may take any.
//!
//! Source: the shortest paths of [`Paths`]; links are alike both ways, so a way back is as long as a way there.

use shallop_core::{Bytes, Node, Span};
use shallop_proto::wire;
use shallop_sim::Paths;

use crate::flows::NoPath;
use crate::layout::Crossing;
use crate::network::Network;

/// Who may send to whom: for each receiver the senders, a bit for each node.
#[derive(Clone, Debug)]
pub struct Talk {
    words: usize,
    to: Vec<Vec<u64>>,
}

impl Talk {
    /// Nobody to nobody, in a network of so many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { words: nodes.div_ceil(64), to: vec![Vec::new(); nodes] }
    }

    /// This node may send to that one.
    pub fn pair(&mut self, from: Node, to: Node) {
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

    /// The receivers that have any sender, in ascending order.
    fn receivers(&self) -> impl Iterator<Item = Node> + '_ {
        let any = |senders: &Vec<u64>| senders.iter().any(|&word| word != 0);
        (0..self.to.len()).filter(move |&to| any(&self.to[to])).map(|to| Node(to as u32))
    }

    /// The same with the directions turned round.
    fn reversed(&self) -> Self {
        let mut reversed = Self::new(self.to.len());
        for to in self.receivers() {
            self.senders(to).for_each(|from| reversed.pair(to, from));
        }
        reversed
    }
}

/// What the longest or shortest way is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Time for a smallest frame to go and one to come back, when nothing else is there; the longest of all times if
    /// the links have jitter or change.
    pub base_rtt: Span,
    /// From here.
    pub from: Node,
    /// To here.
    pub to: Node,
}

/// What may happen.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// For each port what may cross it.
    pub crossings: Vec<Crossing>,
    /// The way with the longest base round trip; the first one of several.
    pub longest: Option<Way>,
    /// The way with the shortest.
    pub shortest: Option<Way>,
    /// Most links on a way, there or back: both have as many.
    pub hops: u32,
}

impl Reach {
    /// What may happen between those who talk.
    ///
    /// # Errors
    /// The first pair that no path joins.
    pub fn of(network: &Network, paths: &Paths, talk: &Talk) -> Result<Self, NoPath> {
        let crossings = vec![Crossing::default(); network.graph.ports()];
        let mut reach = Self { crossings, ..Self::default() };
        for to in talk.receivers() {
            let tree = Tree::towards(network, paths, to);
            for from in talk.senders(to) {
                reach.note(network, &tree, from)?;
            }
            for port in tree.crossed(talk.senders(to)) {
                reach.crossings[port as usize].data = true;
            }
        }
        let back = talk.reversed();
        for to in back.receivers() {
            let tree = Tree::towards(network, paths, to);
            for port in tree.crossed(back.senders(to)) {
                reach.crossings[port as usize].returns = true;
            }
        }
        Ok(reach)
    }

    fn note(&mut self, network: &Network, tree: &Tree, from: Node) -> Result<(), NoPath> {
        let to = tree.to;
        let Some((transit, hops)) = tree.longest[from.0 as usize] else {
            let name = |node: Node| network.names[node.0 as usize].clone();
            return Err(NoPath { from: name(from), to: name(to) });
        };
        let way = Way { base_rtt: transit * 2, from, to };
        if self.longest.is_none_or(|longest| way.base_rtt > longest.base_rtt) {
            self.longest = Some(way);
        }
        if self.shortest.is_none_or(|shortest| way.base_rtt < shortest.base_rtt) {
            self.shortest = Some(way);
        }
        self.hops = self.hops.max(hops);
        Ok(())
    }
}

/// All shortest paths towards one node.
#[derive(Clone, Debug)]
pub struct Tree {
    to: Node,
    /// The nodes that have a way, the nearest first, each with the ports that lie on a shortest path.
    order: Vec<(Node, Vec<u32>)>,
    /// The node each port leads to.
    far: Vec<Node>,
    /// By node, the longest time of a smallest frame, and the links on that way.
    longest: Vec<Option<(Span, u32)>>,
}

impl Tree {
    /// The shortest paths towards `to`.
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

    /// The ports that what goes from any of these nodes may cross.
    fn crossed(&self, from: impl Iterator<Item = Node>) -> Vec<u32> {
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

    /// By node, how many of the ports for which `counts` is true a flow from there crosses on average, if equal paths
    /// are taken equally often.
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
