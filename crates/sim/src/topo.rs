//! Ready-made networks.

use shallop_core::{BitsPerSec, Bytes, Node, Span};

use crate::graph::{Graph, GraphLink, NodeKind};

/// What all links of a ready-made network have in common.
#[derive(Clone, Copy, Debug)]
pub struct Trunk {
    /// Rate of the links between switches, and of the bottleneck.
    pub rate: BitsPerSec,
    /// Rate of the links to hosts.
    pub access: BitsPerSec,
    /// Delay of the links between switches, and of the bottleneck.
    pub delay: Span,
    /// The largest packet at IP.
    pub mtu: Bytes,
}

/// Hosts on both sides of one bottleneck.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The network.
    pub graph: Graph,
    /// The hosts on the left, each behind the delay it was given.
    pub left: Vec<Node>,
    /// The hosts on the right.
    pub right: Vec<Node>,
    /// The port whose queue is the bottleneck from left to right.
    pub bottleneck: u32,
}

/// A dumbbell: one host on the left for each of `left` delays, `right` hosts on the right. With a single host on the
/// right the bottleneck is that host's own link, as in Figure 9 of flashpass-icnp21; with more, a second switch stands
/// between, whose links to its hosts have no delay.
#[must_use]
pub fn dumbbell(trunk: &Trunk, left: &[Span], right: usize) -> Dumbbell {
    let mut graph = Graph::default();
    let hub = graph.add(NodeKind::Switch);
    let link = |a, b, rate, delay| GraphLink { a, b, rate, delay, mtu: trunk.mtu };
    let other = if right == 1 { NodeKind::Host } else { NodeKind::Switch };
    let far = graph.add(other);
    graph.connect(link(hub, far, trunk.rate, trunk.delay));
    let senders = left
        .iter()
        .map(|&delay| {
            let host = graph.add(NodeKind::Host);
            graph.connect(link(host, hub, trunk.access, delay));
            host
        })
        .collect();
    let receivers = if right == 1 {
        vec![far]
    } else {
        (0..right)
            .map(|_| {
                let host = graph.add(NodeKind::Host);
                graph.connect(link(far, host, trunk.access, Span::ZERO));
                host
            })
            .collect()
    };
    Dumbbell { graph, left: senders, right: receivers, bottleneck: 0 }
}

/// A chain of switches with hosts at every one.
#[derive(Clone, Debug)]
pub struct ParkingLot {
    /// The network.
    pub graph: Graph,
    /// Hosts at each switch, in the order of the chain.
    pub hosts: Vec<Vec<Node>>,
    /// The port of each link of the chain, in its direction.
    pub chain: Vec<u32>,
}

/// A parking lot of `hops` links in a row, with `hosts` hosts at each of its `hops + 1` switches behind `access_delay`.
#[must_use]
pub fn parking_lot(trunk: &Trunk, hops: usize, hosts: usize, access_delay: Span) -> ParkingLot {
    let mut graph = Graph::default();
    let switches: Vec<Node> = (0..=hops).map(|_| graph.add(NodeKind::Switch)).collect();
    for pair in switches.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        graph.connect(GraphLink { a, b, rate: trunk.rate, delay: trunk.delay, mtu: trunk.mtu });
    }
    let chain = (0..hops as u32).map(|link| link * 2).collect();
    let hosts = switches
        .iter()
        .map(|&b| {
            let each = (0..hosts).map(|_| {
                let a = graph.add(NodeKind::Host);
                let (rate, delay) = (trunk.access, access_delay);
                graph.connect(GraphLink { a, b, rate, delay, mtu: trunk.mtu });
                a
            });
            each.collect()
        })
        .collect();
    ParkingLot { graph, hosts, chain }
}
