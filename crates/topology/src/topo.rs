//! Topologies built from a few parameters: dumbbell and parking lot.

use shallop_core::{BitsPerSec, Bytes, Node, Span};

use crate::graph::{Graph, GraphLink, NodeKind};

/// Properties that the links of such a topology share.
#[derive(Clone, Copy, Debug)]
pub struct LinkSpec {
    /// Rate of the bottleneck and of links between switches.
    pub rate: BitsPerSec,
    /// Rate of the links to hosts.
    pub access: BitsPerSec,
    /// Propagation delay of the bottleneck and of links between switches.
    pub delay: Span,
    /// MTU: the largest IP packet.
    pub mtu: Bytes,
}

/// A dumbbell: hosts on both sides of one bottleneck.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The network.
    pub graph: Graph,
    /// The hosts on the left, in the order of their delays.
    pub left: Vec<Node>,
    /// The hosts on the right.
    pub right: Vec<Node>,
    /// The port whose queue is the bottleneck from left to right.
    pub bottleneck: u32,
}

/// A dumbbell with a host on the left for each delay of `left`, and `right` hosts on the right. A single host on the
/// right is at the end of the bottleneck itself, as in Figure 9 of the `FlashPass` paper (ICNP 2021); several are
/// behind a second switch, by links without delay.
#[must_use]
pub fn dumbbell(links: &LinkSpec, left: &[Span], right: usize) -> Dumbbell {
    let mut graph = Graph::default();
    let hub = graph.add(NodeKind::Switch);
    let link = |a, b, rate, delay| GraphLink { a, b, rate, delay, mtu: links.mtu };
    let other = if right == 1 { NodeKind::Host } else { NodeKind::Switch };
    let far = graph.add(other);
    graph.connect(link(hub, far, links.rate, links.delay));
    let senders = left
        .iter()
        .map(|&delay| {
            let host = graph.add(NodeKind::Host);
            graph.connect(link(host, hub, links.access, delay));
            host
        })
        .collect();
    let receivers = if right == 1 {
        vec![far]
    } else {
        (0..right)
            .map(|_| {
                let host = graph.add(NodeKind::Host);
                graph.connect(link(far, host, links.access, Span::ZERO));
                host
            })
            .collect()
    };
    Dumbbell { graph, left: senders, right: receivers, bottleneck: 0 }
}

/// A parking lot: a chain of switches with hosts at each.
#[derive(Clone, Debug)]
pub struct ParkingLot {
    /// The network.
    pub graph: Graph,
    /// Hosts at each switch, in the order of the chain.
    pub hosts: Vec<Vec<Node>>,
    /// The port of each link of the chain, in the direction of the chain.
    pub chain: Vec<u32>,
}

/// A parking lot of `hops` links, with `hosts` hosts at each of its `hops + 1` switches, by links of `access_delay`.
#[must_use]
pub fn parking_lot(links: &LinkSpec, hops: usize, hosts: usize, access_delay: Span) -> ParkingLot {
    let mut graph = Graph::default();
    let switches: Vec<Node> = (0..=hops).map(|_| graph.add(NodeKind::Switch)).collect();
    for pair in switches.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        graph.connect(GraphLink { a, b, rate: links.rate, delay: links.delay, mtu: links.mtu });
    }
    let chain = (0..hops as u32).map(|link| link * 2).collect();
    let hosts = switches
        .iter()
        .map(|&b| {
            let each = (0..hosts).map(|_| {
                let a = graph.add(NodeKind::Host);
                let (rate, delay) = (links.access, access_delay);
                graph.connect(GraphLink { a, b, rate, delay, mtu: links.mtu });
                a
            });
            each.collect()
        })
        .collect();
    ParkingLot { graph, hosts, chain }
}
