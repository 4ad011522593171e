//! What the lead of a scheme costs: loss and unfairness. A scheme that leads in one figure and ruins another one is not
//! called the best without a word on it.

use super::ranking::{is_worse, sorted};
use super::standings::{Entry, Standings};
use super::wording::{names, quoted, range};
use shallop_results::metrics;

/// A leader that lost this much more of its data packets than the scheme with the least loss pays for its lead.
const MORE_LOSS: f64 = 0.05;
/// So does one whose Jain's index is this much lower than the highest.
const LESS_FAIR: f64 = 0.2;

/// The most sentences on the price of leads.
const MAX_SENTENCES: usize = 2;

/// A sentence for each of the leaders that ruins another figure, of the first [`MAX_SENTENCES`].
pub(super) fn sentences(leaders: &[&Entry<'_>], all: &[&Entry<'_>]) -> Vec<String> {
    leaders.iter().filter_map(|leader| sentence(leader, all)).take(MAX_SENTENCES).collect()
}

/// The same for the first leader of each point, with the label of the point; one for each scheme.
pub(super) fn of_points<'e, 'a>(
    points: impl Iterator<Item = (&'e str, &'e Entry<'a>, Vec<&'e Entry<'a>>)>,
) -> Vec<String>
where
    'a: 'e,
{
    let mut found: Vec<(&str, String)> = Vec::new();
    for (label, leader, all) in points {
        let is_told = found.iter().any(|(name, _)| *name == leader.scheme);
        if let (Some(price), false) = (sentence(leader, &all), is_told) {
            found.push((leader.scheme, price.replacen("But ", &format!("But at {label} "), 1)));
        }
    }
    found.into_iter().map(|(_, price)| price).take(MAX_SENTENCES).collect()
}

fn sentence(leader: &Entry<'_>, all: &[&Entry<'_>]) -> Option<String> {
    let by = |metric: &'static metrics::Metric| {
        move |a: &&&Entry<'_>, b: &&&Entry<'_>| a.mean(metric).total_cmp(&b.mean(metric))
    };
    let gentle = all.iter().min_by(by(&metrics::LOSS))?;
    let fair = all.iter().max_by(by(&metrics::JAIN))?;
    let mut parts = Vec::new();
    if leader.mean(&metrics::LOSS) - gentle.mean(&metrics::LOSS) >= MORE_LOSS {
        let [own, other] = [leader, *gentle].map(|entry| Standings::loss(&[entry]));
        parts.push(format!("lost {own} of its data packets ({}: {other})", quoted(gentle.scheme)));
    }
    let has_jain = leader.of.get(&metrics::JAIN).is_some();
    if has_jain && fair.mean(&metrics::JAIN) - leader.mean(&metrics::JAIN) >= LESS_FAIR {
        let [own, other] = [leader, *fair].map(|entry| range(&[entry.mean(&metrics::JAIN)], 1.0));
        parts.push(format!("shared the link unfairly: Jain's index {own} ({}: {other})", quoted(fair.scheme)));
    }
    let text = parts.join(", and ");
    (!text.is_empty()).then(|| format!("But {} {text}.", quoted(leader.scheme)))
}

/// The scheme that is shown to have lost the least, unless its loss is told already.
pub(super) fn least_loss(standings: &Standings<'_>, told: &[&str]) -> Option<String> {
    let losses = standings.losses();
    let sorted = sorted(&losses.iter().collect::<Vec<_>>(), true);
    let (first, others) = sorted.split_first()?;
    let is_shown = others.iter().all(|other| is_worse(other, first, true));
    (is_shown && !told.contains(&first.scheme))
        .then(|| format!("{} lost the least: {}.", names(&[first.scheme]), Standings::loss(&[first])))
}
