//! Who sends to whom: patterns over sets of hosts, drawn from or taken in turn, and how often each pair comes up.
//!
//! No pattern pairs a host with itself. [`Pairs::weights`] is what [`Pairs::draw`] does in the long run: offered load
//! is computed from it, so tests hold both together. State: the sets, and where a turn or a burst stands.

use std::collections::BTreeMap;

use shallop_core::{Node, Stream};

/// A pair of hosts, from and to.
pub type Pair = (Node, Node);

/// Why hosts cannot be paired as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PairsError {
    /// Somebody has nobody else to send to, or there is nobody.
    #[error("a host would have nobody but itself to send to: name at least two hosts, one on each side")]
    Alone,
    /// One host is at two sites, or twice in a set that counts each once.
    #[error("a host is named twice: each belongs to one site, and once to a permutation")]
    Twice,
    /// More senders at once than there are.
    #[error("{asked} senders at once, and a receiver has only {there} others: ask for 1 to {there}")]
    Senders {
        /// How many were asked for.
        asked: usize,
        /// How many there are at least.
        there: usize,
    },
    /// A weight is not one, or none is above zero.
    #[error("a weight of {found}: weights are finite and not negative, and one of them is above 0")]
    Weight {
        /// The weight, or the sum of all.
        found: f64,
    },
}

/// A pattern of sources and destinations.
#[derive(Clone, Debug)]
pub struct Pairs(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Uniform(Between),
    OtherSite { hosts: Vec<Node>, sites: Vec<(usize, usize)> },
    Incast(Incast),
    /// Pairs that come up one after the other.
    Listed { pairs: Vec<Pair>, next: usize },
    AllToAll { sets: Between, next: (usize, usize) },
    Turn { from: Vec<Node>, to: Vec<Node>, next: usize },
    Matrix { entries: Vec<(Between, f64)> },
}

/// Two sets, each in ascending order and without repeats.
#[derive(Clone, Debug)]
struct Between {
    from: Vec<Node>,
    to: Vec<Node>,
}

#[derive(Clone, Debug)]
struct Incast {
    /// Receivers and senders, as if receivers sent.
    sets: Between,
    at_once: usize,
    receiver: Node,
    /// Those who send to it, drawn ones last and `left` of these still to come.
    senders: Vec<Node>,
    left: usize,
}

impl Between {
    fn new(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        let set = |hosts: &[Node]| {
            let mut hosts = hosts.to_vec();
            hosts.sort_unstable();
            hosts.dedup();
            hosts
        };
        let sets = Self { from: set(from), to: set(to) };
        let alone = sets.from.is_empty() || sets.from.iter().any(|&host| sets.others(host) == 0);
        if alone { Err(PairsError::Alone) } else { Ok(sets) }
    }

    /// How many this host may send to.
    fn others(&self, host: Node) -> usize {
        self.to.len() - usize::from(self.to.binary_search(&host).is_ok())
    }

    /// Any sender, then any receiver but itself.
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
    /// Any host of `from`, then any of `to` but itself.
    ///
    /// # Errors
    /// [`PairsError::Alone`].
    pub fn uniform(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        Between::new(from, to).map(|sets| Self(Kind::Uniform(sets)))
    }

    /// Any host, then any host of another site.
    ///
    /// # Errors
    /// [`PairsError::Alone`] with fewer than two sites that have hosts, [`PairsError::Twice`].
    pub fn other_site(sites: &[Vec<Node>]) -> Result<Self, PairsError> {
        let hosts = sites.concat();
        distinct(&hosts)?;
        let mut bounds = Vec::with_capacity(hosts.len());
        for site in sites {
            let first = bounds.len();
            bounds.extend(site.iter().map(|_| (first, first + site.len())));
        }
        if bounds.iter().all(|&(first, end)| end - first == hosts.len()) {
            return Err(PairsError::Alone);
        }
        Ok(Self(Kind::OtherSite { hosts, sites: bounds }))
    }

    /// Bursts of `at_once` draws: any receiver of `to`, then that many different senders of `from`, any of them. A
    /// single receiver is always that one.
    ///
    /// # Errors
    /// [`PairsError::Alone`], [`PairsError::Senders`].
    pub fn incast(from: &[Node], to: &[Node], at_once: usize) -> Result<Self, PairsError> {
        let sets = Between::new(to, from)?;
        let there = sets.from.iter().map(|&host| sets.others(host)).min().unwrap_or(0);
        if at_once == 0 || at_once > there {
            return Err(PairsError::Senders { asked: at_once, there });
        }
        let receiver = sets.from[0];
        Ok(Self(Kind::Incast(Incast { sets, at_once, receiver, senders: Vec::new(), left: 0 })))
    }

    /// Each host sends to one other and receives from one other: a single cycle through all of them, any such cycle,
    /// drawn once. The hosts send in turn.
    ///
    /// # Errors
    /// [`PairsError::Alone`] with fewer than two hosts, [`PairsError::Twice`].
    pub fn permutation(hosts: &[Node], stream: &mut Stream) -> Result<Self, PairsError> {
        distinct(hosts)?;
        if hosts.len() < 2 {
            return Err(PairsError::Alone);
        }
        // Sattolo's shuffle: nobody keeps its place.
        let mut to = hosts.to_vec();
        for last in (1..to.len()).rev() {
            to.swap(last, stream.below(last as u64) as usize);
        }
        let pairs = hosts.iter().copied().zip(to).collect();
        Ok(Self(Kind::Listed { pairs, next: 0 }))
    }

    /// Every ordered pair in turn: the receivers of the first sender, then those of the second.
    ///
    /// # Errors
    /// [`PairsError::Alone`].
    pub fn all_to_all(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        let sets = Between::new(from, to)?;
        Ok(Self(Kind::AllToAll { sets, next: (0, 0) }))
    }

    /// The i-th of `from` to the i-th of `to`, each set from its start again when it is used up; a host and itself are
    /// left out.
    ///
    /// # Errors
    /// [`PairsError::Alone`] if nothing but that comes up.
    pub fn turn(from: &[Node], to: &[Node]) -> Result<Self, PairsError> {
        let (from, to) = (from.to_vec(), to.to_vec());
        if from.is_empty() || to.is_empty() || meetings(&from, &to).next().is_none() {
            return Err(PairsError::Alone);
        }
        Ok(Self(Kind::Turn { from, to, next: 0 }))
    }

    /// One of these pairs of sets, by its weight, then within it as [`Pairs::uniform`]. Weights may have any sum.
    ///
    /// # Errors
    /// [`PairsError::Alone`] if a pair of sets has nobody to pair, [`PairsError::Weight`].
    pub fn matrix(entries: &[(Vec<Node>, Vec<Node>, f64)]) -> Result<Self, PairsError> {
        let wrong = entries.iter().map(|entry| entry.2).find(|w| !w.is_finite() || *w < 0.0);
        let sum: f64 = entries.iter().map(|entry| entry.2).sum();
        if let Some(found) = wrong.or_else(|| (sum <= 0.0 || !sum.is_finite()).then_some(sum)) {
            return Err(PairsError::Weight { found });
        }
        let used = entries.iter().filter(|entry| entry.2 > 0.0);
        let between = |(from, to, weight): &(Vec<_>, Vec<_>, f64)| {
            Between::new(from, to).map(|sets| (sets, weight / sum))
        };
        Ok(Self(Kind::Matrix { entries: used.map(between).collect::<Result<_, _>>()? }))
    }

    /// The pair of the next flow.
    pub fn draw(&mut self, stream: &mut Stream) -> Pair {
        match &mut self.0 {
            Kind::Uniform(sets) => sets.draw(stream),
            Kind::OtherSite { hosts, sites } => {
                let from = stream.below(hosts.len() as u64) as usize;
                let (first, end) = sites[from];
                let others = hosts.len() - (end - first);
                // With a single host in every other site there is always one left: sites were checked.
                let to = stream.below(others as u64) as usize;
                (hosts[from], hosts[if to < first { to } else { to + end - first }])
            }
            Kind::Incast(incast) => incast.draw(stream),
            Kind::Listed { pairs, next } => {
                let pair = pairs[*next];
                *next = (*next + 1) % pairs.len();
                pair
            }
            Kind::AllToAll { sets, next } => loop {
                let pair = (sets.from[next.0], sets.to[next.1]);
                next.1 = (next.1 + 1) % sets.to.len();
                if next.1 == 0 {
                    next.0 = (next.0 + 1) % sets.from.len();
                }
                if pair.0 != pair.1 {
                    return pair;
                }
            },
            Kind::Turn { from, to, next } => loop {
                let pair = (from[*next % from.len()], to[*next % to.len()]);
                *next = next.wrapping_add(1);
                if pair.0 != pair.1 {
                    return pair;
                }
            },
            Kind::Matrix { entries } => {
                let mut left = stream.unit();
                let fits = |(_, weight): &&(Between, f64)| {
                    left -= weight;
                    left < 0.0
                };
                // The sum of the weights may fall short of one by a rounding.
                let entry = entries.iter().find(fits).unwrap_or(&entries[entries.len() - 1]);
                entry.0.draw(stream)
            }
        }
    }

    /// Every pair that comes up, with the share of flows it gets in the long run; shares add up to one. A pair may come
    /// several times, and then its shares add up. There may be as many as senders times receivers.
    #[must_use]
    pub fn weights(&self) -> Box<dyn Iterator<Item = (Pair, f64)> + '_> {
        match &self.0 {
            Kind::Uniform(sets) => Box::new(sets.weights()),
            Kind::OtherSite { hosts, sites } => {
                Box::new(hosts.iter().zip(sites).flat_map(move |(&from, &(first, end))| {
                    let others = hosts[..first].iter().chain(&hosts[end..]);
                    let each = 1.0 / (hosts.len() * (hosts.len() - (end - first))) as f64;
                    others.map(move |&to| ((from, to), each))
                }))
            }
            Kind::Incast(incast) => {
                Box::new(incast.sets.weights().map(|((to, from), weight)| ((from, to), weight)))
            }
            Kind::Listed { pairs, .. } => {
                let each = 1.0 / pairs.len() as f64;
                Box::new(pairs.iter().map(move |&pair| (pair, each)))
            }
            Kind::AllToAll { sets, .. } => {
                let count: usize = sets.from.iter().map(|&host| sets.others(host)).sum();
                Box::new(sets.weights().map(move |(pair, _)| (pair, 1.0 / count as f64)))
            }
            Kind::Turn { from, to, .. } => {
                let count = meetings(from, to).count();
                Box::new(meetings(from, to).map(move |pair| (pair, 1.0 / count as f64)))
            }
            Kind::Matrix { entries } => Box::new(entries.iter().flat_map(|(sets, weight)| {
                sets.weights().map(move |(pair, share)| (pair, share * weight))
            })),
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

/// The pairs that come up when both sets are taken in turn: places meet that leave the same rest when divided by the
/// greatest common divisor of the lengths, each as often as any other.
fn meetings<'a>(from: &'a [Node], to: &'a [Node]) -> impl Iterator<Item = Pair> + 'a {
    let (mut common, mut rest) = (from.len(), to.len());
    while rest > 0 {
        (common, rest) = (rest, common % rest);
    }
    (0..from.len()).flat_map(move |place| {
        let met = to.iter().skip(place % common).step_by(common);
        met.map(move |&to| (from[place], to)).filter(|pair| pair.0 != pair.1)
    })
}

fn distinct(hosts: &[Node]) -> Result<(), PairsError> {
    let mut seen = BTreeMap::new();
    let again = hosts.iter().any(|&host| seen.insert(host, ()).is_some());
    if again { Err(PairsError::Twice) } else { Ok(()) }
}
