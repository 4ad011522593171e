//! Shortest paths: least propagation delay, then fewest hops. Hosts do not forward. Paths of equal delay and hops are
//! equal-cost paths.
//!
//! State: the routing table. There is one shortest-path search for each class of twins, which are nodes with equal
//! paths (`twins.rs`), that are hosts or have hosts. It searches among classes of twins instead of nodes: a fat-tree of
//! 74 pods with 101,306 hosts takes 74 searches among 2,849 classes.

use crate::graph::{Graph, NodeKind};
use crate::twins::Twins;
use shallop_core::{End, Node, Span};
use shallop_switch::{AccessLink, RouteTable, Routes, TablePosition};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Cost of a path: propagation delay first, then number of hops.
type Cost = (Span, u32);
const UNREACHABLE: Cost = (Span::MAX, u32::MAX);

/// Shortest paths of a network.
#[derive(Clone, Debug)]
pub struct Paths {
    pub twins: Twins,
    /// Column in the routing table in which each node is a destination; `None` for nodes that are never destinations.
    /// The index is the node's number.
    column_of: Vec<Option<u32>>,
    columns: Vec<Column>,
    routes: Routes,
}

/// A column of the routing table: destinations that all other nodes reach by equal paths.
#[derive(Clone, Debug)]
struct Column {
    class: usize,
    /// Other classes of twins that have a path to the destinations, the nearest first.
    order: Vec<u32>,
}

impl Paths {
    pub fn new(graph: &Graph) -> Self {
        Self::with_twins(graph, Twins::new(graph, true))
    }

    /// Computes the shortest paths of a network whose twins, nodes with equal paths, are known.
    pub fn with_twins(graph: &Graph, twins: Twins) -> Self {
        let destinations = twins.destinations(graph);
        let mut column_of_class = vec![None; twins.members.len()];
        for (column, &class) in (0..).zip(&destinations) {
            column_of_class[class] = Some(column);
        }
        let column_of: Vec<Option<u32>> =
            (twins.class_of.iter()).map(|class| class.and_then(|(class, _)| column_of_class[class as usize])).collect();
        let position = |node: usize| match twins.access_links[node] {
            Some(link) => TablePosition::SingleHomed(link),
            None => TablePosition::Inner(column_of[node].zip(twins.class_of[node].map(|it| it.1))),
        };
        let positions: Vec<_> = (0..graph.nodes.len()).map(position).collect();
        let mut table = RouteTable::new(&positions, destinations.len());
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

    /// The forwarding tables. `salt` salts the ECMP hash; a `symmetric` hash ignores the direction of a flow.
    pub fn routes(&self, symmetric: bool, salt: u64) -> Routes {
        self.routes.hashed(symmetric, salt)
    }

    /// Number of shortest-path searches, one for each column of the routing table.
    pub fn searches(&self) -> usize {
        self.columns.len()
    }

    /// The only link of a host that is attached to one switch; `None` for all other nodes.
    pub fn access_link(&self, node: Node) -> Option<AccessLink> {
        self.twins.access_links[node.0 as usize]
    }

    /// The switch of a host with only one link; any other node is returned unchanged.
    pub fn inner(&self, node: Node) -> Node {
        self.access_link(node).map_or(node, |link| link.switch)
    }

    /// Column of the routing table in which a switch or a host with several links is a destination. `None` if packets
    /// go neither to the node nor to a host that is attached to it.
    pub fn column(&self, node: Node) -> Option<usize> {
        self.column_of[node.0 as usize].map(|column| column as usize)
    }

    /// Destinations of a column of the routing table, which all other nodes reach by equal paths.
    pub fn members(&self, column: usize) -> &[Node] {
        &self.twins.members[self.columns[column].class]
    }

    /// Nodes that have a path to the destinations of a column, the nearest first. Excludes the destinations, and hosts
    /// with only one link.
    pub fn nearest_first(&self, column: usize) -> impl DoubleEndedIterator<Item = Node> + '_ {
        let order = self.columns[column].order.iter();
        order.flat_map(|&class| self.twins.members[class as usize].iter().copied())
    }

    /// Equal-cost ports of node `from` towards node `to`. Neither may be a host with only one link.
    pub fn ports(&self, from: Node, to: Node) -> &[u32] {
        self.routes.ports(from, to)
    }

    /// Equal-cost ports of a node towards the first destination of a column other than the node itself. The ports are
    /// equal for all destinations of the column, unless these are neighbours of the node. Empty if there is no other
    /// destination.
    pub fn ports_to_column(&self, from: Node, column: usize) -> &[u32] {
        let other = self.members(column).iter().find(|&&member| member != from);
        other.map_or(&[], |&to| self.ports(from, to))
    }

    /// Ports by which a packet for the endpoint `end` leaves each node on its path from `from` to `to`.
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

/// Dijkstra's shortest-path search on a graph whose vertices are classes of twins (nodes with equal paths).
struct Search<'a> {
    graph: &'a Graph,
    twins: &'a Twins,
    /// Neighbours of each class, with the least delay from them to the class.
    edges: Vec<Vec<(usize, Span)>>,
    /// Whether the nodes of each class forward packets.
    forwards: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, twins: &'a Twins) -> Self {
        let edges = |members: &Vec<Node>| {
            let ports = members.first().map(|node| &twins.ports[node.0 as usize]);
            let edge = |&port: &u32| (twins.class(graph.far(port)), graph.link_of(port ^ 1).delay);
            let mut edges: Vec<(usize, Span)> = ports.into_iter().flatten().map(edge).collect();
            edges.sort_unstable();
            edges.dedup_by_key(|edge| edge.0);
            edges
        };
        let switch = |node: &Node| graph.kind(*node) == NodeKind::Switch;
        let forwards = twins.members.iter().map(|members| members.iter().all(switch)).collect();
        Self { graph, twins, edges: twins.members.iter().map(edges).collect(), forwards }
    }

    /// Dijkstra's algorithm backwards from one node of the class `destination`, through switches only. Returns the cost
    /// of each class's paths; zero for the destination.
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

    /// Sets the routes of all nodes to the class `destination`.
    fn fill(&self, table: &mut RouteTable, column: usize, destination: usize, costs: &[Cost]) {
        for (class, members) in self.twins.members.iter().enumerate() {
            let best = if class == destination { self.between_twins(class, costs) } else { costs[class] };
            let alone = class == destination && members.len() == 1;
            if best == UNREACHABLE || alone {
                continue;
            }
            for &node in members {
                self.fill_node(table, node, column, destination, best, costs);
            }
        }
    }

    /// Cost of the paths between two nodes of the class `destination`, which are not neighbours.
    fn between_twins(&self, destination: usize, costs: &[Cost]) -> Cost {
        let Some(node) = self.twins.members[destination].first() else { return UNREACHABLE };
        let ports = self.twins.ports[node.0 as usize].iter();
        let edges = ports.map(|&port| (self.twins.class(self.graph.far(port)), self.graph.link_of(port).delay));
        let forwarding = edges.filter(|edge| self.forwards[edge.0]);
        forwarding.map(|(next, delay)| extend(costs[next], delay)).min().unwrap_or(UNREACHABLE)
    }

    /// Sets the routes of one node whose paths to the destination cost `best`.
    fn fill_node(
        &self, table: &mut RouteTable, node: Node, column: usize, destination: usize, best: Cost, costs: &[Cost],
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
            table.set_members(node, column, &members.iter().map(to).collect::<Vec<_>>());
        } else {
            table.set(node, column, best.1, &ports);
        }
    }
}
