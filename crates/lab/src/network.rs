//! From a topology to a graph with names. Nodes and links do not depend on the seed, only delays that are drawn do.

use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, Bytes, Node, Pace, Seed, Span, Time};
use shallop_sim::topo::{Trunk, dumbbell, parking_lot};
use shallop_sim::{Graph, NodeKind};
use shallop_switch::{Aggregate, Change, Impairment};

use crate::campus::RADIO;
use crate::fabrics::Line;
use crate::plan::{Delays, GraphLink, GraphNode, Plan, Topology};
use crate::shape::Shape;

/// A graph with names, and what its links are besides.
#[derive(Clone, Debug)]
pub struct Network {
    /// Nodes and links.
    pub graph: Graph,
    /// Names by node.
    pub names: Vec<String>,
    /// Sets of hosts that a group may name: each host by itself, all as `hosts`, and those of the topology.
    pub sets: BTreeMap<String, Vec<Node>>,
    /// Hosts by the place they are at: a side, a rack, a data centre. A host is at one place.
    pub sites: Vec<Vec<Node>>,
    /// Sets of links by name: the ports of both directions of each link. `all` are all of them.
    pub links: BTreeMap<String, Vec<u32>>,
    /// For each node what switch it is like, an index into [`Plan::switches`].
    pub switch_of: Vec<usize>,
    /// The frames that packets leave in by radio.
    frames: Option<Aggregate>,
    /// For each link, the trouble it makes: loss, jitter, changes. Empty if none of them makes any.
    troubles: Vec<GraphLink>,
    /// Each packet of a host takes up to this much longer.
    nic_jitter: Span,
}

impl Network {
    /// The network of this plan, with the delays this seed draws.
    #[must_use]
    pub fn build(plan: &Plan, seed: Seed) -> Self {
        let shape = match &plan.topology {
            Topology::Dumbbell { .. } => dumbbell_shape(&plan.topology, seed),
            Topology::ParkingLot { .. } => parking_lot_shape(&plan.topology),
            Topology::Graph { nodes, links } => graph_shape(nodes, links),
            Topology::ThreeDc(three) => three.build(),
            Topology::LeafSpine(fabric) => fabric.build(),
            Topology::FatTree(tree) => tree.build(),
            Topology::CrossDc(pair) => pair.build(),
            Topology::Campus(campus) => campus.build(),
            Topology::File(imported) => imported.build(),
        };
        let Shape { graph, names, switch_of, sets, sites, links } = shape.finish();
        let troubles = match &plan.topology {
            Topology::Graph { links, .. } => links.clone(),
            _ => Vec::new(),
        };
        let frames = match &plan.topology {
            Topology::Campus(campus) => campus.frames,
            _ => None,
        };
        let nic_jitter = plan.nic_jitter;
        Self { graph, names, sets, sites, links, switch_of, frames, troubles, nic_jitter }
    }

    /// The site of each node; `None` for switches, and for hosts that are at none.
    #[must_use]
    pub fn site_of(&self) -> Vec<Option<usize>> {
        let mut site_of = vec![None; self.names.len()];
        for (site, hosts) in self.sites.iter().enumerate() {
            for host in hosts {
                site_of[host.0 as usize] = Some(site);
            }
        }
        site_of
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
        let loss = self.trouble(port).map_or(0.0, |link| link.loss);
        let jitter = self.jitter(port);
        (loss > 0.0 || !jitter.is_zero()).then(|| {
            let stream = seed.stream("wire", u64::from(port));
            Impairment { loss, jitter, stream }
        })
    }

    fn trouble(&self, port: u32) -> Option<&GraphLink> {
        self.troubles.get(port as usize / 2)
    }

    /// How much longer a packet may take by this port: the link's own jitter, and the host's if it is one's.
    fn jitter(&self, port: u32) -> Span {
        let own = self.trouble(port).map_or(Span::ZERO, |link| link.jitter);
        if self.is_switch_port(port) { own } else { own + self.nic_jitter }
    }

    /// The frames that data leave in by this port, if they do not leave one by one.
    #[must_use]
    pub fn aggregate(&self, port: u32) -> Option<Aggregate> {
        let frames = self.frames?;
        self.links.get(RADIO)?.contains(&port).then_some(frames)
    }

    /// The lowest rate this port's link ever has, and the longest it ever takes, jitter included.
    #[must_use]
    pub fn worst(&self, port: u32) -> (BitsPerSec, Span) {
        let link = self.graph.link_of(port);
        let jitter = self.jitter(port);
        let Some(trouble) = self.trouble(port) else { return (link.rate, link.delay + jitter) };
        let rates = trouble.changes.iter().filter_map(|change| change.1);
        let delays = trouble.changes.iter().filter_map(|change| change.2);
        let (rate, delay) = (rates.fold(link.rate, Ord::min), delays.fold(link.delay, Ord::max));
        (rate, delay + jitter)
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
        let Some(link) = self.trouble(port) else { return Vec::new() };
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

/// A graph that was drawn elsewhere, with names for its nodes.
fn named(graph: Graph, name: impl Fn(Node) -> String) -> Shape {
    let names: Vec<String> = (0..graph.nodes.len() as u32).map(|n| name(Node(n))).collect();
    Shape { switch_of: vec![0; names.len()], graph, names, ..Shape::default() }
}

/// Both ports of a link, and of all links of hosts.
fn ports(port: u32) -> [u32; 2] {
    [port & !1, port | 1]
}

fn dumbbell_shape(topology: &Topology, seed: Seed) -> Shape {
    let Topology::Dumbbell { rate, delay, senders, receivers, mtu } = topology else {
        return Shape::default();
    };
    let trunk = Trunk { rate: rate.0, access: rate.1, delay: *delay, mtu: *mtu };
    let dumbbell = dumbbell(&trunk, &draw(senders, seed), *receivers);
    let first = dumbbell.left.first().map_or(0, |host| host.0);
    let left = first..first + dumbbell.left.len() as u32;
    let names = |node: Node| match node.0 {
        0 => "left".to_owned(),
        1 if *receivers > 1 => "right".to_owned(),
        number if left.contains(&number) => format!("s{}", number - left.start),
        number => format!("r{}", number - dumbbell.right[0].0),
    };
    let mut shape = named(dumbbell.graph.clone(), names);
    let bottleneck = ports(dumbbell.bottleneck);
    let others = (0..shape.graph.ports() as u32).filter(|port| !bottleneck.contains(port));
    shape.links.insert("access".into(), others.collect());
    shape.links.insert("bottleneck".into(), bottleneck.to_vec());
    shape.site("left", dumbbell.left);
    shape.site("right", dumbbell.right);
    shape
}

fn parking_lot_shape(topology: &Topology) -> Shape {
    let Topology::ParkingLot { rate, delay, hops, hosts, mtu } = topology else {
        return Shape::default();
    };
    let trunk = Trunk { rate: rate.0, access: rate.1, delay: delay.0, mtu: *mtu };
    let lot = parking_lot(&trunk, *hops, *hosts, delay.1);
    let switches = *hops as u32 + 1;
    let names = |node: Node| match node.0.checked_sub(switches) {
        None => format!("p{}", node.0),
        Some(host) => format!("p{}h{}", host as usize / hosts, host as usize % hosts),
    };
    let mut shape = named(lot.graph, names);
    let chain: Vec<u32> = lot.chain.iter().flat_map(|&port| ports(port)).collect();
    let access = chain.len() as u32..shape.graph.ports() as u32;
    shape.links.insert("access".into(), access.collect());
    shape.links.insert("chain".into(), chain);
    for (at, hosts) in lot.hosts.into_iter().enumerate() {
        shape.site(format!("at{at}"), hosts);
    }
    shape
}

fn graph_shape(nodes: &[GraphNode], links: &[GraphLink]) -> Shape {
    let mut shape = Shape::default();
    for node in nodes {
        match node.kind {
            NodeKind::Host => shape.host(node.name.clone()),
            NodeKind::Switch => shape.switch(node.name.clone(), node.switch),
        };
    }
    // A host is at the first switch that it is linked to.
    let mut at: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
    let mut placed = vec![false; nodes.len()];
    for link in links {
        let (a, b) = link.between;
        let GraphLink { rate, delay, mtu, .. } = *link;
        let [forth, back] =
            [(a, b), (b, a)].map(|(a, b)| format!("{}-{}", nodes[a].name, nodes[b].name));
        let line = Line { rate, delay, mtu };
        shape.join(line.link(Node(a as u32), Node(b as u32)), &[&forth, &back]);
        for (host, switch) in [(a, b), (b, a)] {
            let kinds = (nodes[host].kind, nodes[switch].kind);
            if kinds == (NodeKind::Host, NodeKind::Switch) && !placed[host] {
                placed[host] = true;
                at.entry(switch).or_default().push(Node(host as u32));
            }
        }
    }
    shape.sites = at.into_values().collect();
    shape
}
