//! Shortest paths: least delay, then fewest hops. Hosts never pass packets on. Paths equal in both are equal choices.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallop_core::{End, Node, Span};
use shallop_switch::Routes;

use crate::graph::{Graph, NodeKind};

/// Cost of a path: its delay, then its hops.
type Cost = (Span, u32);
const UNREACHABLE: Cost = (Span::MAX, u32::MAX);

/// The cost of reaching every node from every node.
#[derive(Clone, Debug)]
pub struct Paths {
    /// For each destination, the cost from each node.
    costs: Vec<Vec<Cost>>,
    /// Ports of each node.
    ports: Vec<Vec<u32>>,
}

impl Paths {
    /// The shortest paths of a network.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for port in 0..graph.ports() as u32 {
            ports[graph.near(port).0 as usize].push(port);
        }
        let costs = (0..graph.nodes.len() as u32)
            .map(|destination| costs_to(graph, &ports, Node(destination)))
            .collect();
        Self { costs, ports }
    }

    /// Whether there is a way.
    #[must_use]
    pub fn connect(&self, from: Node, to: Node) -> bool {
        self.cost(from, to) != UNREACHABLE
    }

    /// The nodes that have a way to this one, the nearest first, itself among them.
    #[must_use]
    pub fn towards(&self, to: Node) -> Vec<Node> {
        let costs = &self.costs[to.0 as usize];
        let mut nodes: Vec<Node> = (0..costs.len() as u32).map(Node).collect();
        nodes.retain(|node| costs[node.0 as usize] != UNREACHABLE);
        nodes.sort_by_key(|node| (costs[node.0 as usize], *node));
        nodes
    }

    /// The ports of `from` that lie on a shortest path to `to`.
    #[must_use]
    pub fn choices(&self, graph: &Graph, from: Node, to: Node) -> Vec<u32> {
        let best = self.cost(from, to);
        if from == to || best == UNREACHABLE {
            return Vec::new();
        }
        let mut choices: Vec<u32> = self.ports[from.0 as usize]
            .iter()
            .copied()
            .filter(|&port| {
                let next = graph.far(port);
                let may_pass = next == to || graph.kind(next) == NodeKind::Switch;
                may_pass && extend(self.cost(next, to), graph.link_of(port).delay) == best
            })
            .collect();
        choices.sort_by_key(|&port| (graph.far(port), port));
        choices
    }

    /// Next hops for every switch and host. See [`Routes::new`] for `symmetric` and `salt`.
    #[must_use]
    pub fn routes(&self, graph: &Graph, symmetric: bool, salt: u64) -> Routes {
        let nodes = graph.nodes.len() as u32;
        Routes::new(nodes, symmetric, salt, |from, to| self.choices(graph, from, to))
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

    fn cost(&self, from: Node, to: Node) -> Cost {
        self.costs[to.0 as usize][from.0 as usize]
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
