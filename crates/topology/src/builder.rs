//! A builder of networks: nodes with names, the sets of hosts and of links that a scenario may name, and the sites of
//! hosts.

use std::collections::BTreeMap;

use crate::graph::{Graph, GraphLink, NodeKind};
use shallop_core::Node;
use shallop_switch::FrameAggregation;

/// The set of all hosts.
pub const HOSTS: &str = "hosts";
/// The set of all links.
pub const ALL: &str = "all";

/// A network that is being built.
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    /// Nodes and links.
    pub graph: Graph,
    /// Names by node.
    pub names: Vec<String>,
    /// The configuration of each switch, an index into `Plan::switches`; 0 for hosts.
    pub switch_of: Vec<usize>,
    /// Sets of hosts: each host by its own name, and all of them as [`HOSTS`].
    pub sets: BTreeMap<String, Vec<Node>>,
    /// The hosts of each site.
    pub sites: Vec<Vec<Node>>,
    /// Sets of links, as the ports of both directions. [`ALL`] has all links.
    pub links: BTreeMap<String, Vec<u32>>,
    /// Frame aggregation, and the name of the set of links that have it.
    pub aggregation: Option<(&'static str, FrameAggregation)>,
}

impl NetworkBuilder {
    /// A graph that was put together elsewhere, with names for its nodes. All switches have the first configuration.
    #[must_use]
    pub fn named(graph: Graph, name: impl Fn(Node) -> String) -> Self {
        let names: Vec<String> = (0..graph.nodes.len() as u32).map(|n| name(Node(n))).collect();
        Self { switch_of: vec![0; names.len()], graph, names, ..Self::default() }
    }

    /// Adds a switch with this configuration, an index into `Plan::switches`.
    pub fn switch(&mut self, name: String, configuration: usize) -> Node {
        self.names.push(name);
        self.switch_of.push(configuration);
        self.graph.add(NodeKind::Switch)
    }

    /// Adds a host.
    pub fn host(&mut self, name: String) -> Node {
        let node = self.graph.add(NodeKind::Host);
        self.names.push(name);
        self.switch_of.push(0);
        node
    }

    /// Adds a link to the graph and to these sets.
    pub fn connect(&mut self, link: GraphLink, sets: &[&str]) {
        let port = self.graph.ports() as u32;
        self.graph.connect(link);
        for set in sets {
            self.links.entry((*set).to_owned()).or_default().extend([port, port + 1]);
        }
    }

    /// Adds hosts to a set.
    pub fn add_to_set(&mut self, set: impl Into<String>, hosts: &[Node]) {
        self.sets.entry(set.into()).or_default().extend(hosts);
    }

    /// Adds a site, and a set of this name with its hosts.
    pub fn site(&mut self, set: impl Into<String>, hosts: Vec<Node>) {
        self.add_to_set(set, &hosts);
        self.sites.push(hosts);
    }

    /// The network with the sets that every network has. The name of a host takes precedence over that of a set.
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
