//! Pairs of a pattern by classes of hosts, for networks with too many pairs to enumerate. The caller treats all hosts
//! of a class alike: it gets one pair of hosts for each two classes, with the share of all pairs of these classes.

use super::{HostSets, Pair, Pairs, Pattern};
use shallop_core::Node;
use std::collections::BTreeMap;

/// Hosts of one class that are equal in one further property: for patterns with two sets, whether a host is in both;
/// for patterns with sites, the site.
#[derive(Clone, Copy, Debug)]
struct HostClass {
    class: u32,
    property: usize,
    count: usize,
    /// Host of the class with the lowest number; `second` is the next lowest.
    first: Node,
    second: Option<Node>,
}

/// Divides hosts by class and property. `hosts` has each host with its property.
fn parts(hosts: impl Iterator<Item = (Node, usize)>, class: &dyn Fn(Node) -> u32) -> Vec<HostClass> {
    let mut parts: BTreeMap<(u32, usize), HostClass> = BTreeMap::new();
    for (host, property) in hosts {
        let class = class(host);
        let part = parts.entry((class, property)).or_insert(HostClass {
            class,
            property,
            count: 0,
            first: host,
            second: None,
        });
        part.count += 1;
        if host < part.first {
            part.second = Some(part.first);
            part.first = host;
        } else if host > part.first && part.second.is_none_or(|second| host < second) {
            part.second = Some(host);
        }
    }
    parts.into_values().collect()
}

/// A class of senders, a class of receivers, the number of pairs of their hosts, and the share of each pair.
type ClassPair<'a> = (&'a HostClass, &'a HostClass, usize, f64);

impl HostSets {
    /// Classes of the senders and of the receivers, divided by whether a host is in both sets.
    fn parts(&self, class: &dyn Fn(Node) -> u32) -> (Vec<HostClass>, Vec<HostClass>) {
        let of = |hosts: &[Node], others: &[Node]| {
            let both = |&host: &Node| (host, usize::from(others.binary_search(&host).is_ok()));
            parts(hosts.iter().map(both), class)
        };
        (of(&self.from, &self.to), of(&self.to, &self.from))
    }

    /// Calls `each` for every two classes with pairs, in the order of receivers if `by_receiver`, otherwise of senders.
    fn by_class(&self, class: &dyn Fn(Node) -> u32, by_receiver: bool, each: &mut dyn FnMut(ClassPair<'_>)) {
        let (from, to) = self.parts(class);
        let mut join = |from: &HostClass, to: &HostClass| {
            let both = same_hosts(from, to);
            let pairs = from.count * to.count - if both { from.count } else { 0 };
            let share = 1.0 / (self.from.len() * (self.to.len() - from.property)) as f64;
            if pairs > 0 {
                each((from, to, pairs, share));
            }
        };
        if by_receiver {
            for to in &to {
                for from in &from {
                    join(from, to);
                }
            }
        } else {
            for from in &from {
                for to in &to {
                    join(from, to);
                }
            }
        }
    }
}

/// Whether a class of senders and a class of receivers have the same hosts. If not, they have no host in common.
fn same_hosts(from: &HostClass, to: &HostClass) -> bool {
    from.class == to.class && from.property == 1 && to.property == 1
}

/// The pair with the lowest receiver and, among its senders, the lowest sender other than the receiver.
fn least(senders: &HostClass, receivers: &HostClass) -> Pair {
    let to = receivers.first;
    let from = if senders.first == to { senders.second } else { Some(senders.first) };
    (from.unwrap_or(senders.first), to)
}

impl Pairs {
    /// Upper bound of the number of pairs in [`Pairs::weights`]; larger than that number only by pairs of a host with
    /// itself.
    pub fn count(&self) -> usize {
        let between = |sets: &HostSets| sets.from.len().saturating_mul(sets.to.len());
        match &self.0 {
            Pattern::Uniform(sets) | Pattern::AllToAll { sets, .. } => between(sets),
            Pattern::OtherSite { hosts, .. } => hosts.len().saturating_mul(hosts.len()),
            Pattern::Incast(incast) => between(&incast.sets),
            Pattern::Listed { pairs, .. } => pairs.len(),
            Pattern::RoundRobin { from, to, .. } => {
                let common = super::common_divisor(from.len(), to.len());
                (from.len() / common).saturating_mul(to.len())
            }
            Pattern::Matrix { entries } => {
                entries.iter().fold(0, |sum: usize, entry| sum.saturating_add(between(&entry.0)))
            }
        }
    }

    /// All senders and all receivers of the pattern; hosts may appear repeatedly.
    pub fn ends(&self) -> (Vec<Node>, Vec<Node>) {
        let of = |sets: &HostSets| {
            let alone = |to: &Node| sets.from[..] == [*to];
            let to = sets.to.iter().copied().filter(|to| !alone(to)).collect();
            (sets.from.clone(), to)
        };
        match &self.0 {
            Pattern::Uniform(sets) | Pattern::AllToAll { sets, .. } => of(sets),
            Pattern::Incast(incast) => {
                let (receivers, senders) = of(&incast.sets);
                (senders, receivers)
            }
            Pattern::OtherSite { hosts, .. } => (hosts.clone(), hosts.clone()),
            Pattern::Matrix { entries } => {
                let (from, to): (Vec<_>, Vec<_>) = entries.iter().map(|entry| of(&entry.0)).unzip();
                (from.concat(), to.concat())
            }
            Pattern::Listed { .. } | Pattern::RoundRobin { .. } => self.weights().map(|(pair, _)| pair).unzip(),
        }
    }

    /// Calls `each` for every two classes that communicate, with one pair of their hosts and the share of flows between
    /// the classes. The pair has the lowest receiver and, among its senders, the lowest sender. Shares add up to one.
    /// Calls are grouped by the class of receivers; two classes that appear several times have the sum of their shares.
    pub fn by_class(&self, class: &dyn Fn(Node) -> u32, each: &mut dyn FnMut(Pair, f64)) {
        match &self.0 {
            Pattern::Uniform(sets) => {
                sets.by_class(class, true, &mut |(from, to, pairs, share)| {
                    each(least(from, to), pairs as f64 * share);
                });
            }
            Pattern::AllToAll { sets, .. } => {
                let count: usize = sets.from.iter().map(|&host| sets.others(host)).sum();
                sets.by_class(class, true, &mut |(from, to, pairs, _)| {
                    each(least(from, to), pairs as f64 / count as f64);
                });
            }
            // Incast has receivers as `from`.
            Pattern::Incast(incast) => {
                incast.sets.by_class(class, false, &mut |(receivers, senders, pairs, share)| {
                    each(least(senders, receivers), pairs as f64 * share);
                });
            }
            Pattern::OtherSite { hosts, sites } => {
                let property = hosts.iter().zip(sites).map(|(&host, site)| (host, site.0));
                let size: BTreeMap<usize, usize> = sites.iter().map(|&(first, end)| (first, end - first)).collect();
                let parts = parts(property, class);
                for to in &parts {
                    for from in parts.iter().filter(|from| from.property != to.property) {
                        let others = hosts.len() - size[&from.property];
                        let share = 1.0 / (hosts.len() * others) as f64;
                        each(least(from, to), (from.count * to.count) as f64 * share);
                    }
                }
            }
            Pattern::Matrix { entries } => {
                for (sets, weight) in entries {
                    sets.by_class(class, true, &mut |(from, to, pairs, share)| {
                        each(least(from, to), pairs as f64 * share * weight);
                    });
                }
            }
            Pattern::Listed { .. } | Pattern::RoundRobin { .. } => {
                self.weights().for_each(|(pair, share)| each(pair, share));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairs::tests::patterns;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    type Shares = BTreeMap<(u32, u32), (f64, (Node, Node))>;

    /// Share and lowest pair (by receiver, then sender) of every two classes, computed from all pairs.
    fn shares(pairs: impl Iterator<Item = (Pair, f64)>, class: &dyn Fn(Node) -> u32) -> Shares {
        let mut shares = Shares::new();
        for ((from, to), share) in pairs {
            let key = (class(from), class(to));
            let known = shares.entry(key).or_insert((0.0, (to, from)));
            *known = (known.0 + share, known.1.min((to, from)));
        }
        shares
    }

    proptest! {
        #[test]
        fn classes_have_the_shares_and_the_lowest_pair_of_their_hosts(
            from in prop::collection::vec(0u32..12, 1..8),
            to in prop::collection::vec(0u32..12, 1..8),
            classes in prop::collection::vec(0u32..4, 12),
            split in 1usize..6,
            seed: u64,
        ) {
            let nodes = |numbers: &[u32]| numbers.iter().map(|&n| Node(n)).collect::<Vec<_>>();
            let (from, to) = (nodes(&from), nodes(&to));
            let class = |node: Node| classes[node.0 as usize];
            for pairs in patterns(&from, &to, split, seed) {
                let mut by_class = Vec::new();
                pairs.by_class(&class, &mut |pair, share| by_class.push((pair, share)));
                let (got, all) =
                    (shares(by_class.into_iter(), &class), shares(pairs.weights(), &class));
                prop_assert!(pairs.weights().count() <= pairs.count());
                let set = |hosts: Vec<Node>| hosts.into_iter().collect::<BTreeSet<_>>();
                let (senders, receivers): (Vec<_>, Vec<_>) =
                    pairs.weights().map(|(pair, _)| pair).unzip();
                let (from, to) = pairs.ends();
                prop_assert_eq!((set(from), set(to)), (set(senders), set(receivers)));
                prop_assert_eq!(got.len(), all.len());
                for ((key, got), (other, all)) in got.iter().zip(&all) {
                    prop_assert_eq!((key, got.1), (other, all.1), "{:?}", pairs);
                    prop_assert!((got.0 - all.0).abs() < 1e-12, "{} {}", got.0, all.0);
                }
            }
        }
    }
}
