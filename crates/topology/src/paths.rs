//! Shortest paths: least propagation delay, then fewest hops. Hosts do not forward. Paths that are equal in both are
//! equal-cost paths.
//!
//! State: the next hops as a table of routes. There is one search for each set of twins (`twins.rs`) that are hosts or
//! have hosts, and it goes through sets of twins, not through nodes: a fat-tree of 74 pods with 101,306 hosts takes 74
//! searches among 2,849 sets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shallop_core::{End, Node, Span};
use shallop_switch::{Leaf, Place, RouteTable, Routes};

use crate::graph::{Graph, NodeKind};
use crate::twins::Twins;

/// Cost of a path: its propagation delay, then its hops.
type Cost = (Span, u32);
const UNREACHABLE: Cost = (Span::MAX, u32::MAX);

/// The shortest paths of a network.
#[derive(Clone, Debug)]
pub struct Paths {
    twins: Twins,
    /// The column of each node in the table of routes.
    column_of: Vec<Option<u32>>,
    columns: Vec<Column>,
    routes: Routes,
}

/// A set of twins that packets are for.
#[derive(Clone, Debug)]
struct Column {
    /// Its class.
    class: usize,
    /// The other classes that have a path to it, the nearest first.
    order: Vec<u32>,
}

impl Paths {
    /// The paths of this network.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        Self::among(graph, Twins::of(graph, true))
    }

    /// The paths of this network, given its twins.
    #[must_use]
    pub fn among(graph: &Graph, twins: Twins) -> Self {
        let destinations = twins.destinations(graph);
        let mut column_of_class = vec![None; twins.members.len()];
        for (column, &class) in (0..).zip(&destinations) {
            column_of_class[class] = Some(column);
        }
        let column_of: Vec<Option<u32>> = (twins.class_of.iter())
            .map(|class| class.and_then(|(class, _)| column_of_class[class as usize]))
            .collect();
        let place = |node: usize| match twins.leaves[node] {
            Some(leaf) => Place::Leaf(leaf),
            None => Place::Inner(column_of[node].zip(twins.class_of[node].map(|it| it.1))),
        };
        let places: Vec<Place> = (0..graph.nodes.len()).map(place).collect();
        let mut table = RouteTable::new(&places, destinations.len());
        let search = Search::new(graph, &twins);
        let mut columns = Vec::with_capacity(destinations.len());
        for (column, &class) in destinations.iter().enumerate() {
            let costs = search.costs_to(class);
            search.fill(&mut table, column, class, &costs);
            let mut order: Vec<u32> = (0..costs.len() as u32)
                .filter(|&other| other as usize != class && costs[other as usize] != UNREACHABLE)
                .collect();
            order.sort_by_key(|&other| (costs[other as usize], other));
            columns.push(Column { class, order });
        }
        Self { twins, column_of, columns, routes: table.finish(true, 0) }
    }

    /// The next hops, with this salt of the ECMP hash; if `symmetric`, the hash ignores the direction.
    #[must_use]
    pub fn routes(&self, symmetric: bool, salt: u64) -> Routes {
        self.routes.hashed(symmetric, salt)
    }

    /// The number of searches that the paths took, which is that of the columns.
    #[must_use]
    pub fn searches(&self) -> usize {
        self.columns.len()
    }

    /// The ports of a leaf; `None` for other nodes.
    #[must_use]
    pub fn leaf(&self, node: Node) -> Option<Leaf> {
        self.twins.leaves[node.0 as usize]
    }

    /// The switch of a leaf; any other node itself.
    #[must_use]
    pub fn inner(&self, node: Node) -> Node {
        self.leaf(node).map_or(node, |leaf| leaf.switch)
    }

    /// The column of a node that is no leaf: the number of the set of twins that it belongs to. `None` if no packet is
    /// for it or for a leaf of it.
    #[must_use]
    pub fn column(&self, node: Node) -> Option<usize> {
        self.column_of[node.0 as usize].map(|column| column as usize)
    }

    /// The nodes of a column.
    #[must_use]
    pub fn members(&self, column: usize) -> &[Node] {
        &self.twins.members[self.columns[column].class]
    }

    /// The nodes that have a path to the members of a column, the nearest first, without leaves and without the
    /// members.
    #[must_use]
    pub fn nearest_first(&self, column: usize) -> impl DoubleEndedIterator<Item = Node> + '_ {
        let order = self.columns[column].order.iter();
        order.flat_map(|&class| self.twins.members[class as usize].iter().copied())
    }

    /// The ports of a node that is no leaf which lead to such nodes, in ascending order of these.
    #[must_use]
    pub fn ports_of(&self, node: Node) -> &[u32] {
        &self.twins.ports[node.0 as usize]
    }

    /// The equal-cost ports from a node to another, neither of which is a leaf.
    #[must_use]
    pub fn ports(&self, from: Node, to: Node) -> &[u32] {
        self.routes.ports(from, to)
    }

    /// The equal-cost ports from a node to a member of a column that is not the node itself. Nodes that are not members
    /// have the same ports to all members, unless the ports lead to the members themselves. Empty if there is no other
    /// member.
    #[must_use]
    pub fn ports_to_column(&self, from: Node, column: usize) -> &[u32] {
        let other = self.members(column).iter().find(|&&member| member != from);
        other.map_or(&[], |&to| self.ports(from, to))
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

/// A search among sets of twins.
struct Search<'a> {
    graph: &'a Graph,
    twins: &'a Twins,
    /// For each set the sets to which its nodes have links, with the least delay of these.
    edges: Vec<Vec<(usize, Span)>>,
    /// Whether the nodes of each set forward packets.
    forwards: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, twins: &'a Twins) -> Self {
        let edges = |members: &Vec<Node>| {
            let ports = members.first().map(|node| &twins.ports[node.0 as usize]);
            let edge = |&port: &u32| (twins.class(graph.far(port)), graph.link_of(port).delay);
            let mut edges: Vec<(usize, Span)> = ports.into_iter().flatten().map(edge).collect();
            edges.sort_unstable();
            edges.dedup_by_key(|edge| edge.0);
            edges
        };
        let switch = |node: &Node| graph.kind(*node) == NodeKind::Switch;
        let forwards = twins.members.iter().map(|members| members.iter().all(switch)).collect();
        Self { graph, twins, edges: twins.members.iter().map(edges).collect(), forwards }
    }

    /// Dijkstra's algorithm from any one node of the destination backwards, through switches only. The costs of the
    /// nodes of each other set; zero for the destination.
    fn costs_to(&self, destination: usize) -> Vec<Cost> {
        let mut costs = vec![UNREACHABLE; self.edges.len()];
        let mut open = BinaryHeap::new();
        costs[destination] = (Span::ZERO, 0);
        open.push(Reverse(((Span::ZERO, 0), destination)));
        while let Some(Reverse((cost, class))) = open.pop() {
            if cost > costs[class] || class != destination && !self.forwards[class] {
                continue;
            }
            for &(neighbour, delay) in &self.edges[class] {
                let through = extend(cost, delay);
                if through < costs[neighbour] {
                    costs[neighbour] = through;
                    open.push(Reverse((through, neighbour)));
                }
            }
        }
        costs
    }

    /// Sets the routes of all nodes to a destination.
    fn fill(&self, table: &mut RouteTable, column: usize, destination: usize, costs: &[Cost]) {
        for (class, members) in self.twins.members.iter().enumerate() {
            let best =
                if class == destination { self.between_twins(class, costs) } else { costs[class] };
            let alone = class == destination && members.len() == 1;
            if best == UNREACHABLE || alone {
                continue;
            }
            for &node in members {
                self.fill_node(table, (node, column), (destination, best), costs);
            }
        }
    }

    /// The cost of the paths between two nodes of the destination, which are no neighbours.
    fn between_twins(&self, destination: usize, costs: &[Cost]) -> Cost {
        let edges = self.edges[destination].iter().filter(|edge| self.forwards[edge.0]);
        edges.map(|&(next, delay)| extend(costs[next], delay)).min().unwrap_or(UNREACHABLE)
    }

    /// Sets the routes of a node whose paths to the destination cost `best`.
    fn fill_node(
        &self,
        table: &mut RouteTable,
        (node, column): (Node, usize),
        (destination, best): (usize, Cost),
        costs: &[Cost],
    ) {
        let next = |port: u32| self.twins.class(self.graph.far(port));
        let is_shortest = |&&port: &&u32| {
            let next = next(port);
            let forwards = next == destination || self.forwards[next];
            forwards && extend(costs[next], self.graph.link_of(port).delay) == best
        };
        let ports = self.twins.ports[node.0 as usize].iter().filter(is_shortest).copied();
        let ports: Vec<u32> = ports.collect();
        let members = &self.twins.members[destination];
        let direct = ports.first().is_some_and(|&port| next(port) == destination);
        if direct && members.len() > 1 {
            let to = |member: &Node| -> Vec<u32> {
                ports.iter().copied().filter(|&port| self.graph.far(port) == *member).collect()
            };
            table.set_members((node, column), &members.iter().map(to).collect::<Vec<_>>());
        } else {
            table.set((node, column), best.1, &ports);
        }
    }
}
