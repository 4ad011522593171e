//! Shortest paths: least propagation delay, then fewest hops. Hosts do not forward. Paths that are equal in both are
//! equal-cost paths.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallop_core::{End, Node, Span};
use shallop_switch::{Leaf, Routes};

use crate::graph::{Graph, NodeKind};

/// Cost of a path: its propagation delay, then its hops.
type Cost = (Span, u32);
const UNREACHABLE: Cost = (Span::MAX, u32::MAX);

/// The shortest paths of a network. Costs are computed for one destination at a time and not stored.
#[derive(Clone, Debug)]
pub struct Paths {
    /// Ports of each node.
    ports: Vec<Vec<u32>>,
}

impl Paths {
    /// The paths of this network.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for port in 0..graph.ports() as u32 {
            ports[graph.near(port).0 as usize].push(port);
        }
        Self { ports }
    }

    /// The nodes from which this one can be reached, itself included, the nearest first; each with its ports that lie
    /// on a shortest path.
    #[must_use]
    pub fn towards(&self, graph: &Graph, to: Node) -> Vec<(Node, Vec<u32>)> {
        let costs = costs_to(graph, &self.ports, to);
        let mut nodes: Vec<Node> = (0..costs.len() as u32).map(Node).collect();
        nodes.retain(|node| costs[node.0 as usize] != UNREACHABLE);
        nodes.sort_by_key(|node| (costs[node.0 as usize], *node));
        nodes.into_iter().map(|node| (node, self.shortest(graph, &costs, node, to))).collect()
    }

    /// The ports of `from` that lie on a shortest path to `to`, in ascending order of the nodes to which they lead.
    #[must_use]
    pub fn next_hops(&self, graph: &Graph, from: Node, to: Node) -> Vec<u32> {
        self.shortest(graph, &costs_to(graph, &self.ports, to), from, to)
    }

    /// The same, given the cost of each node to `to`.
    fn shortest(&self, graph: &Graph, costs: &[Cost], from: Node, to: Node) -> Vec<u32> {
        let best = costs[from.0 as usize];
        if from == to || best == UNREACHABLE {
            return Vec::new();
        }
        let is_shortest = |&port: &u32| {
            let next = graph.far(port);
            let forwards = next == to || graph.kind(next) == NodeKind::Switch;
            forwards && extend(costs[next.0 as usize], graph.link_of(port).delay) == best
        };
        let ports = self.ports[from.0 as usize].iter().copied();
        let mut next_hops: Vec<u32> = ports.filter(is_shortest).collect();
        next_hops.sort_by_key(|&port| (graph.far(port), port));
        next_hops
    }

    /// The port of a leaf: a host whose only link leads to a switch. The paths to a leaf are those to its switch, so it
    /// needs no costs of its own.
    fn exit(&self, graph: &Graph, node: usize) -> Option<u32> {
        let [port] = self.ports[node][..] else { return None };
        let leaf = graph.nodes[node] == NodeKind::Host;
        (leaf && graph.kind(graph.far(port)) == NodeKind::Switch).then_some(port)
    }

    /// The next hops of every switch and host. See [`Routes::new`] for `symmetric` and `salt`.
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
                let ports = self.shortest(graph, &costs, from, to);
                routes.set((from, to), costs[from.0 as usize].1, &ports);
            }
        }
        routes
    }

    /// The ports by which a packet for `end` leaves each node from `from` to `to`, by these routes.
    #[must_use]
    pub fn walk(graph: &Graph, routes: &Routes, from: Node, to: Node, end: End) -> Vec<u32> {
        let (mut at, mut path) = (from, Vec::new());
        while at != to {
            let Some(port) = routes.next(at, to, end) else { return Vec::new() };
            path.push(port);
            at = graph.far(port);
        }
        path
    }
}

fn extend(cost: Cost, delay: Span) -> Cost {
    if cost == UNREACHABLE { UNREACHABLE } else { (cost.0 + delay, cost.1 + 1) }
}

/// Dijkstra's algorithm from the destination backwards, through switches only.
fn costs_to(graph: &Graph, ports: &[Vec<u32>], destination: Node) -> Vec<Cost> {
    let mut costs = vec![UNREACHABLE; graph.nodes.len()];
    let mut open = BinaryHeap::new();
    costs[destination.0 as usize] = (Span::ZERO, 0);
    open.push(Reverse(((Span::ZERO, 0), destination)));
    while let Some(Reverse((cost, node))) = open.pop() {
        let forwards = node == destination || graph.kind(node) == NodeKind::Switch;
        if cost > costs[node.0 as usize] || !forwards {
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
