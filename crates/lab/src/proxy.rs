//! Where a scheme's proxy stands in the network, and its parts at each node there.

use std::collections::BTreeMap;

use shallop_core::Node;
use shallop_proto::clean;
use shallop_sim::Graph;

/// A CLEAN proxy.
#[derive(Clone, Debug, PartialEq)]
pub struct Clean {
    /// Its numbers.
    pub config: clean::Config,
    /// Ports from which packets enter its network: what comes by their wires becomes ECN-capable.
    pub edges: Vec<u32>,
    /// Ports of the last hop: behind their queues marks are counted and cleared.
    pub points: Vec<u32>,
}

impl Clean {
    /// Its part at each node that has one.
    #[must_use]
    pub fn parts<H>(&self, graph: &Graph) -> BTreeMap<Node, clean::Proxy<H>> {
        let mut ports: BTreeMap<Node, (Vec<u32>, Vec<u32>)> = BTreeMap::new();
        for &port in &self.edges {
            ports.entry(graph.far(port)).or_default().0.push(port);
        }
        for &port in &self.points {
            ports.entry(graph.near(port)).or_default().1.push(port);
        }
        let part = |(edges, points)| clean::Proxy::new(&self.config, edges, points);
        ports.into_iter().map(|(node, ports)| (node, part(ports))).collect()
    }
}
