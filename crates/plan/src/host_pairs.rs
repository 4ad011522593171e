//! The pairs of hosts that may communicate, grouped by attachment. Hosts on one switch with links of equal transit
//! times are alike, so that memory grows with the attachments and not with the pairs of hosts.
//!
//! State: for each attachment of receivers, one pair of hosts for each attachment of their senders: the pair with the
//! lowest receiver and, among these, the lowest sender.

use crate::plan::{Group, Pattern, Plan, Starts};
use crate::{network::Network, pairs::pairs};
use shallop_core::{Bytes, Node, Seed, Span};
use shallop_proto::wire;
use shallop_topology::Paths;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostAttachment {
    /// The switch to which a host with one link is attached; a host with several links itself.
    pub at: Node,
    /// The longest time that a smallest frame takes from the host to `at`.
    pub up: Span,
    /// The longest time that a smallest frame takes from `at` to the host.
    pub down: Span,
    /// The number of links between the host and the node `at`: 0 or 1.
    pub hops: u32,
}

impl HostAttachment {
    fn for_host(network: &Network, paths: &Paths, host: Node) -> Self {
        let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
        let transit = |port| network.longest_transit(&[port], smallest);
        match paths.access_link(host) {
            Some(link) => {
                let (up, down) = (transit(link.exit), transit(link.entry));
                Self { at: link.switch, up, down, hops: 1 }
            }
            None => Self { at: host, up: Span::ZERO, down: Span::ZERO, hops: 0 },
        }
    }
}

/// The pairs of hosts that may communicate. Of all pairs with equal attachments of sender and receiver only one is
/// stored.
#[derive(Clone, Debug)]
pub struct HostPairs {
    /// By node: index of the host's attachment.
    attachment_of: Vec<u32>,
    attachments: Vec<HostAttachment>,
    /// By attachment of the receiver: one (sender, receiver) for each attachment of its senders.
    pairs: Vec<Vec<(Node, Node)>>,
    /// By node: whether any flow may start there.
    pub sends: Vec<bool>,
    /// By node: whether any flow may end there.
    pub receives: Vec<bool>,
}

impl HostPairs {
    /// Collects the pairs of hosts of those groups for which `counts` is true; its argument is the group's index.
    pub fn from_plan(
        plan: &Plan, network: &Network, paths: &Paths, seed: Seed, counts: impl Fn(usize) -> bool,
    ) -> Self {
        let groups = plan.groups.iter().enumerate().filter(|(index, _)| counts(*index));
        Self::from_groups(groups, network, paths, seed)
    }

    /// Collects the pairs of hosts of groups, each given with its index in the plan.
    pub fn from_groups<'a>(
        groups: impl IntoIterator<Item = (usize, &'a Group)>, network: &Network, paths: &Paths, seed: Seed,
    ) -> Self {
        let mut all = Self::none(network, paths);
        for (index, group) in groups {
            if let Starts::Trace(trace) = &group.start {
                trace.pairs.keys().for_each(|&(from, to)| all.insert(Node(from), Node(to)));
            } else if group.pattern == Pattern::RoundRobin {
                // Round robin repeats after one flow for each pair.
                let pairs = group.from.len().saturating_mul(group.to.len());
                for number in 0..group.flows.min(pairs) {
                    let pick = |hosts: &[u32]| Node(hosts[number % hosts.len()]);
                    all.insert(pick(&group.from), pick(&group.to));
                }
            } else if let Ok(pairs) = pairs(group, index, network, seed) {
                let class_of = all.attachment_of.clone();
                let class = |host: Node| class_of[host.0 as usize];
                pairs.by_class(&class, &mut |(from, to), _| all.push(from, to));
                let (senders, receivers) = pairs.ends();
                for host in senders {
                    all.sends[host.0 as usize] = true;
                }
                for host in receivers {
                    all.receives[host.0 as usize] = true;
                }
            }
        }
        (0..all.attachments.len()).for_each(|receiver| all.leave_one_each(receiver));
        all
    }

    fn none(network: &Network, paths: &Paths) -> Self {
        let nodes = network.graph.nodes.len();
        let mut known: BTreeMap<HostAttachment, u32> = BTreeMap::new();
        let (mut attachment_of, mut attachments) = (vec![0; nodes], Vec::new());
        for host in network.graph.hosts() {
            let attachment = HostAttachment::for_host(network, paths, host);
            attachment_of[host.0 as usize] = *known.entry(attachment).or_insert_with(|| {
                attachments.push(attachment);
                attachments.len() as u32 - 1
            });
        }
        let (pairs, sends) = (vec![Vec::new(); attachments.len()], vec![false; nodes]);
        Self { attachment_of, attachments, pairs, receives: sends.clone(), sends }
    }

    fn insert(&mut self, from: Node, to: Node) {
        if from != to {
            self.push(from, to);
            self.sends[from.0 as usize] = true;
            self.receives[to.0 as usize] = true;
        }
    }

    fn push(&mut self, from: Node, to: Node) {
        let receiver = self.attachment_of[to.0 as usize] as usize;
        self.pairs[receiver].push((from, to));
        // Duplicates are removed from time to time, so that memory does not grow with the number of flows.
        if self.pairs[receiver].len() > 4 * self.attachments.len() {
            self.leave_one_each(receiver);
        }
    }

    /// Removes duplicates: of the pairs with equal attachments of the sender, one remains for this attachment of
    /// receivers.
    fn leave_one_each(&mut self, receiver: usize) {
        let class = |host: Node| self.attachment_of[host.0 as usize];
        let pairs = &mut self.pairs[receiver];
        pairs.sort_unstable_by_key(|&(from, to)| (class(from), to, from));
        pairs.dedup_by_key(|&mut (from, _)| class(from));
    }

    pub fn attachment(&self, host: Node) -> &HostAttachment {
        &self.attachments[self.attachment_of[host.0 as usize] as usize]
    }

    /// Iterates over the attachments of receivers. Each comes with pairs (sender, receiver), one for each attachment of
    /// senders.
    pub fn by_receiver(&self) -> impl Iterator<Item = (&HostAttachment, &[(Node, Node)])> {
        let pairs = self.attachments.iter().zip(&self.pairs);
        pairs.map(|(at, pairs)| (at, &pairs[..])).filter(|(_, pairs)| !pairs.is_empty())
    }
}
