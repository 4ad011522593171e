//! Which schemes are shown to be better than others.

use shallop_results::contrast::Shown;

use super::standings::Entry;

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
pub(super) fn is_worse(one: &Entry<'_>, than: &Entry<'_>, less: bool) -> bool {
    than.shown(one) == if less { Shown::More } else { Shown::Less }
}

/// Whether that is shown with the confidence for differences that are picked from many.
pub(super) fn is_firmly_worse(one: &Entry<'_>, than: &Entry<'_>, less: bool) -> bool {
    let worse = if less { Shown::More } else { Shown::Less };
    than.contrast(one).is_some_and(|contrast| contrast.firmly_shown() == worse)
}

fn is_alike(one: &Entry<'_>, others: &[&Entry<'_>]) -> bool {
    others.iter().all(|other| other.shown(one) == Shown::Alike)
}

/// The ranking of these, at least one; `less` if less is better.
pub(super) fn rank<'e, 'a>(entries: &[&'e Entry<'a>], less: bool) -> Ranking<'e, 'a> {
    let sorted = sorted(entries, less);
    let mut ranking = Ranking {
        best: sorted.first().copied().into_iter().collect(),
        rest: Vec::new(),
        worst: Vec::new(),
        undecided: Vec::new(),
        seeds_needed: None,
    };
    for &entry in sorted.iter().skip(1) {
        if is_alike(entry, &ranking.best) {
            ranking.best.push(entry);
        } else if is_worse(entry, ranking.best[0], less) {
            ranking.rest.push(entry);
        } else {
            ranking.undecided.push(entry);
        }
    }
    let Ranking { best, rest, .. } = &mut ranking;
    let (worse, open) = rest.iter().partition(|entry| best.iter().all(|first| is_worse(entry, first, less)));
    *rest = worse;
    ranking.undecided.extend::<Vec<&Entry<'_>>>(open);
    ranking.worst = worst(&ranking.rest, less);
    let needed = |entry: &&Entry<'_>| sorted[0].contrast(entry)?.seeds_needed();
    let needed: Option<Vec<u64>> = ranking.undecided.iter().map(needed).collect();
    ranking.seeds_needed = needed.and_then(|all| all.into_iter().max());
    ranking
}

/// The worst of these, which are sorted; none if the seeds do not tell.
fn worst<'e, 'a>(rest: &[&'e Entry<'a>], less: bool) -> Vec<&'e Entry<'a>> {
    let mut worst: Vec<&Entry<'_>> = Vec::new();
    let mut others = rest.to_vec();
    while let Some(last) = others.pop_if(|entry| is_alike(entry, &worst)) {
        worst.push(last);
    }
    let is_shown = |other: &&Entry<'_>| worst.iter().all(|last| is_worse(last, other, less));
    if others.iter().all(is_shown) { worst } else { Vec::new() }
}
