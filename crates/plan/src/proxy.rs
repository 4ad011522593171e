//! The CLEAN proxy of a scheme: its options, and the machines at the nodes of a network.

use shallop_core::Node;
use shallop_options::{Options, string_enum};
use shallop_proto::clean;
use shallop_topology::Graph;
use std::collections::BTreeMap;

/// A named set of defaults for the keys of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    Paper,
}

string_enum! { Preset { Paper = "clean-paper" } }

/// The options under `clean` of a scheme: the parameters of the proxy, and the ports at which it works.
#[derive(Clone, Debug, Options)]
pub struct CleanOptions {
    /// A set of defaults. `"clean-paper"` follows the paper to the letter: `validate` is false.
    pub preset: Option<Preset>,
    /// The control law of each flow, and the flow cache.
    #[part]
    pub config: clean::Config,
    /// Ports through which packets enter the network of the proxy, by the nodes they lead from and to, such as
    /// `"cloud>core"`, or sets of links such as `"access"`: their ports towards switches. Their packets become
    /// ECN-capable.
    #[key(shown = "with `kind = \"campus\"`, the links of the cloud")]
    pub edges: Option<Vec<String>>,
    /// Ports of the last hop, such as `"ap>station"`, or sets of links: their ports of switches. Behind their queues
    /// marks are counted and cleared.
    #[key(shown = "with `kind = \"campus\"`, the radios", was = "points")]
    pub last_hop: Option<Vec<String>>,
}

/// The CLEAN proxy of a scheme, with every name resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Clean {
    pub config: clean::Config,
    /// Ports by which packets enter the network of the proxy. The proxy makes these packets ECN-capable.
    pub edges: Vec<u32>,
    /// Ports of the last hop. Behind their queues, the proxy counts and clears marks.
    pub last_hop: Vec<u32>,
}

impl Clean {
    /// Builds a proxy for each node to which an edge port leads or a last-hop port belongs.
    pub fn proxies<H>(&self, graph: &Graph) -> BTreeMap<Node, clean::Proxy<H>> {
        let mut ports: BTreeMap<Node, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for &port in &self.edges {
            ports.entry(graph.far(port)).or_default().0.push(port);
        }
        for &port in &self.last_hop {
            ports.entry(graph.near(port)).or_default().1.push(port);
        }
        let proxy = |(edges, last_hop)| clean::Proxy::new(&self.config, edges, last_hop);
        ports.into_iter().map(|(node, ports)| (node, proxy(ports))).collect()
    }
}
