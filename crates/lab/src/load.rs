//! Who may talk to whom, and how often flows must arrive to make the load that was asked for.

use shallop_core::{Node, Seed};
use shallop_sim::Paths;

use crate::network::Network;
use crate::plan::Plan;
use crate::reach::Talk;

/// Who may send to whom.
pub fn talk(plan: &Plan, network: &Network, _seed: Seed) -> Talk {
    let mut talk = Talk::new(network.graph.nodes.len());
    for group in &plan.groups {
        for number in 0..group.flows {
            let pick = |hosts: &[u32]| Node(hosts[number % hosts.len()]);
            talk.pair(pick(&group.from), pick(&group.to));
        }
    }
    talk
}

/// For each group that arrives at random the flows that start in a second on average.
pub fn rates(plan: &Plan, _network: &Network, _paths: &Paths, _seed: Seed) -> Vec<Option<f64>> {
    plan.groups.iter().map(|_| None).collect()
}
