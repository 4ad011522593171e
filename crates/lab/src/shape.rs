//! A network as it is put together: nodes with names, the sets of hosts and of links that a scenario may name, and the
//! sites its hosts are at.

use std::collections::BTreeMap;

use shallop_core::Node;
use shallop_sim::{Graph, GraphLink, NodeKind};

/// The set of all hosts.
pub const HOSTS: &str = "hosts";
/// The set of all links.
pub const ALL: &str = "all";

/// A network with names.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    /// Nodes and links.
    pub graph: Graph,
    /// Names by node.
    pub names: Vec<String>,
    /// For each node what switch it is like, an index into [`crate::Plan::switches`]; 0 for hosts.
    pub switch_of: Vec<usize>,
    /// Sets of hosts. Each host is one by itself, and all of them are [`HOSTS`].
    pub sets: BTreeMap<String, Vec<Node>>,
    /// Hosts by the place they are at.
    pub sites: Vec<Vec<Node>>,
    /// Sets of links: the ports of both directions. All of them are [`ALL`].
    pub links: BTreeMap<String, Vec<u32>>,
}

impl Shape {
    /// Adds a switch that is like the one of this index in [`crate::Plan::switches`].
    pub fn switch(&mut self, name: String, like: usize) -> Node {
        self.names.push(name);
        self.switch_of.push(like);
        self.graph.add(NodeKind::Switch)
    }

    /// Adds a host.
    pub fn host(&mut self, name: String) -> Node {
        let node = self.graph.add(NodeKind::Host);
        self.names.push(name);
        self.switch_of.push(0);
        node
    }

    /// Adds a link that belongs to these sets.
    pub fn join(&mut self, link: GraphLink, sets: &[&str]) {
        let port = self.graph.ports() as u32;
        self.graph.connect(link);
        for set in sets {
            self.links.entry((*set).to_owned()).or_default().extend([port, port + 1]);
        }
    }

    /// Adds hosts to a set.
    pub fn put(&mut self, set: impl Into<String>, hosts: &[Node]) {
        self.sets.entry(set.into()).or_default().extend(hosts);
    }

    /// Adds a site, and the set of this name that holds its hosts.
    pub fn site(&mut self, set: impl Into<String>, hosts: Vec<Node>) {
        self.put(set, &hosts);
        self.sites.push(hosts);
    }

    /// The same with the sets that every network has. A host's own name goes before that of a set.
    #[must_use]
    pub fn finish(mut self) -> Self {
        let hosts: Vec<Node> = self.graph.hosts().collect();
        self.sets.insert(HOSTS.to_owned(), hosts.clone());
        for host in hosts {
            self.sets.insert(self.names[host.0 as usize].clone(), vec![host]);
        }
        self.links.insert(ALL.to_owned(), (0..self.graph.ports() as u32).collect());
        self
    }
}
