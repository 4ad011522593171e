//! Which schemes are shown to be better than others.

use super::standings::{Entry, Standings};
use shallop_results::contrast::{Level, Shown};

/// Schemes by what their seeds show. Every scheme is in one of `best`, `rest` and `undecided`.
#[derive(Clone, Debug)]
pub(super) struct Ranking<'e, 'a> {
    /// The best estimate, and those shown to be equal to it within the practical bound.
    pub best: Vec<&'e Entry<'a>>,
    /// The schemes shown to be worse than each of the best, in the order of their estimates.
    pub rest: Vec<&'e Entry<'a>>,
    /// The last of the rest, if they are equal within the bound and shown to be worse than all others of the rest.
    pub worst: Vec<&'e Entry<'a>>,
    /// The schemes of which the seeds do not show that they are worse than the best.
    pub undecided: Vec<&'e Entry<'a>>,
    /// The number of seeds that would decide, if it can be told.
    pub seeds_needed: Option<u64>,
}

/// These in the order of their estimates, the best one first; `less` if less is better.
pub(super) fn sorted<'e, 'a>(entries: &[&'e Entry<'a>], less: bool) -> Vec<&'e Entry<'a>> {
    let mut sorted = entries.to_vec();
    sorted.sort_by(|a, b| a.value.mean.total_cmp(&b.value.mean));
    if !less {
        sorted.reverse();
    }
    sorted
}

/// Whether a scheme is shown to be worse than another one.
pub(super) fn is_worse(one: &Entry<'_>, than: &Entry<'_>, less: bool, level: Level) -> bool {
    than.shown(one, level) == if less { Shown::More } else { Shown::Less }
}

struct Judge<'e, 'a> {
    less: bool,
    /// The schemes beside the best estimate with the deviations of their differences from it; `None` at the usual
    /// level, which is not moderated.
    deviations: Option<Vec<(&'e Entry<'a>, f64)>>,
    is_sweep: bool,
}

impl<'e, 'a> Judge<'e, 'a> {
    fn new(sorted: &[&'e Entry<'a>], standings: &Standings<'_>) -> Self {
        let deviation = |entry: &&'e Entry<'a>| Some((*entry, sorted[0].contrast(entry)?.deviation()?));
        let deviations = standings.has_groups.then(|| sorted.iter().skip(1).filter_map(deviation).collect());
        let is_sweep = standings.comparison.points.len() > 1;
        Self { less: standings.topic.is_less_better(), deviations, is_sweep }
    }

    /// The level for a statement on this scheme, which the others moderate.
    fn level(&self, of: &Entry<'_>) -> Level {
        let others = |all: &Vec<(&Entry<'_>, f64)>| -> Vec<f64> {
            all.iter().filter(|(other, _)| other.scheme != of.scheme).map(|(_, deviation)| *deviation).collect()
        };
        self.deviations.as_ref().map_or(Level::USUAL, |all| Level::beside(others(all), self.is_sweep))
    }

    fn is_worse(&self, one: &Entry<'_>, than: &Entry<'_>) -> bool {
        is_worse(one, than, self.less, self.level(one))
    }

    fn is_alike(&self, one: &Entry<'_>, others: &[&Entry<'_>]) -> bool {
        others.iter().all(|other| other.shown(one, self.level(one)) == Shown::Alike)
    }

    /// The worst of these, which are sorted; none if the seeds do not tell.
    fn worst(&self, rest: &[&'e Entry<'a>]) -> Vec<&'e Entry<'a>> {
        let mut worst: Vec<&Entry<'_>> = Vec::new();
        let mut others = rest.to_vec();
        while let Some(last) = others.pop_if(|entry| self.is_alike(entry, &worst)) {
            worst.push(last);
        }
        let is_shown = |other: &&Entry<'_>| worst.iter().all(|last| self.is_worse(last, other));
        if others.iter().all(is_shown) { worst } else { Vec::new() }
    }
}

impl Standings<'_> {
    /// The ranking of these, at least one.
    pub(super) fn rank<'e, 'a>(&self, entries: &[&'e Entry<'a>]) -> Ranking<'e, 'a> {
        let sorted = sorted(entries, self.topic.is_less_better());
        let judge = Judge::new(&sorted, self);
        let mut ranking = Ranking {
            best: sorted.first().copied().into_iter().collect(),
            rest: Vec::new(),
            worst: Vec::new(),
            undecided: Vec::new(),
            seeds_needed: None,
        };
        for &entry in sorted.iter().skip(1) {
            if judge.is_alike(entry, &ranking.best) {
                ranking.best.push(entry);
            } else if judge.is_worse(entry, ranking.best[0]) {
                ranking.rest.push(entry);
            } else {
                ranking.undecided.push(entry);
            }
        }
        let Ranking { best, rest, .. } = &mut ranking;
        let (worse, open) = rest.iter().partition(|entry| best.iter().all(|first| judge.is_worse(entry, first)));
        *rest = worse;
        ranking.undecided.extend::<Vec<&Entry<'_>>>(open);
        ranking.worst = judge.worst(&ranking.rest);
        let needed = |entry: &&Entry<'_>| sorted[0].contrast(entry)?.seeds_needed(judge.level(entry));
        let needed: Option<Vec<u64>> = ranking.undecided.iter().map(needed).collect();
        ranking.seeds_needed = needed.and_then(|all| all.into_iter().max());
        ranking
    }
}
