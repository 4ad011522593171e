//! What results say, in a few sentences with the numbers: which scheme did best and which worst by the metric that the
//! scenario is about. That is goodput with loss for flows without end, and completion times where flows end. A scheme
//! is said to be better than another one only if the seeds that both have show it (`shallop_results::contrast`), and
//! two schemes are said to be equal only if the seeds show that they differ by less than the practical bound; otherwise
//! the sentences say that nothing is decided, and how many seeds would do.

mod groups;
mod one_point;
mod price;
mod ranking;
mod standings;
mod sweep;
#[cfg(test)]
mod tests;
mod turn;
mod wording;

use crate::{comparison::Comparison, text::list};
use shallop_results::Summary;
use shallop_results::void::{self, VoidScheme};
use standings::{Standings, topic};
use wording::quoted;

/// The answer of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headline {
    /// The sentences: which scheme did best, and how the others compare. Empty without finished runs.
    pub sentences: Vec<String>,
    /// How far the numbers can be trusted: few seeds, unfinished flows. May be empty.
    pub caveat: String,
    /// The figures that show it, by id, the best one first.
    pub figures: Vec<&'static str>,
}

/// A sentence for each scheme of which no run counts, all together or at a point, and one on the others with void runs;
/// that is empty without any.
fn void_runs(summary: &Summary) -> (Vec<String>, String) {
    let all = void::schemes(summary);
    let (none, some): (Vec<_>, Vec<_>) = all.into_iter().partition(|of| of.points.0 > 0);
    let sentence = |of: VoidScheme<'_>| {
        let VoidScheme { scheme, points, why, .. } = of;
        let place = match points {
            (void, all) if void == all => String::new(),
            (void, all) => format!(" at {void} of {all} points"),
        };
        let scheme = quoted(scheme);
        format!("{scheme}: void{place}, no run counts ({why}).")
    };
    let part = |of: &VoidScheme<'_>| format!("{} {} of {}", quoted(of.scheme), of.runs.0, of.runs.1);
    let parts: Vec<String> = some.iter().map(part).collect();
    let some = format!("Void runs, which count nowhere: {}.", list(&parts));
    (none.into_iter().map(sentence).collect(), if parts.is_empty() { String::new() } else { some })
}

impl Headline {
    /// The answer that these results give.
    #[must_use]
    pub fn from_summary(summary: &Summary) -> Self {
        let comparison = Comparison::from_summary(summary);
        let (void, some_void) = void_runs(summary);
        let Some(topic) = topic(summary) else {
            return Self { sentences: void, ..Self::default() };
        };
        let groups = groups::names(summary);
        let standings = Standings::new(summary, &comparison, topic, groups.len() > 1);
        let mut sentences = if standings.entries.is_empty() {
            vec![standings.nothing_to_compare()]
        } else if comparison.points.len() > 1 {
            sweep::sentences(&standings)
        } else {
            one_point::sentences(&standings)
        };
        sentences.extend(groups::clauses(summary, &groups, &sentences));
        sentences.extend(void);
        let caveat = [standings.few_seeds().to_owned(), some_void, standings.unfinished()];
        let caveat: Vec<String> = caveat.into_iter().filter(|text| !text.is_empty()).collect();
        Self { sentences, caveat: caveat.join(" "), figures: topic.figures.to_vec() }
    }
}
