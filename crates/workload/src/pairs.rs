//! Traffic patterns: choose the sender and the receiver of each flow, at random or in turn, and compute the long-run
//! share of each pair.
//!
//! No pattern pairs a host with itself. [`Pairs::weights`] gives the frequencies of [`Pairs::draw`] in the long run.
//! Offered load is computed from these weights, so a test compares both. State: the sets of hosts, and the position in
//! a turn or burst.

mod classes;

use shallop_core::{Node, Stream};
use std::collections::BTreeSet;

/// Sender and receiver of a flow.
pub type Pair = (Node, Node);

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PairsError {
    #[error("a host would have nobody but itself to send to: name at least two hosts, one on each side")]
    NoOtherHost,
    #[error("a host is named twice: each belongs to one site, and once to a permutation")]
    Duplicate,
    #[error("{asked} senders at once, and a receiver has only {there} others: ask for 1 to {there}")]
    Senders { asked: usize, there: usize },
    #[error("a weight of {found}: weights are finite and not negative, and one of them is above 0")]
    /// A weight is invalid, or the sum of all weights is. `found` is the invalid value.
    Weight { found: f64 },
}

/// A traffic pattern: a source of senders and receivers for successive flows.
#[derive(Clone, Debug)]
pub struct Pairs(Pattern);

#[derive(Clone, Debug)]
enum Pattern {
    Uniform(HostSets),
    OtherSite {
        hosts: Vec<Node>,
        sites: Vec<(usize, usize)>,
    },
    Incast(Incast),
    /// A list of pairs that are used in turn.
    Listed {
        pairs: Vec<Pair>,
        next: usize,
    },
    AllToAll {
        sets: HostSets,
        next: (usize, usize),
    },
    RoundRobin {
        from: Vec<Node>,
        to: Vec<Node>,
        next: usize,
    },
    Matrix {
        entries: Vec<(HostSets, f64)>,
    },
}

/// Sets of senders and of receivers, each in ascending order and without duplicates.
#[derive(Clone, Debug)]
struct HostSets {
    from: Vec<Node>,
    to: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Incast {
    /// Receivers of incasts as `from`, senders as `to`.
    sets: HostSets,
    at_once: usize,
    receiver: Node,
    /// Senders that the current burst has not used yet.
    senders: Vec<Node>,
    /// Number of flows that remain in the current burst.
    left: usize,
}

impl HostSets {
    fn new(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        let set = |hosts: &[Node]| {
            let mut hosts = hosts.to_vec();
            hosts.sort_unstable();
            hosts.dedup();
            hosts
        };
        let sets = Self { from: set(from), to: set(to) };
        let alone = sets.from.is_empty() || sets.from.iter().any(|&host| sets.others(host) == 0);
        if alone { Err(PairsError::NoOtherHost) } else { Ok(sets) }
    }

    /// Number of receivers to which `host` may send.
    fn others(&self, host: Node) -> usize {
        self.to.len() - usize::from(self.to.binary_search(&host).is_ok())
    }

    /// Draws a sender, then a receiver other than the sender, both uniformly.
    fn draw(&self, stream: &mut Stream) -> Pair {
        let from = self.from[stream.below(self.from.len() as u64) as usize];
        let own = self.to.binary_search(&from).ok();
        let index = stream.below(self.others(from) as u64) as usize;
        (from, self.to[index + usize::from(own.is_some_and(|own| index >= own))])
    }

    fn weights(&self) -> impl Iterator<Item = (Pair, f64)> + '_ {
        self.from.iter().flat_map(move |&from| {
            let each = 1.0 / (self.from.len() * self.others(from)) as f64;
            let others = self.to.iter().filter(move |&&to| to != from);
            others.map(move |&to| ((from, to), each))
        })
    }
}

impl Pairs {
    /// Pattern in which a uniformly drawn host of `from` sends to a uniformly drawn other host of `to`.
    ///
    /// # Errors
    /// [`PairsError::NoOtherHost`].
    pub fn uniform(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        HostSets::new(from, to).map(|sets| Self(Pattern::Uniform(sets)))
    }

    /// Pattern in which a uniformly drawn host sends to a uniformly drawn host of another site.
    ///
    /// # Errors
    /// [`PairsError::NoOtherHost`] with fewer than two sites that have hosts, [`PairsError::Duplicate`].
    pub fn other_site(sites: &[Vec<Node>]) -> Result<Self, PairsError> {
        let hosts = sites.concat();
        distinct(&hosts)?;
        let mut bounds = Vec::with_capacity(hosts.len());
        for site in sites {
            let first = bounds.len();
            bounds.extend(site.iter().map(|_| (first, first + site.len())));
        }
        if bounds.iter().all(|&(first, end)| end - first == hosts.len()) {
            return Err(PairsError::NoOtherHost);
        }
        Ok(Self(Pattern::OtherSite { hosts, sites: bounds }))
    }

    /// Pattern of bursts of `at_once` flows: a uniformly drawn receiver of `to`, and `at_once` different senders drawn
    /// from `from`.
    ///
    /// # Errors
    /// [`PairsError::NoOtherHost`], [`PairsError::Senders`].
    pub fn incast(from: &[Node], to: &[Node], at_once: usize) -> Result<Self, PairsError> {
        let sets = HostSets::new(to, from)?;
        let there = sets.from.iter().map(|&host| sets.others(host)).min().unwrap_or(0);
        if at_once == 0 || at_once > there {
            return Err(PairsError::Senders { asked: at_once, there });
        }
        let receiver = sets.from[0];
        Ok(Self(Pattern::Incast(Incast { sets, at_once, receiver, senders: Vec::new(), left: 0 })))
    }

    /// Pattern in which each host sends to one other host and receives from one: a uniformly drawn cycle through all
    /// hosts. The hosts send in turn.
    ///
    /// # Errors
    /// [`PairsError::NoOtherHost`] with fewer than two hosts, [`PairsError::Duplicate`].
    pub fn permutation(hosts: &[Node], stream: &mut Stream) -> Result<Self, PairsError> {
        distinct(hosts)?;
        if hosts.len() < 2 {
            return Err(PairsError::NoOtherHost);
        }
        // Sattolo's shuffle: no host keeps its place.
        let mut to = hosts.to_vec();
        for last in (1..to.len()).rev() {
            to.swap(last, stream.below(last as u64) as usize);
        }
        let pairs = hosts.iter().copied().zip(to).collect();
        Ok(Self(Pattern::Listed { pairs, next: 0 }))
    }

    /// Pattern of all ordered pairs in turn: all receivers for the first sender, then all for the second, and so on.
    ///
    /// # Errors
    /// [`PairsError::NoOtherHost`].
    pub fn all_to_all(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        let sets = HostSets::new(from, to)?;
        Ok(Self(Pattern::AllToAll { sets, next: (0, 0) }))
    }

    /// Pattern in which host i of `from` sends to host i of `to`, in turn; each set starts over when it is used up.
    /// Pairs of a host with itself are skipped.
    ///
    /// # Errors
    /// [`PairsError::NoOtherHost`] if no pair is left.
    pub fn round_robin(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        let (from, to) = (from.to_vec(), to.to_vec());
        if from.is_empty() || to.is_empty() || meetings(&from, &to).next().is_none() {
            return Err(PairsError::NoOtherHost);
        }
        Ok(Self(Pattern::RoundRobin { from, to, next: 0 }))
    }

    /// Pattern that draws a pair of host sets by weight, then a sender and a receiver from these sets as
    /// [`Pairs::uniform`] does. Weights may have any positive sum.
    ///
    /// # Errors
    /// [`PairsError::NoOtherHost`] if a pair of sets has no pair of hosts, [`PairsError::Weight`].
    pub fn matrix(entries: &[(Vec<Node>, Vec<Node>, f64)]) -> Result<Self, PairsError> {
        let wrong = entries.iter().map(|entry| entry.2).find(|w| !w.is_finite() || *w < 0.0);
        let sum: f64 = entries.iter().map(|entry| entry.2).sum();
        if let Some(found) = wrong.or_else(|| (sum <= 0.0 || !sum.is_finite()).then_some(sum)) {
            return Err(PairsError::Weight { found });
        }
        let used = entries.iter().filter(|entry| entry.2 > 0.0);
        let between =
            |(from, to, weight): &(Vec<_>, Vec<_>, f64)| HostSets::new(from, to).map(|sets| (sets, weight / sum));
        Ok(Self(Pattern::Matrix { entries: used.map(between).collect::<Result<_, _>>()? }))
    }

    /// Chooses the sender and the receiver of the next flow.
    pub fn draw(&mut self, stream: &mut Stream) -> Pair {
        match &mut self.0 {
            Pattern::Uniform(sets) => sets.draw(stream),
            Pattern::OtherSite { hosts, sites } => {
                let from = stream.below(hosts.len() as u64) as usize;
                let (first, end) = sites[from];
                let others = hosts.len() - (end - first);
                // `other_site` has checked that every host has one at another site.
                let to = stream.below(others as u64) as usize;
                (hosts[from], hosts[if to < first { to } else { to + end - first }])
            }
            Pattern::Incast(incast) => incast.draw(stream),
            Pattern::Listed { pairs, next } => {
                let pair = pairs[*next];
                *next = (*next + 1) % pairs.len();
                pair
            }
            Pattern::AllToAll { sets, next } => loop {
                let pair = (sets.from[next.0], sets.to[next.1]);
                next.1 = (next.1 + 1) % sets.to.len();
                if next.1 == 0 {
                    next.0 = (next.0 + 1) % sets.from.len();
                }
                if pair.0 != pair.1 {
                    return pair;
                }
            },
            Pattern::RoundRobin { from, to, next } => loop {
                let pair = (from[*next % from.len()], to[*next % to.len()]);
                *next = next.wrapping_add(1);
                if pair.0 != pair.1 {
                    return pair;
                }
            },
            Pattern::Matrix { entries } => {
                let mut left = stream.unit();
                let fits = |(_, weight): &&(HostSets, f64)| {
                    left -= weight;
                    left < 0.0
                };
                // The sum of the weights may be below one by a rounding error.
                let entry = entries.iter().find(fits).unwrap_or(&entries[entries.len() - 1]);
                entry.0.draw(stream)
            }
        }
    }

    /// Each pair with its long-run share of flows. Shares add up to one; a pair that appears several times has the sum
    /// of its shares. There may be as many pairs as senders times receivers.
    pub fn weights(&self) -> Box<dyn Iterator<Item = (Pair, f64)> + '_> {
        match &self.0 {
            Pattern::Uniform(sets) => Box::new(sets.weights()),
            Pattern::OtherSite { hosts, sites } => {
                Box::new(hosts.iter().zip(sites).flat_map(move |(&from, &(first, end))| {
                    let others = hosts[..first].iter().chain(&hosts[end..]);
                    let each = 1.0 / (hosts.len() * (hosts.len() - (end - first))) as f64;
                    others.map(move |&to| ((from, to), each))
                }))
            }
            Pattern::Incast(incast) => Box::new(incast.sets.weights().map(|((to, from), weight)| ((from, to), weight))),
            Pattern::Listed { pairs, .. } => {
                let each = 1.0 / pairs.len() as f64;
                Box::new(pairs.iter().map(move |&pair| (pair, each)))
            }
            Pattern::AllToAll { sets, .. } => {
                let count: usize = sets.from.iter().map(|&host| sets.others(host)).sum();
                Box::new(sets.weights().map(move |(pair, _)| (pair, 1.0 / count as f64)))
            }
            Pattern::RoundRobin { from, to, .. } => {
                let count = meetings(from, to).count();
                Box::new(meetings(from, to).map(move |pair| (pair, 1.0 / count as f64)))
            }
            Pattern::Matrix { entries } => Box::new(
                entries
                    .iter()
                    .flat_map(|(sets, weight)| sets.weights().map(move |(pair, share)| (pair, share * weight))),
            ),
        }
    }
}

impl Incast {
    fn draw(&mut self, stream: &mut Stream) -> Pair {
        if self.left == 0 {
            let receivers = &self.sets.from;
            self.receiver = receivers[stream.below(receivers.len() as u64) as usize];
            self.senders.clear();
            let others = self.sets.to.iter().filter(|&&host| host != self.receiver);
            self.senders.extend(others);
            self.left = self.at_once;
        }
        self.left -= 1;
        let sender = self.senders.swap_remove(stream.below(self.senders.len() as u64) as usize);
        (sender, self.receiver)
    }
}

/// Pairs of the round-robin pattern, all of which are equally frequent: host i of `from` meets host j of `to` if i and
/// j have equal remainders modulo the greatest common divisor of the lengths.
fn meetings<'a>(from: &'a [Node], to: &'a [Node]) -> impl Iterator<Item = Pair> + 'a {
    let common = common_divisor(from.len(), to.len());
    (0..from.len()).flat_map(move |place| {
        let met = to.iter().skip(place % common).step_by(common);
        met.map(move |&to| (from[place], to)).filter(|pair| pair.0 != pair.1)
    })
}

/// Greatest common divisor of two numbers that are not both zero.
fn common_divisor(mut common: usize, mut rest: usize) -> usize {
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    common
}

fn distinct(hosts: &[Node]) -> Result<(), PairsError> {
    let mut seen = BTreeSet::new();
    let again = hosts.iter().any(|&host| !seen.insert(host));
    if again { Err(PairsError::Duplicate) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallop_core::Seed;
    use std::collections::BTreeMap;

    fn nodes(numbers: &[u32]) -> Vec<Node> {
        numbers.iter().map(|&number| Node(number)).collect()
    }

    fn stream(seed: u64) -> Stream {
        Seed::new(seed).stream("pairs", 0)
    }

    fn drawn(pairs: &mut Pairs, seed: u64, count: usize) -> Vec<(u32, u32)> {
        let mut stream = stream(seed);
        (0..count).map(|_| pairs.draw(&mut stream)).map(|(from, to)| (from.0, to.0)).collect()
    }

    /// All kinds of patterns that these hosts allow. Sites have `2 * split` hosts, incasts `split` senders.
    pub(super) fn patterns(from: &[Node], to: &[Node], split: usize, seed: u64) -> Vec<Pairs> {
        let heavy = [(from.to_vec(), to.to_vec(), 3.0), (to.to_vec(), from.to_vec(), 1.0)];
        let hosts: Vec<Node> = (0..12).map(Node).collect();
        let sites: Vec<Vec<Node>> = hosts.chunks(split * 2).map(<[_]>::to_vec).collect();
        let patterns = [
            Pairs::uniform(from, to),
            Pairs::other_site(&sites),
            Pairs::incast(from, to, 1),
            Pairs::incast(from, to, split),
            Pairs::permutation(from, &mut stream(seed)),
            Pairs::all_to_all(from, to),
            Pairs::round_robin(from, to),
            Pairs::matrix(&heavy),
        ];
        patterns.into_iter().flatten().collect()
    }

    /// Asserts that the frequencies of draws match the weights, and that the weights add up to one.
    fn assert_draws_match_weights(mut pairs: Pairs, seed: u64, count: usize) {
        let mut shares = BTreeMap::new();
        for ((from, to), weight) in pairs.weights() {
            assert_ne!(from, to);
            *shares.entry((from.0, to.0)).or_insert(0.0) += weight;
        }
        let sum: f64 = shares.values().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
        let mut counts = BTreeMap::new();
        for pair in drawn(&mut pairs, seed, count) {
            assert!(shares.contains_key(&pair), "{pair:?} has no weight");
            *counts.entry(pair).or_insert(0.0) += 1.0;
        }
        for (pair, share) in shares {
            let got = counts.get(&pair).copied().unwrap_or(0.0) / count as f64;
            // Six standard deviations; flows of a burst share a receiver, so there are fewer independent draws.
            let allowed = 6.0 * (share * 8.0 / count as f64).sqrt();
            assert!((got - share).abs() <= allowed, "{pair:?}: {got}, expected {share}, in {pairs:?}");
        }
    }

    #[test]
    fn a_permutation_pairs_every_host_with_one_other() {
        for seed in 0..200 {
            let hosts = nodes(&[4, 7, 1, 9, 3]);
            let mut pairs = Pairs::permutation(&hosts, &mut stream(seed)).unwrap();
            let round = drawn(&mut pairs, seed, 5);
            assert_eq!(round, drawn(&mut pairs, seed, 5), "the next round repeats the first");
            assert_eq!(round.iter().map(|pair| pair.0).collect::<Vec<_>>(), [4, 7, 1, 9, 3]);
            let mut to: Vec<u32> = round.iter().map(|pair| pair.1).collect();
            to.sort_unstable();
            assert_eq!(to, [1, 3, 4, 7, 9]);
            assert!(round.iter().all(|(from, to)| from != to));
        }
    }

    #[test]
    fn an_incast_burst_has_one_receiver_and_distinct_senders() {
        let hosts = nodes(&[0, 1, 2, 3, 4, 5]);
        let mut pairs = Pairs::incast(&hosts, &hosts, 4).unwrap();
        for burst in drawn(&mut pairs, 1, 4_000).chunks(4) {
            let mut senders: Vec<u32> = burst.iter().map(|pair| pair.0).collect();
            senders.sort_unstable();
            senders.dedup();
            assert!(senders.len() == 4 && burst.iter().all(|pair| pair.1 == burst[0].1));
            assert!(!senders.contains(&burst[0].1));
        }
        let mut fixed = Pairs::incast(&hosts, &nodes(&[9]), 6).unwrap();
        assert!(drawn(&mut fixed, 1, 60).iter().all(|pair| pair.1 == 9));
        let error = Pairs::incast(&hosts, &hosts, 6).unwrap_err();
        assert_eq!(error, PairsError::Senders { asked: 6, there: 5 });
    }

    #[test]
    fn round_robin_and_all_to_all_skip_pairs_of_a_host_with_itself() {
        let mut turn = Pairs::round_robin(&nodes(&[0, 1, 2]), &nodes(&[8, 9])).unwrap();
        let all = [(0, 8), (1, 9), (2, 8), (0, 9), (1, 8), (2, 9)];
        assert_eq!(drawn(&mut turn, 1, 8), [&all[..], &all[..2]].concat());
        let mut partly = Pairs::round_robin(&nodes(&[0, 1]), &nodes(&[0, 5])).unwrap();
        assert_eq!(drawn(&mut partly, 1, 2), [(1, 5), (1, 5)]);
        let same = nodes(&[3, 4]);
        assert_eq!(Pairs::round_robin(&same, &same).unwrap_err(), PairsError::NoOtherHost);
        let mut all = Pairs::all_to_all(&same, &nodes(&[4, 5])).unwrap();
        assert_eq!(drawn(&mut all, 1, 4), [(3, 4), (3, 5), (4, 5), (3, 4)]);
    }

    #[test]
    fn sets_without_a_pair_and_invalid_weights_are_refused() {
        let (one, two) = (nodes(&[1]), nodes(&[1, 2]));
        assert_eq!(Pairs::uniform(&two, &one).unwrap_err(), PairsError::NoOtherHost);
        assert_eq!(Pairs::uniform(&[], &one).unwrap_err(), PairsError::NoOtherHost);
        assert_eq!(Pairs::other_site(&[two.clone(), vec![]]).unwrap_err(), PairsError::NoOtherHost);
        assert_eq!(Pairs::other_site(&[two.clone(), one.clone()]).unwrap_err(), PairsError::Duplicate);
        assert_eq!(Pairs::permutation(&one, &mut stream(0)).unwrap_err(), PairsError::NoOtherHost);
        for weight in [-1.0, f64::NAN, 0.0, f64::INFINITY] {
            let error = Pairs::matrix(&[(one.clone(), nodes(&[2]), weight)]).unwrap_err();
            assert!(matches!(error, PairsError::Weight { .. }), "{weight}");
        }
        assert!(matches!(Pairs::matrix(&[]), Err(PairsError::Weight { .. })));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_frequency_of_each_pair_matches_its_weight(
            from in prop::collection::vec(0u32..12, 1..7),
            to in prop::collection::vec(0u32..12, 1..7),
            split in 1usize..4,
            seed: u64,
        ) {
            for pairs in patterns(&nodes(&from), &nodes(&to), split, seed) {
                assert_draws_match_weights(pairs, seed, 6_000);
            }
        }
    }
}
