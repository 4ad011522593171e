//! Leaves and twins: nodes to which the shortest paths of a network need no search of their own.
//!
//! A leaf is a host whose only link leads to a switch: the paths to it are those to its switch. Two nodes that are no
//! leaves are twins if they are of the same kind and have the same neighbours by links of the same rate, delay and MTU,
//! leaves left out (in graph theory: false twins). All other nodes have the same paths to both but for the last hop,
//! and both have the same paths to all others. The switches of a tier of a leaf-spine network are twins, and so are
//! the top-of-rack switches of a pod of a fat-tree.

use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, Bytes, Node, Span};
use shallop_switch::Leaf;

use crate::graph::{Graph, NodeKind};

/// A neighbour, and the properties of the link that leads to it.
type Neighbour = (Node, Span, BitsPerSec, Bytes);

/// The nodes of a network that are no leaves, by class: twins are in one class.
#[derive(Clone, Debug)]
pub struct Twins {
    /// By node: the ports of a leaf.
    pub leaves: Vec<Option<Leaf>>,
    /// By node that is no leaf: its ports that lead to such nodes, in ascending order of these nodes.
    pub ports: Vec<Vec<u32>>,
    /// By node that is no leaf: its class and its number in it.
    pub class_of: Vec<Option<(u32, u32)>>,
    /// The nodes of each class, in ascending order.
    pub members: Vec<Vec<Node>>,
}

impl Twins {
    /// The classes of this network; without `merge`, each node that is no leaf is a class of its own.
    #[must_use]
    pub fn of(graph: &Graph, merge: bool) -> Self {
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

    /// The class of a node that is no leaf.
    #[must_use]
    pub fn class(&self, node: Node) -> usize {
        debug_assert!(self.class_of[node.0 as usize].is_some(), "a leaf is in no class");
        self.class_of[node.0 as usize].map_or(0, |(class, _)| class as usize)
    }

    /// The classes that packets are for: hosts, and switches with leaves. In ascending order.
    #[must_use]
    pub fn destinations(&self, graph: &Graph) -> Vec<usize> {
        let mut is_destination = vec![false; self.members.len()];
        for host in graph.hosts() {
            let at = self.leaves[host.0 as usize].map_or(host, |leaf| leaf.switch);
            is_destination[self.class(at)] = true;
        }
        (0..self.members.len()).filter(|&class| is_destination[class]).collect()
    }

    /// The number of entries in a table of the next hops of every node that is no leaf towards every such class.
    #[must_use]
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
