//! The network of a plan: a graph with names. Of all of it, only random delays depend on the seed.

use crate::plan::{GraphLink, GraphNode, LinkWay, Plan, Switch, Topology};
use crate::scale;
use shallop_core::{BitsPerSec, Bytes, Node, Pace, Seed, Span, Time};
use shallop_proto::wire;
use shallop_switch::{FrameAggregation, Impairment, LinkChange};
use shallop_topology::builder::NetworkBuilder;
use shallop_topology::{Graph, Imported, NodeKind, Paths, SwitchNames, Twins, Way};
use std::collections::{BTreeMap, BTreeSet};

/// An error: no path leads from a sender to its receiver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no path leads from host \"{from}\" to host \"{to}\"")]
pub struct NoPath {
    pub from: String,
    pub to: String,
}

/// Properties by which switch ports are grouped in messages: index of the switch's configuration, rate, and MTU of the
/// link.
pub type PortKind = (usize, BitsPerSec, Bytes);

/// The graph of a plan with the names of nodes and links, and the impairments of links.
#[derive(Clone, Debug)]
pub struct Network {
    pub graph: Graph,
    /// By node: its name.
    pub names: Vec<String>,
    /// Sets of hosts by name: each host alone under its own name, all hosts as `hosts`, and the sets of the topology.
    pub sets: BTreeMap<String, Vec<Node>>,
    /// Hosts by site: a rack, a side of a dumbbell or a data centre. A host is at one site at most.
    pub sites: Vec<Vec<Node>>,
    /// Sets of links by name. A set lists the ports of both directions of its links; `all` has every link.
    pub links: BTreeMap<String, Vec<u32>>,
    /// By node: index of the switch's configuration in [`Plan::switches`].
    pub switch_of: Vec<usize>,
    /// Name of the set of links on which frames are aggregated, and the parameters of aggregation.
    aggregation: Option<(&'static str, FrameAggregation)>,
    /// Links with impairments or changes; empty if there are none.
    impaired: Vec<GraphLink>,
    /// The largest random delay of packets that a host sends.
    nic_jitter: Span,
    /// The ports of parallel links, by sending and receiving node, in ascending order; empty without parallel links.
    parallel: BTreeMap<(Node, Node), Vec<u32>>,
}

impl Network {
    /// Builds the network of a plan. The seed determines the random delays of links.
    pub fn build(plan: &Plan, seed: Seed) -> Self {
        let names = plan.switches.iter().map(|switch| switch.name.as_str()).collect();
        let builder = builder(&plan.topology, seed, &SwitchNames(names));
        let NetworkBuilder { mut graph, names, switch_of, sets, sites, links, aggregation } = builder.finish();
        let mut impaired = match plan.topology.unscaled() {
            Topology::Graph { links, .. } if links.iter().any(GraphLink::is_impaired) => links.clone(),
            Topology::File(imported, faults) if !faults.is_empty() => with_faults(imported, faults),
            _ => Vec::new(),
        };
        if let Some(by) = plan.topology.scale() {
            for link in &mut graph.links {
                for way in &mut link.ways {
                    way.rate = way.rate.share(by);
                }
            }
            for link in &mut impaired {
                *link = scale::link(link, by);
            }
        }
        let nic_jitter = plan.nic_jitter.unwrap_or_else(|| slowest_frame(&graph));
        let parallel = parallel(&graph);
        Self { graph, names, sets, sites, links, switch_of, aggregation, impaired, nic_jitter, parallel }
    }

    pub fn paths(&self) -> Paths {
        Paths::with_twins(&self.graph, self.twins())
    }

    /// The number of entries in the routing table that will be computed for this network.
    pub fn route_entries(&self) -> u64 {
        self.twins().table_entries(&self.graph)
    }

    /// Finds the nodes that share a column of the routing table. If any link is impaired there are none, because the
    /// graph does not show how impaired links differ.
    fn twins(&self) -> Twins {
        Twins::new(&self.graph, self.impaired.is_empty())
    }

    pub fn site_of(&self) -> Vec<Option<usize>> {
        let mut site_of = vec![None; self.names.len()];
        for (site, hosts) in self.sites.iter().enumerate() {
            for host in hosts {
                site_of[host.0 as usize] = Some(site);
            }
        }
        site_of
    }

    pub fn hosts(&self) -> BTreeMap<&str, Node> {
        self.graph.hosts().map(|host| (self.names[host.0 as usize].as_str(), host)).collect()
    }

    /// Names a port by the nodes at its ends, `from>to`, and by its number if links are parallel, `from>to#2`.
    pub fn port_name(&self, port: u32) -> String {
        let name = |node: Node| self.names[node.0 as usize].as_str();
        let ends = format!("{}>{}", name(self.graph.near(port)), name(self.graph.far(port)));
        match self.bundle(port).and_then(|all| all.iter().position(|other| *other == port)) {
            Some(place) => format!("{ends}#{}", place + 1),
            None => ends,
        }
    }

    /// The ports of this port's link and of its parallel links in the same direction; `None` without parallel links.
    pub fn bundle(&self, port: u32) -> Option<&[u32]> {
        let ends = (self.graph.near(port), self.graph.far(port));
        self.parallel.get(&ends).map(Vec::as_slice)
    }

    /// Bytes that a port's link can carry from the start of the run until `end`, at the rates that it has.
    pub fn capacity(&self, port: u32, end: Span) -> Bytes {
        let (mut rate, mut from, mut bytes) = (self.graph.link_of(port).rate, Span::ZERO, Bytes::ZERO);
        for change in self.changes(port) {
            let [at, hold] = [change.at, change.hold].map(|time| time.since_start().min(end));
            if change.rate.is_some() || hold > at {
                bytes += rate.bytes_in(at.saturating_sub(from));
                (rate, from) = (change.rate.unwrap_or(rate), at.max(hold));
            }
        }
        bytes + rate.bytes_in(end.saturating_sub(from))
    }

    pub fn switch_ports(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.graph.ports() as u32).filter(|&port| self.is_switch_port(port))
    }

    /// The kinds of switch ports among these ports.
    pub fn port_kinds(&self, ports: impl Iterator<Item = u32>) -> BTreeSet<PortKind> {
        let kind = |port| {
            let link = self.graph.link_of(port);
            (self.switch_of[self.graph.near(port).0 as usize], link.rate, link.mtu)
        };
        ports.map(kind).collect()
    }

    /// The configuration of the switch to which a port belongs, out of `switches`, which are ordered as
    /// [`Plan::switches`].
    pub fn switch<'a>(&self, switches: &'a [Switch], port: u32) -> &'a Switch {
        &switches[self.switch_of[self.graph.near(port).0 as usize]]
    }

    /// Size on the wire of a full frame on the port's link.
    pub fn full_frame(&self, port: u32) -> Bytes {
        Bytes::new(u64::from(wire::frame(self.graph.link_of(port).mtu.get())))
    }

    pub fn is_switch_port(&self, port: u32) -> bool {
        self.graph.kind(self.graph.near(port)) == NodeKind::Switch
    }

    /// What the wire of a port does to packets besides its delay: loss, jitter, reordering, duplicates and outages.
    pub fn impairment(&self, port: u32, seed: Seed) -> Option<Impairment> {
        let (way, jitter) = (self.impaired(port), self.jitter(port));
        if jitter.is_zero() && way.is_none_or(|way| !way.is_impaired()) {
            return None;
        }
        let none = Impairment::none(seed.stream("wire", u64::from(port)));
        let none = Impairment { jitter, ..none };
        Some(way.map_or(none.clone(), |way| Impairment {
            loss: way.loss,
            loss_burst: way.loss_burst,
            reordering: way.reordering.0,
            reordering_delay: way.reordering.1,
            duplicates: way.duplicates,
            outages: way.down.clone(),
            ..none
        }))
    }

    /// The direction of a link with impairments or changes into which a port sends.
    fn impaired(&self, port: u32) -> Option<&LinkWay> {
        self.impaired.get(port as usize / 2).map(|link| &link.ways[port as usize % 2])
    }

    /// The largest random delay at a port: jitter of the link and, at a host, jitter of the host.
    fn jitter(&self, port: u32) -> Span {
        let own = self.impaired(port).map_or(Span::ZERO, |link| link.jitter);
        if self.is_switch_port(port) { own } else { own + self.nic_jitter }
    }

    pub fn aggregate(&self, port: u32) -> Option<FrameAggregation> {
        let (set, aggregation) = self.aggregation?;
        self.links.get(set)?.contains(&port).then_some(aggregation)
    }

    /// The lowest rate and the longest delay of the port's link in the run, with jitter and reordering.
    pub fn worst(&self, port: u32) -> (BitsPerSec, Span) {
        let link = self.graph.link_of(port);
        let jitter = self.jitter(port);
        let Some(impaired) = self.impaired(port) else { return (link.rate, link.delay + jitter) };
        let (reordering, late) = impaired.reordering;
        let late = if reordering > 0.0 { late } else { Span::ZERO };
        let rates = impaired.changes.iter().filter_map(|change| change.1);
        let delays = impaired.changes.iter().filter_map(|change| change.2);
        let (rate, delay) = (rates.fold(link.rate, Ord::min), delays.fold(link.delay, Ord::max));
        let pause = impaired.pauses.iter().map(|pause| pause.1).max().unwrap_or_default();
        (rate, delay + jitter + late + pause)
    }

    /// The longest time that a packet of this size takes through these ports in an empty network.
    pub fn longest_transit(&self, ports: &[u32], size: Bytes) -> Span {
        let each = |&port: &u32| {
            let (rate, delay) = self.worst(port);
            delay + Pace::new(rate).quote(size)
        };
        ports.iter().map(each).sum()
    }

    pub fn changes(&self, port: u32) -> Vec<LinkChange> {
        let Some(link) = self.impaired(port) else { return Vec::new() };
        let change = |&(at, rate, delay): &(Span, _, _)| {
            let at = Time::after_start(at);
            LinkChange { at, rate, delay, hold: Time::ZERO }
        };
        let pause = |&(at, lasts): &(Span, Span)| {
            let [at, hold] = [at, at + lasts].map(Time::after_start);
            LinkChange { at, rate: None, delay: None, hold }
        };
        let mut all: Vec<LinkChange> = link.changes.iter().map(change).chain(link.pauses.iter().map(pause)).collect();
        all.sort_by_key(|change| change.at);
        all
    }
}

/// The ports of parallel links by their nodes.
fn parallel(graph: &Graph) -> BTreeMap<(Node, Node), Vec<u32>> {
    let mut between: BTreeMap<(Node, Node), Vec<u32>> = BTreeMap::new();
    for port in 0..graph.ports() as u32 {
        between.entry((graph.near(port), graph.far(port))).or_default().push(port);
    }
    between.retain(|_, ports| ports.len() > 1);
    between
}

/// Builds the nodes and links of a topology. Rates are those before scaling.
fn builder(topology: &Topology, seed: Seed, switches: &SwitchNames<'_>) -> NetworkBuilder {
    match topology {
        Topology::Fabric(fabric) => fabric.build(seed, switches),
        Topology::Graph { nodes, links } => graph_builder(nodes, links),
        Topology::File(imported, _) => imported.build(),
        Topology::Scaled { of, .. } => builder(of, seed, switches),
    }
}

/// The links of a file, with the faults of some of them.
fn with_faults(imported: &Imported, faults: &[(usize, GraphLink)]) -> Vec<GraphLink> {
    let plain = |&(a, b, ways): &(usize, usize, [Way; 2])| GraphLink::without_faults((a, b), ways);
    let mut links: Vec<GraphLink> = imported.links.iter().map(plain).collect();
    for (index, link) in faults {
        links[*index] = link.clone();
    }
    links
}

fn slowest_frame(graph: &Graph) -> Span {
    let frame = |way: &Way| Pace::new(way.rate).quote(Bytes::new(u64::from(wire::frame(way.mtu.get()))));
    graph.links.iter().flat_map(|link| &link.ways).map(frame).max().unwrap_or_default()
}

fn graph_builder(nodes: &[GraphNode], links: &[GraphLink]) -> NetworkBuilder {
    let mut builder = NetworkBuilder::default();
    for node in nodes {
        match node.kind {
            NodeKind::Host => builder.host(node.name.clone()),
            NodeKind::Switch => builder.switch(node.name.clone(), node.switch),
        };
    }
    // The site of a host is the first switch to which it is linked.
    let mut at: BTreeMap<usize, Vec<Node>> = BTreeMap::new();
    let mut placed = vec![false; nodes.len()];
    for link in links {
        let (a, b) = link.between;
        let [forth, back] = [(a, b), (b, a)].map(|(a, b)| format!("{}-{}", nodes[a].name, nodes[b].name));
        let way = |way: &LinkWay| Way { rate: way.rate, delay: way.delay, mtu: way.mtu };
        let ways = link.ways.each_ref().map(way);
        let line = shallop_topology::GraphLink { a: Node(a as u32), b: Node(b as u32), ways };
        builder.connect(line, &[&forth, &back]);
        for (host, switch) in [(a, b), (b, a)] {
            let kinds = (nodes[host].kind, nodes[switch].kind);
            if kinds == (NodeKind::Host, NodeKind::Switch) && !placed[host] {
                placed[host] = true;
                at.entry(switch).or_default().push(Node(host as u32));
            }
        }
    }
    builder.sites = at.into_values().collect();
    builder
}
