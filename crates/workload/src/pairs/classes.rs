//! The pairs of a pattern by classes of hosts, for networks with too many pairs to go through: all hosts of a class are
//! alike to the caller, who learns of two classes once, with one pair of their hosts and the share of all.

use std::collections::BTreeMap;

use shallop_core::Node;

use super::{Between, Kind, Pair, Pairs};

/// The hosts of a set that are of one class, and alike in one more property.
#[derive(Clone, Copy, Debug)]
struct Part {
    class: u32,
    property: usize,
    count: usize,
    /// The two with the least numbers.
    first: Node,
    second: Option<Node>,
}

/// The parts of a set of hosts, each once; the hosts are given with their property.
fn parts(hosts: impl Iterator<Item = (Node, usize)>, class: &dyn Fn(Node) -> u32) -> Vec<Part> {
    let mut parts: BTreeMap<(u32, usize), Part> = BTreeMap::new();
    for (host, property) in hosts {
        let class = class(host);
        let part = parts.entry((class, property)).or_insert(Part {
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

/// Two parts with the number of pairs of their hosts and the share of each pair.
type PartPair<'a> = (&'a Part, &'a Part, usize, f64);

impl Between {
    /// The parts of both sets. The property is whether a host is in the other set as well.
    fn parts(&self, class: &dyn Fn(Node) -> u32) -> (Vec<Part>, Vec<Part>) {
        let of = |hosts: &[Node], others: &[Node]| {
            let both = |&host: &Node| (host, usize::from(others.binary_search(&host).is_ok()));
            parts(hosts.iter().map(both), class)
        };
        (of(&self.from, &self.to), of(&self.to, &self.from))
    }

    /// Every two parts with pairs, those of one part of `outer` after each other. Hosts do not send to themselves.
    fn by_class(
        &self,
        class: &dyn Fn(Node) -> u32,
        of_to: bool,
        each: &mut dyn FnMut(PartPair<'_>),
    ) {
        let (from, to) = self.parts(class);
        let mut join = |from: &Part, to: &Part| {
            let both = same_hosts(from, to);
            let pairs = from.count * to.count - if both { from.count } else { 0 };
            let share = 1.0 / (self.from.len() * (self.to.len() - from.property)) as f64;
            if pairs > 0 {
                each((from, to, pairs, share));
            }
        };
        if of_to {
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

/// Whether two parts of two sets are the same hosts. If not, they have none in common.
fn same_hosts(from: &Part, to: &Part) -> bool {
    from.class == to.class && from.property == 1 && to.property == 1
}

/// The pair of sender and receiver with the least receiver and then the least sender.
fn least(senders: &Part, receivers: &Part) -> Pair {
    let to = receivers.first;
    let from = if senders.first == to { senders.second } else { Some(senders.first) };
    (from.unwrap_or(senders.first), to)
}

impl Pairs {
    /// The number of pairs of [`Pairs::weights`], or a few more.
    pub fn count(&self) -> usize {
        let between = |sets: &Between| sets.from.len().saturating_mul(sets.to.len());
        match &self.0 {
            Kind::Uniform(sets) | Kind::AllToAll { sets, .. } => between(sets),
            Kind::OtherSite { hosts, .. } => hosts.len().saturating_mul(hosts.len()),
            Kind::Incast(incast) => between(&incast.sets),
            Kind::Listed { pairs, .. } => pairs.len(),
            Kind::RoundRobin { from, to, .. } => {
                let common = super::common_divisor(from.len(), to.len());
                (from.len() / common).saturating_mul(to.len())
            }
            Kind::Matrix { entries } => {
                entries.iter().fold(0, |sum: usize, entry| sum.saturating_add(between(&entry.0)))
            }
        }
    }

    /// The hosts that send, and those that receive; some of them repeatedly.
    pub fn ends(&self) -> (Vec<Node>, Vec<Node>) {
        let of = |sets: &Between| {
            let alone = |to: &Node| sets.from[..] == [*to];
            let to = sets.to.iter().copied().filter(|to| !alone(to)).collect();
            (sets.from.clone(), to)
        };
        match &self.0 {
            Kind::Uniform(sets) | Kind::AllToAll { sets, .. } => of(sets),
            Kind::Incast(incast) => {
                let (receivers, senders) = of(&incast.sets);
                (senders, receivers)
            }
            Kind::OtherSite { hosts, .. } => (hosts.clone(), hosts.clone()),
            Kind::Matrix { entries } => {
                let (from, to): (Vec<_>, Vec<_>) = entries.iter().map(|entry| of(&entry.0)).unzip();
                (from.concat(), to.concat())
            }
            Kind::Listed { .. } | Kind::RoundRobin { .. } => {
                self.weights().map(|(pair, _)| pair).unzip()
            }
        }
    }

    /// Calls `each` with a pair of hosts of every two classes that communicate, the one with the least receiver and
    /// then the least sender, and with the share of flows between the two classes. Shares add up to one. Pairs of the
    /// same class of receivers come after each other; two classes may come several times, and then their shares add
    /// up.
    pub fn by_class(&self, class: &dyn Fn(Node) -> u32, each: &mut dyn FnMut(Pair, f64)) {
        match &self.0 {
            Kind::Uniform(sets) => sets.by_class(class, true, &mut |(from, to, pairs, share)| {
                each(least(from, to), pairs as f64 * share);
            }),
            Kind::AllToAll { sets, .. } => {
                let count: usize = sets.from.iter().map(|&host| sets.others(host)).sum();
                sets.by_class(class, true, &mut |(from, to, pairs, _)| {
                    each(least(from, to), pairs as f64 / count as f64);
                });
            }
            // Its sets are as if receivers sent.
            Kind::Incast(incast) => {
                incast.sets.by_class(class, false, &mut |(receivers, senders, pairs, share)| {
                    each(least(senders, receivers), pairs as f64 * share);
                });
            }
            Kind::OtherSite { hosts, sites } => {
                let property = hosts.iter().zip(sites).map(|(&host, site)| (host, site.0));
                let size: BTreeMap<usize, usize> =
                    sites.iter().map(|&(first, end)| (first, end - first)).collect();
                let parts = parts(property, class);
                for to in &parts {
                    for from in parts.iter().filter(|from| from.property != to.property) {
                        let others = hosts.len() - size[&from.property];
                        let share = 1.0 / (hosts.len() * others) as f64;
                        each(least(from, to), (from.count * to.count) as f64 * share);
                    }
                }
            }
            Kind::Matrix { entries } => {
                for (sets, weight) in entries {
                    sets.by_class(class, true, &mut |(from, to, pairs, share)| {
                        each(least(from, to), pairs as f64 * share * weight);
                    });
                }
            }
            Kind::Listed { .. } | Kind::RoundRobin { .. } => {
                self.weights().for_each(|(pair, share)| each(pair, share));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;
    use shallop_core::Seed;

    use super::*;

    type Shares = BTreeMap<(u32, u32), (f64, (Node, Node))>;

    /// The share and the least pair, by receiver and then sender, of every two classes.
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
        fn classes_have_the_shares_and_the_least_pairs_of_their_hosts(
            from in prop::collection::vec(0u32..12, 1..8),
            to in prop::collection::vec(0u32..12, 1..8),
            classes in prop::collection::vec(0u32..4, 12),
            split in 1usize..6,
            seed: u64,
        ) {
            let nodes = |numbers: &[u32]| numbers.iter().map(|&n| Node(n)).collect::<Vec<_>>();
            let (from, to) = (nodes(&from), nodes(&to));
            let sites: Vec<Vec<Node>> =
                (0..12).rev().map(Node).collect::<Vec<_>>().chunks(split).map(<[_]>::to_vec).collect();
            let heavy = [(from.clone(), to.clone(), 3.0), (to.clone(), from.clone(), 1.0)];
            let patterns = [
                Pairs::uniform(&from, &to),
                Pairs::other_site(&sites),
                Pairs::incast(&from, &to, 1),
                Pairs::permutation(&from, &mut Seed::new(seed).stream("pairs", 0)),
                Pairs::all_to_all(&from, &to),
                Pairs::round_robin(&from, &to),
                Pairs::matrix(&heavy),
            ];
            let class = |node: Node| classes[node.0 as usize];
            for pairs in patterns.into_iter().flatten() {
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
