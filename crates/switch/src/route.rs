//! Forwarding: next hops from a table, and equal-cost multipath (ECMP) by a hash of the flow. With symmetric hashing,
//! the default, both directions of a flow take the same path, as transports need whose credits meter the reverse path.
//!
//! The hash includes the number of hops to the destination. So the tiers of a tree that have equally many uplinks
//! choose independently of one another, while both directions of a flow still agree: in each tier, packets that go up
//! are as many hops from their destination as packets of the other direction that go up on the other side.
//!
//! State: one table entry for each pair of nodes that are not leaves, and one for each node.

use shallop_core::seed::hash;
use shallop_core::{End, Node};

/// Set in a table entry that is the index of a group of equal-cost ports, not a port.
const GROUP: u32 = 1 << 31;
/// A table entry without a path, or a port that is not there.
const NONE: u32 = u32::MAX;

/// A leaf: a host with one link, which leads to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The host's port.
    pub exit: u32,
    /// The switch's port that leads to it.
    pub entry: u32,
    /// The switch.
    pub switch: Node,
}

/// A node, as the table knows it.
#[derive(Clone, Copy, Debug)]
struct NodeIndex {
    /// Its row and column in the table; those of its switch if it is a leaf.
    row: u32,
    /// The ports of a leaf ([`Leaf`]); [`NONE`] for others.
    exit: u32,
    entry: u32,
}

/// The next hops of every node towards every node.
#[derive(Clone, Debug)]
pub struct Routes {
    nodes: Vec<NodeIndex>,
    /// Number of rows: nodes that are not leaves.
    rows: usize,
    /// By row of a node * `rows` + row of the destination: the port, or [`GROUP`] and the index of a group in `groups`.
    table: Vec<u32>,
    /// Groups of equal-cost ports, each preceded by its length and by the number of hops to the destination.
    groups: Vec<u32>,
    symmetric: bool,
    salt: u64,
}

impl Routes {
    /// Routes of a network with these leaves (`None` for other nodes), which as yet lead from leaves to their switches
    /// and back. The ECMP hash is salted with `salt`; if `symmetric`, it ignores the direction.
    #[must_use]
    pub fn new(leaves: &[Option<Leaf>], symmetric: bool, salt: u64) -> Self {
        let mut rows = 0;
        let mut nodes = vec![NodeIndex { row: NONE, exit: NONE, entry: NONE }; leaves.len()];
        for (node, _) in nodes.iter_mut().zip(leaves).filter(|(_, leaf)| leaf.is_none()) {
            node.row = rows as u32;
            rows += 1;
        }
        for (node, leaf) in leaves.iter().enumerate() {
            if let Some(Leaf { exit, entry, switch }) = *leaf {
                let row = nodes[switch.0 as usize].row;
                nodes[node] = NodeIndex { row, exit, entry };
            }
        }
        let table = vec![NONE; rows * rows];
        Self { nodes, rows, table, groups: Vec::new(), symmetric, salt }
    }

    /// Sets the ports of a node that lie on a shortest path to another, which is `hops` away. Neither is a leaf.
    /// Without ports there is no path.
    pub fn set(&mut self, (node, to): (Node, Node), hops: u32, ports: &[u32]) {
        let entry = match *ports {
            [] => NONE,
            [port] => port,
            _ => GROUP | self.groups.len() as u32,
        };
        if ports.len() > 1 {
            self.groups.extend([ports.len() as u32, hops]);
            self.groups.extend(ports);
        }
        let [node, to] = [node, to].map(|node| self.nodes[node.0 as usize].row as usize);
        self.table[node * self.rows + to] = entry;
    }

    /// The port by which a packet for this end leaves `node` towards `to`; `None` if there is no path.
    #[must_use]
    pub fn next(&self, node: Node, to: Node, end: End) -> Option<u32> {
        let (here, there) = (self.nodes[node.0 as usize], self.nodes[to.0 as usize]);
        if here.exit != NONE {
            return Some(here.exit);
        }
        if here.row == there.row {
            return Some(there.entry).filter(|&port| port != NONE);
        }
        let entry = self.table[here.row as usize * self.rows + there.row as usize];
        if entry & GROUP == 0 {
            return Some(entry);
        }
        if entry == NONE {
            return None;
        }
        let start = (entry & !GROUP) as usize;
        let key = if self.symmetric { end.flow() } else { end.0 };
        let (count, hops) = (u64::from(self.groups[start]), self.groups[start + 1]);
        let hash = hash(self.salt ^ u64::from(key) ^ u64::from(hops) << 32);
        // The same as the remainder, without a division.
        let choice = if count.is_power_of_two() { hash & (count - 1) } else { hash % count };
        Some(self.groups[start + 2 + choice as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two switches, joined by these ports.
    fn routes(symmetric: bool, hops: u32, ports: &[u32]) -> Routes {
        let mut routes = Routes::new(&[None, None], symmetric, 7);
        routes.set((Node(0), Node(1)), hops, ports);
        routes
    }

    fn choice(routes: &Routes, end: End) -> Option<u32> {
        routes.next(Node(0), Node(1), end)
    }

    #[test]
    fn both_directions_of_a_flow_take_the_same_choice_unless_told_otherwise() {
        let ports = [10, 11, 12];
        let (symmetric, asymmetric) = (routes(true, 3, &ports), routes(false, 3, &ports));
        let same = |routes: &Routes, flow| {
            choice(routes, End::sender(flow)) == choice(routes, End::receiver(flow))
        };
        assert!((0..100).all(|flow| same(&symmetric, flow)));
        assert!((0..100).filter(|&flow| same(&asymmetric, flow)).count() < 60);
        let counts = ports.map(|port| {
            (0..300).filter(|&f| choice(&symmetric, End::sender(f)) == Some(port)).count()
        });
        assert!(counts.iter().all(|&n| n > 70), "{counts:?}");
    }

    #[test]
    fn tiers_choose_independently_of_one_another() {
        let (near, far) = (routes(true, 3, &[0, 1]), routes(true, 4, &[0, 1]));
        let alike = (0..1000).filter(|&f| choice(&near, End(f)) == choice(&far, End(f))).count();
        assert!((400..600).contains(&alike), "{alike} of 1000 choices alike");
    }

    #[test]
    fn a_single_choice_and_none_need_no_hash() {
        let routes = routes(true, 1, &[5]);
        assert_eq!(routes.next(Node(0), Node(1), End(0)), Some(5));
        assert_eq!(routes.next(Node(1), Node(0), End(0)), None);
    }

    #[test]
    fn leaves_go_by_their_switch() {
        let leaf = |exit, entry| Some(Leaf { exit, entry, switch: Node(0) });
        let mut routes = Routes::new(&[None, None, leaf(2, 3), leaf(4, 5)], true, 0);
        routes.set((Node(1), Node(0)), 1, &[9]);
        let next = |node, to| routes.next(Node(node), Node(to), End(0));
        assert_eq!([next(2, 3), next(0, 3), next(1, 3)], [Some(2), Some(5), Some(9)]);
        assert_eq!([next(0, 1), next(0, 0)], [None, None]);
    }
}
