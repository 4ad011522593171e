//! Shortest paths: least delay, then fewest hops. Hosts never pass packets on. Paths equal in both are equal choices.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallop_core::{End, Node, Span};
use shallop_switch::{Leaf, Routes};

use crate::graph::{Graph, NodeKind};

/// Cost of a path: its delay, then its hops.
type Cost = (Span, u32);
const UNREACHABLE: Cost = (Span::MAX, u32::MAX);

/// The ways through a network. Costs are worked out destination by destination and not kept.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Ports of each node.
    ports: Vec<Vec<u32>>,
}

impl Paths {
    /// The ways through this network.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for port in 0..graph.ports() as u32 {
            ports[graph.near(port).0 as usize].push(port);
        }
        Self { ports }
    }

    /// The nodes that have a way to this one, the nearest first and itself among them, each with the ports that lie on
    /// a shortest path.
    #[must_use]
    pub fn towards(&self, graph: &Graph, to: Node) -> Vec<(Node, Vec<u32>)> {
        let costs = costs_to(graph, &self.ports, to);
        let mut nodes: Vec<Node> = (0..costs.len() as u32).map(Node).collect();
        nodes.retain(|node| costs[node.0 as usize] != UNREACHABLE);
        nodes.sort_by_key(|node| (costs[node.0 as usize], *node));
        nodes.into_iter().map(|node| (node, self.among(graph, &costs, node, to))).collect()
    }

    /// The ports of `from` that lie on a shortest path to `to`, in ascending order of the nodes they lead to.
    #[must_use]
    pub fn choices(&self, graph: &Graph, from: Node, to: Node) -> Vec<u32> {
        self.among(graph, &costs_to(graph, &self.ports, to), from, to)
    }

    /// The same, when the costs of reaching `to` are known.
    fn among(&self, graph: &Graph, costs: &[Cost], from: Node, to: Node) -> Vec<u32> {
        let best = costs[from.0 as usize];
        if from == to || best == UNREACHABLE {
            return Vec::new();
        }
        let shortest = |&port: &u32| {
            let next = graph.far(port);
            let may_pass = next == to || graph.kind(next) == NodeKind::Switch;
            may_pass && extend(costs[next.0 as usize], graph.link_of(port).delay) == best
        };
        let ports = self.ports[from.0 as usize].iter().copied();
        let mut choices: Vec<u32> = ports.filter(shortest).collect();
        choices.sort_by_key(|&port| (graph.far(port), port));
        choices
    }

    /// The port by which a host with one link leaves, if that leads to a switch. Whatever is true of the ways to that
    /// switch is true of those to the host, which therefore needs no costs of its own.
    fn exit(&self, graph: &Graph, node: usize) -> Option<u32> {
        let [port] = self.ports[node][..] else { return None };
        let leaf = graph.nodes[node] == NodeKind::Host;
        (leaf && graph.kind(graph.far(port)) == NodeKind::Switch).then_some(port)
    }

    /// Next hops for every switch and host. See [`Routes::new`] for `symmetric` and `salt`.
    #[must_use]
    pub fn routes(&self, graph: &Graph, symmetric: bool, salt: u64) -> Routes {
        let exits = (0..graph.nodes.len()).map(|node| self.exit(graph, node));
        let leaves: Vec<Option<Leaf>> = exits
            .map(|exit| exit.map(|exit| Leaf { exit, entry: exit ^ 1, switch: graph.far(exit) }))
            .collect();
        let mut routes = Routes::new(&leaves, symmetric, salt);
        let nodes = || (0..graph.nodes.len() as u32).map(Node);
        let inner = || nodes().filter(|node| leaves[node.0 as usize].is_none());
        for to in inner() {
            let costs = costs_to(graph, &self.ports, to);
            for from in inner() {
                let ports = self.among(graph, &costs, from, to);
                routes.set((from, to), costs[from.0 as usize].1, &ports);
            }
        }
        routes
    }

    /// The ports a packet for `end` crosses from `from` to `to`, by these routes.
    #[must_use]
    pub fn walk(graph: &Graph, routes: &Routes, from: Node, to: Node, end: End) -> Vec<u32> {
        let (mut at, mut crossed) = (from, Vec::new());
        while at != to {
            let Some(port) = routes.next(at, to, end) else { return Vec::new() };
            crossed.push(port);
            at = graph.far(port);
        }
        crossed
    }
}

fn extend(cost: Cost, delay: Span) -> Cost {
    if cost == UNREACHABLE { UNREACHABLE } else { (cost.0 + delay, cost.1 + 1) }
}

/// Dijkstra's algorithm from the destination backwards; only switches are passed.
fn costs_to(graph: &Graph, ports: &[Vec<u32>], destination: Node) -> Vec<Cost> {
    let mut costs = vec![UNREACHABLE; graph.nodes.len()];
    let mut open = BinaryHeap::new();
    costs[destination.0 as usize] = (Span::ZERO, 0);
    open.push(Reverse(((Span::ZERO, 0), destination)));
    while let Some(Reverse((cost, node))) = open.pop() {
        let passes = node == destination || graph.kind(node) == NodeKind::Switch;
        if cost > costs[node.0 as usize] || !passes {
            continue;
        }
        for &port in &ports[node.0 as usize] {
            let neighbour = graph.far(port);
            let through = extend(cost, graph.link_of(port).delay);
            if through < costs[neighbour.0 as usize] {
                costs[neighbour.0 as usize] = through;
                open.push(Reverse((through, neighbour)));
            }
        }
    }
    costs
}
