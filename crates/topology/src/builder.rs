//! Builds networks: nodes with names, the sets of hosts and of links that a scenario may name, and sites.

use crate::graph::{Graph, GraphLink, NodeKind};
use shallop_core::Node;
use shallop_switch::FrameAggregation;
use std::collections::BTreeMap;

/// Name of the set of all hosts, for the keys of a scenario that select hosts.
pub const HOSTS: &str = "hosts";
/// Name of the set of all links, for the keys of a scenario that select links.
pub const ALL: &str = "all";

/// A network under construction: a graph, and the names by which a scenario refers to its parts.
#[derive(Clone, Debug, Default)]
pub struct NetworkBuilder {
    pub graph: Graph,
    /// Name of each node; the index is the node's number.
    pub names: Vec<String>,
    /// Index of each switch's configuration in `Plan::switches`; 0 for hosts. The index is the node's number.
    pub switch_of: Vec<usize>,
    /// Sets of hosts by name. [`HOSTS`] is the set of all hosts; each host's name is a set with that host.
    pub sets: BTreeMap<String, Vec<Node>>,
    /// Hosts of each site, such as a rack or a data centre. Traffic may be drawn between hosts of different sites.
    pub sites: Vec<Vec<Node>>,
    /// Sets of links by name, as the ports of both directions. [`ALL`] is the set of all links.
    pub links: BTreeMap<String, Vec<u32>>,
    /// Name of a set of links, and the frame aggregation that applies to these links.
    pub aggregation: Option<(&'static str, FrameAggregation)>,
}

impl NetworkBuilder {
    /// Adds a switch. `configuration` is an index into `Plan::switches`.
    pub fn switch(&mut self, name: String, configuration: usize) -> Node {
        self.names.push(name);
        self.switch_of.push(configuration);
        self.graph.add(NodeKind::Switch)
    }

    pub fn host(&mut self, name: String) -> Node {
        let node = self.graph.add(NodeKind::Host);
        self.names.push(name);
        self.switch_of.push(0);
        node
    }

    /// Adds a link to the graph and to the sets with these names.
    pub fn connect(&mut self, link: GraphLink, sets: &[&str]) {
        let port = self.graph.ports() as u32;
        self.graph.connect(link);
        for set in sets {
            self.links.entry((*set).to_owned()).or_default().extend([port, port + 1]);
        }
    }

    pub fn add_to_set(&mut self, set: impl Into<String>, hosts: &[Node]) {
        self.sets.entry(set.into()).or_default().extend(hosts);
    }

    /// Adds a site with these hosts, and a set `set` of the same hosts.
    pub fn site(&mut self, set: impl Into<String>, hosts: Vec<Node>) {
        self.add_to_set(set, &hosts);
        self.sites.push(hosts);
    }

    /// Adds the sets that every network has: all hosts, each host, all links. The name of a host takes precedence over
    /// an equal name of a set.
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
