//! The metrics that have figures with bars and, for sweeps, with curves.

use super::{lower_bounds, means};
use crate::figure::{Dataset, number};
use crate::{figure_data::FigureData, spec_parts};
use shallop_results::metrics::{self, Metric, all_flows, small_flows};
use shallop_results::units::{self, Quantity, Unit};
use shallop_results::{Estimate, Summary};

/// A metric that has a separate figure.
#[derive(Debug)]
pub(super) struct Compared {
    /// Name of the metric's figure in files and links.
    pub id: &'static str,
    pub metric: &'static Metric,
}

const fn compared(id: &'static str, metric: &'static Metric) -> Compared {
    Compared { id, metric }
}

pub(super) const ALL: [Compared; 7] = [
    compared("goodput", &metrics::GOODPUT),
    compared("loss", &metrics::LOSS),
    compared("longest-queue", &metrics::MAX_QUEUE),
    compared("fairness", &metrics::JAIN),
    compared("fct-mean", &all_flows::MEAN),
    compared("fct-p99", &all_flows::P99),
    compared("fct-small-p99", &small_flows::P99),
];

/// The unit of completion times on a page, chosen by the largest mean, so that figures and tables agree.
pub(super) fn completion_unit(summary: &Summary) -> Unit {
    let all = summary.aggregates.iter().filter_map(|of| of.get(&all_flows::MEAN));
    Unit::for_largest(all.map(|estimate| estimate.mean), units::TIMES)
}

impl Compared {
    /// Whether results have this figure: some run has the metric, and no other figure shows it. `curves` is true for
    /// sweeps.
    pub fn is_shown(&self, summary: &Summary, curves: bool) -> bool {
        let has = |metric: &Metric| summary.aggregates.iter().any(|of| of.get(metric).is_some());
        let shown_elsewhere = match self.id {
            // Workloads with completion times have figures of these instead.
            "fairness" => has(&all_flows::MEAN),
            "fct-p99" => !curves || has(&small_flows::P99),
            _ => self.metric.statistic().is_some() && !curves,
        };
        has(self.metric) && !shown_elsewhere
    }

    pub fn title(&self) -> String {
        self.metric.title()
    }

    /// The definition of the metric, as a sentence for captions.
    fn about(&self) -> String {
        let ages = if self.metric.statistic().is_some() { " Unfinished flows count with their age." } else { "" };
        format!("{}{ages}", self.metric.sentence())
    }

    /// The caption: the definition, the number of runs, and the schemes whose means are only lower bounds.
    pub fn caption(&self, summary: &Summary, input: &FigureData) -> String {
        let bounds = self.bounds(summary, input);
        format!("{} {}{bounds}", self.about(), means(self.seeds(summary)))
    }

    /// The encoding of the metric in this dataset, on an axis from zero.
    pub fn axis(unit: Unit, title: &str, rows: &Dataset) -> serde_json::Value {
        let [mean, ..] = Self::columns(unit);
        spec_parts::amount(&mean, title, rows.numbers(&mean))
    }

    /// The unit that suits the largest value of the metric.
    pub fn unit(&self, summary: &Summary) -> Unit {
        if self.metric.quantity == Quantity::QueueLength {
            // As in tables.
            return units::KILOBYTES;
        }
        if self.metric.statistic().is_some() {
            return completion_unit(summary);
        }
        let all = summary.aggregates.iter().filter_map(|of| of.get(self.metric));
        Unit::for_largest(all.map(|estimate| estimate.mean), self.metric.quantity.shown())
    }

    /// The means of the metric over seeds, each with its point and scheme.
    pub fn estimates<'a>(
        &'a self, summary: &'a Summary, input: &'a FigureData,
    ) -> impl Iterator<Item = (usize, usize, Estimate)> + 'a {
        summary.aggregates.iter().filter_map(|of| {
            let place = input.comparison.point(&of.point).zip(input.comparison.scheme(&of.scheme));
            let (point, scheme) = place?;
            Some((point, scheme, *of.get(self.metric)?))
        })
    }

    /// The largest number of runs over which any mean is taken.
    fn seeds(&self, summary: &Summary) -> u64 {
        let all = summary.aggregates.iter().filter_map(|of| of.get(self.metric));
        all.map(|estimate| estimate.n).max().unwrap_or(0)
    }

    /// Names of the last columns of the dataset: the mean, the ends of its confidence interval, and the number of runs.
    pub fn columns(unit: Unit) -> [String; 4] {
        [unit.column("value"), unit.column("low"), unit.column("high"), "seeds".to_owned()]
    }

    /// The values for the columns that [`Self::columns`] names.
    pub fn cells(unit: Unit, estimate: Estimate) -> [serde_json::Value; 4] {
        let end = |end: Option<f64>| number(end.map(|end| unit.put(end)));
        [unit.put(estimate.mean).into(), end(estimate.low), end(estimate.high), estimate.n.into()]
    }

    /// A sentence that names the schemes whose means are only lower bounds; empty if there are none.
    fn bounds(&self, summary: &Summary, input: &FigureData) -> String {
        let bounds = self.estimates(summary, input).filter(|(.., estimate)| estimate.at_least);
        let mut named: Vec<String> = bounds.map(|(point, scheme, _)| input.comparison.panel(point, scheme)).collect();
        named.dedup();
        lower_bounds(&named)
    }

    /// Makes an empty dataset: the columns `first`, then those that [`Self::columns`] names.
    pub fn rows(first: &[&str], unit: Unit) -> Dataset {
        let mut rows = Dataset::new(first);
        rows.columns.extend(Self::columns(unit));
        rows
    }
}
