//! Leaves and twins: nodes that need no shortest-path search of their own.
//!
//! A leaf is a host whose only link leads to a switch: paths to the leaf are paths to its switch. Two other nodes are
//! twins (false twins in graph theory) if they are of one kind and have equal neighbours, apart from leaves, by links
//! of equal rate, delay and MTU. Twins have equal paths to all other nodes, and all other nodes have equal paths to
//! them up to the last hop. Examples: the switches of a tier of a leaf-spine network, the top-of-rack switches of a pod
//! of a fat-tree.

use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, Bytes, Node, Span};
use shallop_switch::Leaf;

use crate::graph::{Graph, NodeKind};

/// A neighbour of a node, and the delay, rate and MTU of the link to it.
type Neighbour = (Node, Span, BitsPerSec, Bytes);

/// The leaves of a network, and the classes of all other nodes: a class is a set of twins.
#[derive(Clone, Debug)]
pub struct Twins {
    /// Ports of each leaf; `None` for nodes that are not leaves. The index is the node's number.
    pub leaves: Vec<Option<Leaf>>,
    /// Ports of each node that lead to nodes that are not leaves, in ascending order of the node to which a port leads.
    /// Empty for leaves. The index is the node's number.
    pub ports: Vec<Vec<u32>>,
    /// Class of each node, and the number of the node in the class; `None` for leaves. The index is the node's number.
    pub class_of: Vec<Option<(u32, u32)>>,
    /// Nodes of each class, in ascending order.
    pub members: Vec<Vec<Node>>,
}

impl Twins {
    /// Finds the twins of a network. Without `merge`, each node that is not a leaf is a class of its own.
    pub fn new(graph: &Graph, merge: bool) -> Self {
        let mut ports = vec![Vec::new(); graph.nodes.len()];
        for port in 0..graph.ports() as u32 {
            ports[graph.near(port).0 as usize].push(port);
        }
        let leaf = |(node, ports): (usize, &Vec<u32>)| leaf(graph, node, ports);
        let leaves: Vec<Option<Leaf>> = ports.iter().enumerate().map(leaf).collect();
        for (ports, leaf) in ports.iter_mut().zip(&leaves) {
            ports.retain(|&port| leaf.is_none() && leaves[graph.far(port).0 as usize].is_none());
            ports.sort_by_key(|&port| (graph.far(port), port));
        }
        let mut twins = Self { leaves, ports, class_of: Vec::new(), members: Vec::new() };
        twins.classify(graph, merge);
        twins
    }

    fn classify(&mut self, graph: &Graph, merge: bool) {
        self.class_of = vec![None; graph.nodes.len()];
        let mut known: BTreeMap<(bool, Vec<Neighbour>), usize> = BTreeMap::new();
        for node in (0..graph.nodes.len()).filter(|&node| self.leaves[node].is_none()) {
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

    /// Class of a node that is not a leaf.
    pub fn class(&self, node: Node) -> usize {
        debug_assert!(self.class_of[node.0 as usize].is_some(), "a leaf is in no class");
        self.class_of[node.0 as usize].map_or(0, |(class, _)| class as usize)
    }

    /// Classes that are destinations of packets: hosts, and switches with leaves. In ascending order.
    pub fn destinations(&self, graph: &Graph) -> Vec<usize> {
        let mut is_destination = vec![false; self.members.len()];
        for host in graph.hosts() {
            let at = self.leaves[host.0 as usize].map_or(host, |leaf| leaf.switch);
            is_destination[self.class(at)] = true;
        }
        (0..self.members.len()).filter(|&class| is_destination[class]).collect()
    }

    /// Number of entries in the routing table: nodes that are not leaves, times destination classes.
    pub fn table_entries(&self, graph: &Graph) -> u64 {
        let rows: usize = self.members.iter().map(Vec::len).sum();
        rows as u64 * self.destinations(graph).len() as u64
    }
}

fn leaf(graph: &Graph, node: usize, ports: &[u32]) -> Option<Leaf> {
    let [exit] = *ports else { return None };
    let switch = graph.far(exit);
    let is_leaf = graph.nodes[node] == NodeKind::Host && graph.kind(switch) == NodeKind::Switch;
    is_leaf.then_some(Leaf { exit, entry: exit ^ 1, switch })
}

fn neighbour(graph: &Graph, port: u32) -> Neighbour {
    let link = graph.link_of(port);
    (graph.far(port), link.delay, link.rate, link.mtu)
}
