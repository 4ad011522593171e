//! What the lead of a scheme costs: loss and unfairness. A scheme that leads in one figure and ruins another one is not
//! called the best without a word on it.

use super::ranking::{is_worse, sorted};
use super::standings::{Entry, LEAST_LOSS, Standings};
use super::wording::{quoted, range};
use shallop_results::{contrast::Level, metrics};

/// A leader that lost this much more of its data packets than the scheme with the least loss pays for its lead.
const MORE_LOSS: f64 = 0.05;
/// So does one whose Jain's index is this much lower than the highest.
const LESS_FAIR: f64 = 0.2;

/// The most sentences on the price of leads.
const MAX_SENTENCES: usize = 2;

/// What can be the price of a lead, of all schemes.
pub(super) struct Prices<'s, 'a> {
    standings: &'s Standings<'a>,
    losses: Vec<Entry<'a>>,
    jains: Vec<Entry<'a>>,
}

impl<'s, 'a> Prices<'s, 'a> {
    pub fn new(standings: &'s Standings<'a>) -> Self {
        let (losses, jains) = (standings.of(&metrics::LOSS, LEAST_LOSS), standings.of(&metrics::JAIN, 0.0));
        Self { standings, losses, jains }
    }

    /// A sentence for each of the leaders that ruins another figure, of the first [`MAX_SENTENCES`].
    pub fn sentences(&self, leaders: &[&Entry<'_>]) -> Vec<String> {
        leaders.iter().filter_map(|leader| self.sentence(leader)).take(MAX_SENTENCES).collect()
    }

    /// A sentence for the first point at which each scheme leads and ruins another figure, with the label of the point.
    pub fn of_points<'e>(&self, leaders: impl Iterator<Item = &'e Entry<'a>>) -> Vec<String>
    where
        'a: 'e,
    {
        let mut found: Vec<(&str, String)> = Vec::new();
        for leader in leaders {
            let is_told = found.iter().any(|(name, _)| *name == leader.scheme);
            if let (Some(price), false) = (self.sentence(leader), is_told) {
                let label = &self.standings.comparison.labels[leader.point];
                found.push((leader.scheme, price.replacen("But ", &format!("But at {label} "), 1)));
            }
        }
        found.into_iter().map(|(_, price)| price).take(MAX_SENTENCES).collect()
    }

    /// The leader and the best scheme at its point by another figure, if that is better by this much and the seeds show
    /// it; one or two seeds have estimates.
    fn ruined<'e>(
        &self, leader: &Entry<'_>, of: &'e [Entry<'a>], bound: f64, less: bool,
    ) -> Option<[&'e Entry<'a>; 2]> {
        let here: Vec<&Entry<'_>> = of.iter().filter(|entry| entry.point == leader.point).collect();
        let own = *here.iter().find(|entry| entry.scheme == leader.scheme)?;
        let best = *sorted(&here, less).first()?;
        let is_far = (own.value.mean - best.value.mean).abs() >= bound;
        let is_shown = self.standings.is_undecided() || is_worse(own, best, less, Level::USUAL);
        (is_far && is_shown).then_some([own, best])
    }

    fn sentence(&self, leader: &Entry<'_>) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(both @ [_, gentle]) = self.ruined(leader, &self.losses, MORE_LOSS, true) {
            let [own, other] = both.map(|entry| Standings::loss(&[entry]));
            parts.push(format!("lost {own} of its data packets ({}: {other})", quoted(gentle.scheme)));
        }
        if let Some(both @ [_, fair]) = self.ruined(leader, &self.jains, LESS_FAIR, false) {
            let [own, other] = both.map(|entry| range(&[entry.value.mean], 1.0));
            parts.push(format!("shared the link unfairly: Jain's index {own} ({}: {other})", quoted(fair.scheme)));
        }
        let text = parts.join(", and ");
        (!text.is_empty()).then(|| format!("But {} {text}.", quoted(leader.scheme)))
    }

    /// The scheme that is shown to have lost the least, unless its loss is told already.
    pub fn least_loss(&self, told: &[&str]) -> Option<String> {
        let sorted = sorted(&self.losses.iter().collect::<Vec<_>>(), true);
        let (first, others) = sorted.split_first()?;
        let is_shown = others.iter().all(|other| is_worse(other, first, true, Level::USUAL));
        (is_shown && !told.contains(&first.scheme))
            .then(|| format!("{} lost the least: {}.", quoted(first.scheme), Standings::loss(&[first])))
    }
}
