//! What results say, in two sentences with the numbers: which scheme did best and which worst by the metric that the
//! scenario is about. That is goodput with loss for flows without end, and completion times where flows end. No scheme
//! is said to lead if the seeds cannot tell it from another one.

mod one_point;
mod standings;
mod sweep;
#[cfg(test)]
mod tests;

use shallop_results::Summary;

use crate::comparison::Comparison;
use standings::{Standings, topic};

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

impl Headline {
    /// What these results say.
    #[must_use]
    pub fn of(summary: &Summary) -> Self {
        let comparison = Comparison::of(summary);
        let Some(topic) = topic(summary) else { return Self::default() };
        let standings = Standings::new(summary, &comparison, topic);
        let sentences = if standings.entries.is_empty() {
            vec![standings.nothing_to_compare()]
        } else if comparison.points.len() > 1 {
            sweep::sentences(&standings)
        } else {
            one_point::sentences(&standings)
        };
        let caveat = [standings.few_seeds(), standings.unfinished()];
        let caveat: Vec<String> = caveat.into_iter().filter(|text| !text.is_empty()).collect();
        Self { sentences, caveat: caveat.join(" "), figures: topic.figures.to_vec() }
    }
}
