//! Next hops: by table, and among equal paths by a hash of the flow. Symmetric hashing, the default, sends both
//! directions of a flow over the same links, as credits that meter the reverse path need.

use shallop_core::seed::hash;
use shallop_core::{End, Node};

/// Set in an entry that names several choices instead of a port.
const SEVERAL: u32 = 1 << 31;
/// No path.
const NOWHERE: u32 = u32::MAX;

/// The next hops of every node towards every node.
#[derive(Clone, Debug)]
pub struct Routes {
    nodes: u32,
    /// For node * nodes + destination: the port, or where its choices start in `choices`.
    table: Vec<u32>,
    /// Runs of choices, each led by its length, in ascending order of the nodes they lead to.
    choices: Vec<u32>,
    symmetric: bool,
    salt: u64,
}

impl Routes {
    /// Routes from `choices(node, destination)`: the ports that lie on a shortest path, empty where there is none.
    /// Equal paths are told apart by a hash salted with `salt`; `symmetric` makes it ignore the direction.
    pub fn new(
        nodes: u32,
        symmetric: bool,
        salt: u64,
        mut choices: impl FnMut(Node, Node) -> Vec<u32>,
    ) -> Self {
        let table = Vec::with_capacity((nodes * nodes) as usize);
        let mut routes = Self { nodes, table, choices: Vec::new(), symmetric, salt };
        for node in 0..nodes {
            for destination in 0..nodes {
                let ports = choices(Node(node), Node(destination));
                routes.table.push(match ports[..] {
                    [] => NOWHERE,
                    [port] => port,
                    _ => SEVERAL | routes.choices.len() as u32,
                });
                if ports.len() > 1 {
                    routes.choices.push(ports.len() as u32);
                    routes.choices.extend(ports);
                }
            }
        }
        routes
    }

    /// The port by which a packet for this end leaves `node` towards `to`; `None` if there is no path.
    #[must_use]
    pub fn next(&self, node: Node, to: Node, end: End) -> Option<u32> {
        let entry = self.table[(node.0 * self.nodes + to.0) as usize];
        if entry & SEVERAL == 0 {
            return Some(entry);
        }
        if entry == NOWHERE {
            return None;
        }
        let start = (entry & !SEVERAL) as usize;
        let key = if self.symmetric { end.flow() } else { end.0 };
        let spread = hash(self.salt ^ u64::from(key)) % u64::from(self.choices[start]);
        Some(self.choices[start + 1 + spread as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_of_a_flow_take_the_same_choice_unless_told_otherwise() {
        let routes = |symmetric| Routes::new(2, symmetric, 7, |_, _| vec![10, 11, 12]);
        let choice = |routes: &Routes, end| routes.next(Node(0), Node(1), end).unwrap();
        let (symmetric, asymmetric) = (routes(true), routes(false));
        let same = |routes: &Routes, flow| {
            choice(routes, End::sender(flow)) == choice(routes, End::receiver(flow))
        };
        assert!((0..100).all(|flow| same(&symmetric, flow)));
        assert!((0..100).filter(|&flow| same(&asymmetric, flow)).count() < 60);
        let counts = [10, 11, 12]
            .map(|port| (0..300).filter(|&f| choice(&symmetric, End::sender(f)) == port).count());
        assert!(counts.iter().all(|&n| n > 70), "{counts:?}");
    }

    #[test]
    fn a_single_choice_and_none_need_no_hash() {
        let routes = Routes::new(2, true, 0, |node, _| if node.0 == 0 { vec![5] } else { vec![] });
        assert_eq!(routes.next(Node(0), Node(1), End(0)), Some(5));
        assert_eq!(routes.next(Node(1), Node(0), End(0)), None);
    }
}
