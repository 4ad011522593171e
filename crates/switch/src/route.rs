//! Next hops: by table, and among equal paths by a hash of the flow. Symmetric hashing, the default, sends both
//! directions of a flow over the same links, as credits that meter the reverse path need.

use shallop_core::seed::hash;
use shallop_core::{End, Node};

/// The next hops of every node towards every node.
#[derive(Clone, Debug)]
pub struct Routes {
    nodes: u32,
    /// For node * nodes + destination: where its choices start.
    start: Vec<u32>,
    /// Ports, in ascending order of the nodes they lead to.
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
        let mut routes = Self { nodes, start: vec![0], choices: Vec::new(), symmetric, salt };
        for node in 0..nodes {
            for destination in 0..nodes {
                routes.choices.extend(choices(Node(node), Node(destination)));
                routes.start.push(routes.choices.len() as u32);
            }
        }
        routes
    }

    /// The port by which a packet for this end leaves `node` towards `to`; `None` if there is no path.
    #[must_use]
    pub fn next(&self, node: Node, to: Node, end: End) -> Option<u32> {
        let entry = (node.0 * self.nodes + to.0) as usize;
        let (start, stop) = (self.start[entry] as usize, self.start[entry + 1] as usize);
        match stop - start {
            0 => None,
            1 => Some(self.choices[start]),
            many => {
                let key = if self.symmetric { end.flow() } else { end.0 };
                let spread = hash(self.salt ^ u64::from(key));
                Some(self.choices[start + (spread % many as u64) as usize])
            }
        }
    }
}
