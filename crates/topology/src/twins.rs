//! Nodes that need no shortest-path search of their own: single-homed hosts and twins.
//!
//! A single-homed host has only one link, which leads to a switch: paths to the host are paths to its switch. Two other
//! nodes are twins (false twins in graph theory) if they are of one kind and have equal neighbours, apart from
//! single-homed hosts, by links of equal rate, delay and MTU. Twins have equal paths to all other nodes, and all other
//! nodes have equal paths to them up to the last hop. Examples: the switches of a tier of a leaf-spine network, the
//! top-of-rack switches of a pod of a fat-tree.

use crate::graph::{Graph, NodeKind};
use shallop_core::{BitsPerSec, Bytes, Node, Span};
use shallop_switch::AccessLink;
use std::collections::BTreeMap;

/// A neighbour of a node, and the delay, rate and MTU of the link to it and from it.
type Neighbour = (Node, [(Span, BitsPerSec, Bytes); 2]);

/// Single-homed hosts of a network, and classes of all other nodes. The nodes of a class are twins: they have equal
/// neighbours and therefore equal paths.
#[derive(Clone, Debug)]
pub struct Twins {
    /// The link of each host that has only one; `None` for all other nodes. The index is the node's number.
    pub access_links: Vec<Option<AccessLink>>,
    /// Ports of each node to its neighbours except single-homed hosts, in ascending order of the neighbours. Empty for
    /// single-homed hosts. The index is the node's number.
    pub ports: Vec<Vec<u32>>,
    /// Class of each node, and the node's position in the class; `None` for single-homed hosts. The index is the node's
    /// number.
    pub class_of: Vec<Option<(u32, u32)>>,
    /// Nodes of each class, in ascending order.
    pub members: Vec<Vec<Node>>,
}

impl Twins {
    /// Divides a network into classes of nodes with equal neighbours. Without `merge`, each node that is not a
    /// single-homed host forms a class alone.
    pub fn new(graph: &Graph, merge: bool) -> Self {
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for port in 0..graph.ports() as u32 {
            ports[graph.near(port).0 as usize].push(port);
        }
        let link = |(node, ports): (usize, &Vec<u32>)| access_link(graph, node, ports);
        let access_links: Vec<Option<AccessLink>> = ports.iter().enumerate().map(link).collect();
        let is_single_homed = |node: Node| access_links[node.0 as usize].is_some();
        for (node, ports) in (0..).map(Node).zip(&mut ports) {
            ports.retain(|&port| !is_single_homed(node) && !is_single_homed(graph.far(port)));
            ports.sort_by_key(|&port| (graph.far(port), port));
        }
        let mut twins = Self { access_links, ports, class_of: Vec::new(), members: Vec::new() };
        twins.classify(graph, merge);
        twins
    }

    fn classify(&mut self, graph: &Graph, merge: bool) {
        self.class_of = vec![None; graph.nodes.len()];
        let mut known: BTreeMap<(bool, Vec<Neighbour>), usize> = BTreeMap::new();
        for node in (0..graph.nodes.len()).filter(|&node| self.access_links[node].is_none()) {
            let next = self.members.len();
            let class = if merge {
                let mut neighbours: Vec<Neighbour> =
                    self.ports[node].iter().map(|&port| neighbour(graph, port)).collect();
                neighbours.sort_unstable();
                let is_host = graph.nodes[node] == NodeKind::Host;
                *known.entry((is_host, neighbours)).or_insert(next)
            } else {
                next
            };
            if class == next {
                self.members.push(Vec::new());
            }
            self.class_of[node] = Some((class as u32, self.members[class].len() as u32));
            self.members[class].push(Node(node as u32));
        }
    }

    /// Class of a node, which must not be a single-homed host.
    pub fn class(&self, node: Node) -> usize {
        debug_assert!(self.class_of[node.0 as usize].is_some(), "a single-homed host is in no class");
        self.class_of[node.0 as usize].map_or(0, |(class, _)| class as usize)
    }

    /// Classes that are destinations of packets: hosts, and switches to which single-homed hosts are attached. In
    /// ascending order.
    pub fn destinations(&self, graph: &Graph) -> Vec<usize> {
        let mut is_destination = vec![false; self.members.len()];
        for host in graph.hosts() {
            let at = self.access_links[host.0 as usize].map_or(host, |link| link.switch);
            is_destination[self.class(at)] = true;
        }
        (0..self.members.len()).filter(|&class| is_destination[class]).collect()
    }

    /// Number of entries in the routing table: nodes that are not single-homed hosts, times destination classes.
    pub fn table_entries(&self, graph: &Graph) -> u64 {
        let rows: usize = self.members.iter().map(Vec::len).sum();
        rows as u64 * self.destinations(graph).len() as u64
    }
}

fn access_link(graph: &Graph, node: usize, ports: &[u32]) -> Option<AccessLink> {
    let [exit] = *ports else { return None };
    let switch = graph.far(exit);
    let single_homed = graph.nodes[node] == NodeKind::Host && graph.kind(switch) == NodeKind::Switch;
    single_homed.then_some(AccessLink { exit, entry: exit ^ 1, switch })
}

fn neighbour(graph: &Graph, port: u32) -> Neighbour {
    let way = |port| {
        let way = graph.link_of(port);
        (way.delay, way.rate, way.mtu)
    };
    (graph.far(port), [way(port), way(port ^ 1)])
}
