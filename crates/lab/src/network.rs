//! From a topology to a graph with names. Nodes and links do not depend on the seed, only delays that are drawn do.

use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, Bytes, Node, Pace, Seed, Span, Time};
use shallop_sim::topo::{Trunk, dumbbell, parking_lot};
use shallop_sim::{Graph, NodeKind};
use shallop_switch::{Change, Impairment};

use crate::plan::{Delays, GraphLink, Plan, Topology};

/// A graph with names, and what its links are besides.
#[derive(Clone, Debug)]
pub struct Network {
    /// Nodes and links.
    pub graph: Graph,
    /// Names by node.
    pub names: Vec<String>,
    /// Sets of hosts that a group may name: each host by itself, and those of the topology.
    pub sets: BTreeMap<String, Vec<Node>>,
    /// Hosts by the place they are at.
    pub sites: Vec<Vec<Node>>,
    /// Sets of links by name: the ports of both directions of each link.
    pub links: BTreeMap<String, Vec<u32>>,
    /// For each node what switch it is like, an index into [`Plan::switches`].
    pub switch_of: Vec<usize>,
    /// For each link, the trouble it makes: loss, jitter, changes. Empty if none of them makes any.
    troubles: Vec<GraphLink>,
}

impl Network {
    /// The network of this plan, with the delays this seed draws.
    #[must_use]
    pub fn build(plan: &Plan, seed: Seed) -> Self {
        match &plan.topology {
            Topology::Dumbbell { rate, delay, senders, receivers, mtu } => {
                let trunk = Trunk { rate: rate.0, access: rate.1, delay: *delay, mtu: *mtu };
                let dumbbell = dumbbell(&trunk, &draw(senders, seed), *receivers);
                let names = |node: Node| match node.0 {
                    0 => "left".to_owned(),
                    1 if *receivers > 1 => "right".to_owned(),
                    _ => match dumbbell.left.iter().position(|&host| host == node) {
                        Some(index) => format!("s{index}"),
                        None => format!("r{}", place(&dumbbell.right, node)),
                    },
                };
                let sets = [("left", dumbbell.left.clone()), ("right", dumbbell.right.clone())];
                Self::named(dumbbell.graph.clone(), names, sets)
            }
            Topology::ParkingLot { rate, delay, hops, hosts, mtu } => {
                let trunk = Trunk { rate: rate.0, access: rate.1, delay: delay.0, mtu: *mtu };
                let lot = parking_lot(&trunk, *hops, *hosts, delay.1);
                let names = |node: Node| {
                    let at = lot.hosts.iter().position(|hosts| hosts.contains(&node));
                    match at {
                        None => format!("p{}", node.0),
                        Some(at) => format!("p{at}h{}", place(&lot.hosts[at], node)),
                    }
                };
                let sets = lot.hosts.iter().enumerate().map(|(at, set)| (at, set.clone()));
                let sets: Vec<_> = sets.map(|(at, set)| (format!("at{at}"), set)).collect();
                Self::named(lot.graph.clone(), names, sets)
            }
            Topology::Graph { nodes, links } => {
                let mut graph = Graph::default();
                for node in nodes {
                    graph.add(node.kind);
                }
                for link in links {
                    let (a, b) = (Node(link.between.0 as u32), Node(link.between.1 as u32));
                    let GraphLink { rate, delay, mtu, .. } = *link;
                    graph.connect(shallop_sim::GraphLink { a, b, rate, delay, mtu });
                }
                let sets: [(String, Vec<Node>); 0] = [];
                let names = |node: Node| nodes[node.0 as usize].name.clone();
                let mut network = Self::named(graph, names, sets);
                network.switch_of = nodes.iter().map(|node| node.switch).collect();
                network.troubles.clone_from(links);
                network
            }
        }
    }

    fn named<S: Into<String>>(
        graph: Graph,
        name: impl Fn(Node) -> String,
        sets: impl IntoIterator<Item = (S, Vec<Node>)>,
    ) -> Self {
        let names: Vec<String> = (0..graph.nodes.len() as u32).map(|n| name(Node(n))).collect();
        let mut all: BTreeMap<String, Vec<Node>> =
            sets.into_iter().map(|(name, set)| (name.into(), set)).collect();
        for host in graph.hosts() {
            all.insert(names[host.0 as usize].clone(), vec![host]);
        }
        let switch_of = vec![0; names.len()];
        let links = BTreeMap::from([("bottleneck".to_owned(), vec![0, 1])]);
        Self { graph, names, sets: all, sites: vec![], links, switch_of, troubles: Vec::new() }
    }

    /// The hosts by name.
    #[must_use]
    pub fn hosts(&self) -> BTreeMap<&str, Node> {
        self.graph.hosts().map(|host| (self.names[host.0 as usize].as_str(), host)).collect()
    }

    /// What a port is called: the nodes it leads from and to.
    #[must_use]
    pub fn port_name(&self, port: u32) -> String {
        let name = |node: Node| self.names[node.0 as usize].as_str();
        format!("{}>{}", name(self.graph.near(port)), name(self.graph.far(port)))
    }

    /// True if this port belongs to a switch.
    #[must_use]
    pub fn is_switch_port(&self, port: u32) -> bool {
        self.graph.kind(self.graph.near(port)) == NodeKind::Switch
    }

    /// The random trouble of this port's wire, if any.
    #[must_use]
    pub fn impairment(&self, port: u32, seed: Seed) -> Option<Impairment> {
        let link = self.troubles.get(port as usize / 2)?;
        let trouble = link.loss > 0.0 || !link.jitter.is_zero();
        trouble.then(|| Impairment {
            loss: link.loss,
            jitter: link.jitter,
            stream: seed.stream("wire", u64::from(port)),
        })
    }

    /// The lowest rate this port's link ever has, and the longest it ever takes, jitter included.
    #[must_use]
    pub fn worst(&self, port: u32) -> (BitsPerSec, Span) {
        let link = self.graph.link_of(port);
        let Some(trouble) = self.troubles.get(port as usize / 2) else {
            return (link.rate, link.delay);
        };
        let rates = trouble.changes.iter().filter_map(|change| change.1);
        let delays = trouble.changes.iter().filter_map(|change| change.2);
        let (rate, delay) = (rates.fold(link.rate, Ord::min), delays.fold(link.delay, Ord::max));
        (rate, delay + trouble.jitter)
    }

    /// The longest that a packet of this size ever takes through these ports when nothing else is there.
    #[must_use]
    pub fn longest_transit(&self, ports: &[u32], size: Bytes) -> Span {
        let each = |&port: &u32| {
            let (rate, delay) = self.worst(port);
            delay + Pace::new(rate).quote(size)
        };
        ports.iter().map(each).sum()
    }

    /// What this port's link becomes in the course of the run.
    #[must_use]
    pub fn changes(&self, port: u32) -> Vec<Change> {
        let Some(link) = self.troubles.get(port as usize / 2) else { return Vec::new() };
        let change = |&(at, rate, delay): &(Span, _, _)| {
            let at = Time::after_start(at);
            Change { at, rate, delay }
        };
        link.changes.iter().map(change).collect()
    }
}

/// The delays a seed gives.
fn draw(delays: &Delays, seed: Seed) -> Vec<Span> {
    match delays {
        Delays::Each(delays) => delays.clone(),
        Delays::Drawn(count, low, high) => (0..*count)
            .map(|index| {
                let unit = seed.stream("delay", index as u64).unit();
                *low + (*high - *low).scale(unit)
            })
            .collect(),
    }
}

fn place(nodes: &[Node], node: Node) -> usize {
    nodes.iter().position(|&other| other == node).unwrap_or(0)
}
