//! Next hops: by table, and among equal paths by a hash of the flow. Symmetric hashing, the default, makes both
//! directions of a flow choose alike, as credits that meter the reverse path need.
//!
//! The hash takes in how far the destination is. Tiers of a tree that offer as many choices each thus choose
//! independently of one another, and both directions still choose alike: what goes up a tree is as far from its
//! destination in each tier as what comes the other way.
//!
//! State: one entry for every two nodes that are no leaves, and one for each node.

use shallop_core::seed::hash;
use shallop_core::{End, Node};

/// Set in an entry that names several choices instead of a port.
const SEVERAL: u32 = 1 << 31;
/// No path.
const NOWHERE: u32 = u32::MAX;

/// A host with one link, to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its port.
    pub exit: u32,
    /// The switch's port that leads to it.
    pub entry: u32,
    /// The switch.
    pub switch: Node,
}

/// Where a node stands in the table.
#[derive(Clone, Copy, Debug)]
struct Stand {
    /// Its place, or that of the switch it is a leaf of.
    place: u32,
    /// The ports of a leaf; [`NOWHERE`] for others.
    exit: u32,
    entry: u32,
}

/// The next hops of every node towards every node.
#[derive(Clone, Debug)]
pub struct Routes {
    stands: Vec<Stand>,
    /// Nodes that are no leaves.
    inner: usize,
    /// For the place of a node * `inner` + that of a destination: the port, or where its choices start in `choices`.
    table: Vec<u32>,
    /// Runs of choices, each led by its length and by how many hops away the destination is.
    choices: Vec<u32>,
    symmetric: bool,
    salt: u64,
}

impl Routes {
    /// Routes between nodes of which these are leaves, with no ways yet but those of leaves to their switches and back.
    /// Equal paths are told apart by a hash salted with `salt`; `symmetric` makes it ignore the direction.
    #[must_use]
    pub fn new(leaves: &[Option<Leaf>], symmetric: bool, salt: u64) -> Self {
        let mut inner = 0;
        let mut stands =
            vec![Stand { place: NOWHERE, exit: NOWHERE, entry: NOWHERE }; leaves.len()];
        for (stand, _) in stands.iter_mut().zip(leaves).filter(|(_, leaf)| leaf.is_none()) {
            stand.place = inner as u32;
            inner += 1;
        }
        for (node, leaf) in leaves.iter().enumerate() {
            if let Some(Leaf { exit, entry, switch }) = *leaf {
                let place = stands[switch.0 as usize].place;
                stands[node] = Stand { place, exit, entry };
            }
        }
        let table = vec![NOWHERE; inner * inner];
        Self { stands, inner, table, choices: Vec::new(), symmetric, salt }
    }

    /// Sets the ports of the first of two nodes that lie on a shortest path to the second, which is `hops` away.
    /// Neither is a leaf. No ports: no path.
    pub fn set(&mut self, (node, to): (Node, Node), hops: u32, ports: &[u32]) {
        let entry = match *ports {
            [] => NOWHERE,
            [port] => port,
            _ => SEVERAL | self.choices.len() as u32,
        };
        if ports.len() > 1 {
            self.choices.extend([ports.len() as u32, hops]);
            self.choices.extend(ports);
        }
        let [node, to] = [node, to].map(|node| self.stands[node.0 as usize].place as usize);
        self.table[node * self.inner + to] = entry;
    }

    /// The port by which a packet for this end leaves `node` towards `to`; `None` if there is no path.
    #[must_use]
    pub fn next(&self, node: Node, to: Node, end: End) -> Option<u32> {
        let (near, far) = (self.stands[node.0 as usize], self.stands[to.0 as usize]);
        if near.exit != NOWHERE {
            return Some(near.exit);
        }
        if near.place == far.place {
            return Some(far.entry).filter(|&port| port != NOWHERE);
        }
        let entry = self.table[near.place as usize * self.inner + far.place as usize];
        if entry & SEVERAL == 0 {
            return Some(entry);
        }
        if entry == NOWHERE {
            return None;
        }
        let start = (entry & !SEVERAL) as usize;
        let key = if self.symmetric { end.flow() } else { end.0 };
        let (count, hops) = (self.choices[start], self.choices[start + 1]);
        let spread = hash(self.salt ^ u64::from(key) ^ u64::from(hops) << 32) % u64::from(count);
        Some(self.choices[start + 2 + spread as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two switches, with ways between them by these ports.
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
