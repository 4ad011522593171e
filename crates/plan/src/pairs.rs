//! The host pairs of a group, and how often its flows start at random.

use crate::network::Network;
use crate::plan::{Group, Intensity, Pattern, Starts};
use shallop_core::{Node, Seed};
use shallop_workload::{Pairs, pairs::PairsError};
use std::collections::BTreeSet;

/// Lists the pairs of sender and receiver of a group, by its pattern.
///
/// # Errors
/// If the group's hosts cannot be paired in its pattern.
pub fn pairs(group: &Group, index: usize, network: &Network, seed: Seed) -> Result<Pairs, PairsError> {
    let nodes = |hosts: &[u32]| hosts.iter().map(|&host| Node(host)).collect::<Vec<_>>();
    let (from, to) = (nodes(&group.from), nodes(&group.to));
    match &group.pattern {
        Pattern::RoundRobin => Pairs::round_robin(&from, &to),
        Pattern::Uniform => Pairs::uniform(&from, &to),
        Pattern::AllToAll => Pairs::all_to_all(&from, &to),
        Pattern::Incast(at_once) => Pairs::incast(&from, &to, *at_once),
        Pattern::Permutation => Pairs::permutation(&from, &mut seed.stream("permutation", index as u64)),
        Pattern::OtherSite => {
            let senders: BTreeSet<Node> = from.iter().copied().collect();
            let among =
                |site: &Vec<Node>| site.iter().copied().filter(|host| senders.contains(host)).collect::<Vec<_>>();
            let mut sites: Vec<Vec<Node>> = network.sites.iter().map(among).collect();
            sites.retain(|site| !site.is_empty());
            Pairs::other_site(&sites)
        }
        Pattern::Matrix(entries) => {
            let entries = entries.iter().map(|(from, to, weight)| (nodes(from), nodes(to), *weight));
            Pairs::matrix(&entries.collect::<Vec<_>>())
        }
    }
}

/// How often flows of a group start at random; `None` for groups without random arrivals.
pub fn intensity(group: &Group) -> Option<&Intensity> {
    match &group.start {
        Starts::Poisson(intensity, _) | Starts::OnOff(intensity, ..) => Some(intensity),
        _ => None,
    }
}
