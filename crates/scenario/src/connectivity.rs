//! Which hosts can reach each other.

use shallop_core::Node;
use shallop_plan::network::Network;
use shallop_topology::NodeKind;
use std::collections::BTreeSet;

/// The pairs of hosts that are connected, by a link or through switches. Hosts forward no packets, so a host does not
/// connect the switches that it is linked to.
pub(super) struct Reach {
    /// For each node, the connected sets of switches that it has a link to. A host may have links to several.
    parts: Vec<Vec<usize>>,
    /// Pairs of hosts with a direct link between them.
    pairs: BTreeSet<(Node, Node)>,
}

impl Reach {
    pub(super) fn of(network: &Network) -> Self {
        let graph = &network.graph;
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for port in 0..graph.ports() as u32 {
            ports[graph.near(port).0 as usize].push(port);
        }
        let mut part_of = vec![None; graph.nodes.len()];
        for first in 0..graph.nodes.len() {
            let mut open = vec![first];
            while let Some(node) = open.pop() {
                if part_of[node].is_some() || graph.nodes[node] == NodeKind::Host {
                    continue;
                }
                part_of[node] = Some(first);
                open.extend(ports[node].iter().map(|&port| graph.far(port).0 as usize));
            }
        }
        let border = |ports: &Vec<u32>| {
            let far = ports.iter().map(|&port| graph.far(port));
            far.filter_map(|node| part_of[node.0 as usize]).collect()
        };
        let borders = ports.iter().map(border).collect();
        let linked = (0..graph.ports() as u32).map(|port| (graph.near(port), graph.far(port)));
        let hosts = |node| graph.kind(node) == NodeKind::Host;
        let pairs = linked.filter(|(a, b)| hosts(*a) && hosts(*b)).collect();
        Self { parts: borders, pairs }
    }

    /// Whether a path leads from one host to another.
    pub(super) fn joins(&self, from: u32, to: u32) -> bool {
        let (near, far) = (&self.parts[from as usize], &self.parts[to as usize]);
        near.iter().any(|part| far.contains(part)) || self.pairs.contains(&(Node(from), Node(to)))
    }
}
