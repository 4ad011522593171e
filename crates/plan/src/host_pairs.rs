//! The pairs of hosts that may communicate, by attachment: hosts that hang on one switch by links of the same transit
//! times are alike, so that memory grows with the attachments and not with the pairs of hosts.
//!
//! State: for each attachment of receivers those of their senders, each with one pair of hosts: the one with the least
//! receiver, and of these the one with the least sender.

use std::collections::BTreeMap;

use shallop_core::{Bytes, Node, Seed, Span};
use shallop_proto::wire;
use shallop_topology::Paths;

use crate::network::Network;
use crate::pairs::pairs;
use crate::plan::{Group, Pattern, Plan, Starts};

/// How a host is attached to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// The switch of a leaf; any other host itself.
    pub at: Node,
    /// The longest transit time of a smallest frame from the host to that switch; zero without one.
    pub up: Span,
    /// The same from the switch to the host.
    pub down: Span,
    /// The links between the two, none or one.
    pub hops: u32,
}

impl Attachment {
    fn for_host(network: &Network, paths: &Paths, host: Node) -> Self {
        let smallest = Bytes::new(u64::from(wire::MIN_FRAME));
        let transit = |port| network.longest_transit(&[port], smallest);
        match paths.leaf(host) {
            Some(leaf) => {
                let (up, down) = (transit(leaf.exit), transit(leaf.entry));
                Self { at: leaf.switch, up, down, hops: 1 }
            }
            None => Self { at: host, up: Span::ZERO, down: Span::ZERO, hops: 0 },
        }
    }
}

/// The pairs of hosts that may communicate.
#[derive(Clone, Debug)]
pub struct HostPairs {
    /// The number of each host's attachment, by node.
    attachment_of: Vec<u32>,
    attachments: Vec<Attachment>,
    /// By attachment of the receivers: a pair for each attachment of their senders.
    pairs: Vec<Vec<(Node, Node)>>,
    /// Whether each node sends.
    pub sends: Vec<bool>,
    /// Whether each node receives.
    pub receives: Vec<bool>,
}

impl HostPairs {
    /// The pairs of sender and receiver in the groups for whose index `counts` holds.
    pub fn from_plan(
        plan: &Plan,
        network: &Network,
        paths: &Paths,
        seed: Seed,
        counts: impl Fn(usize) -> bool,
    ) -> Self {
        let groups = plan.groups.iter().enumerate().filter(|(index, _)| counts(*index));
        Self::from_groups(groups, network, paths, seed)
    }

    /// The pairs of sender and receiver in these groups, each with its index in the plan.
    pub fn from_groups<'a>(
        groups: impl IntoIterator<Item = (usize, &'a Group)>,
        network: &Network,
        paths: &Paths,
        seed: Seed,
    ) -> Self {
        let mut all = Self::none(network, paths);
        for (index, group) in groups {
            if let Starts::Trace(trace) = &group.start {
                trace.pairs.keys().for_each(|&(from, to)| all.insert(Node(from), Node(to)));
            } else if group.pattern == Pattern::RoundRobin {
                // At most as many pairs as there are before they repeat.
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
        let mut known: BTreeMap<Attachment, u32> = BTreeMap::new();
        let (mut attachment_of, mut attachments) = (vec![0; nodes], Vec::new());
        for host in network.graph.hosts() {
            let attachment = Attachment::for_host(network, paths, host);
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
        // Sorted now and then, so that memory does not grow with the flows.
        if self.pairs[receiver].len() > 4 * self.attachments.len() {
            self.leave_one_each(receiver);
        }
    }

    /// Leaves one pair for each attachment of the senders to this one.
    fn leave_one_each(&mut self, receiver: usize) {
        let class = |host: Node| self.attachment_of[host.0 as usize];
        let pairs = &mut self.pairs[receiver];
        pairs.sort_unstable_by_key(|&(from, to)| (class(from), to, from));
        pairs.dedup_by_key(|&mut (from, _)| class(from));
    }

    /// The attachment of a host.
    pub fn attachment(&self, host: Node) -> &Attachment {
        &self.attachments[self.attachment_of[host.0 as usize] as usize]
    }

    /// For each attachment of receivers a pair with each attachment of their senders.
    pub fn by_receiver(&self) -> impl Iterator<Item = (&Attachment, &[(Node, Node)])> {
        let pairs = self.attachments.iter().zip(&self.pairs);
        pairs.map(|(at, pairs)| (at, &pairs[..])).filter(|(_, pairs)| !pairs.is_empty())
    }
}
