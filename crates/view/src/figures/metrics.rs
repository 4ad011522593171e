//! The metrics that bars and curves compare.

use super::lower_bounds;
use crate::figure::{Dataset, number};
use crate::figure_data::FigureData;
use shallop_results::metrics::{self, Metric, all_flows, small_flows};
use shallop_results::units::Unit;
use shallop_results::{Estimate, Summary};

/// A metric with a figure of its own.
#[derive(Debug)]
pub(super) struct Compared {
    /// The name of its figure.
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

impl Compared {
    /// Whether a run has the metric, and no other figure shows as much.
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

    /// The title of the figure.
    pub fn title(&self) -> String {
        self.metric.title()
    }

    /// The definition for the caption.
    pub fn about(&self) -> String {
        let ages = if self.metric.statistic().is_some() {
            " Unfinished flows count with their age."
        } else {
            ""
        };
        format!("{}{ages}", self.metric.sentence())
    }

    /// The unit that suits the values.
    pub fn unit(&self, summary: &Summary) -> Unit {
        let all = summary.aggregates.iter().filter_map(|of| of.get(self.metric));
        Unit::for_largest(all.map(|estimate| estimate.mean), self.metric.quantity.shown())
    }

    /// The means, each with its point and scheme.
    pub fn estimates<'a>(
        &'a self,
        summary: &'a Summary,
        input: &'a FigureData,
    ) -> impl Iterator<Item = (usize, usize, Estimate)> + 'a {
        summary.aggregates.iter().filter_map(|of| {
            let place = input.comparison.point(&of.point).zip(input.comparison.scheme(&of.scheme));
            let (point, scheme) = place?;
            Some((point, scheme, *of.get(self.metric)?))
        })
    }

    /// The largest number of runs in a mean.
    pub fn seeds(&self, summary: &Summary) -> u64 {
        let all = summary.aggregates.iter().filter_map(|of| of.get(self.metric));
        all.map(|estimate| estimate.n).max().unwrap_or(0)
    }

    /// The last columns of the dataset: the mean, the ends of its interval, the number of runs.
    pub fn columns(unit: Unit) -> [String; 4] {
        [unit.column("value"), unit.column("low"), unit.column("high"), "seeds".to_owned()]
    }

    /// The values of these columns.
    pub fn cells(unit: Unit, estimate: Estimate) -> [serde_json::Value; 4] {
        let end = |end: Option<f64>| number(end.map(|end| unit.put(end)));
        [unit.put(estimate.mean).into(), end(estimate.low), end(estimate.high), estimate.n.into()]
    }

    /// A sentence that names the schemes of which a mean is a lower bound, if there are any.
    pub fn bounds(&self, summary: &Summary, input: &FigureData) -> String {
        let bounds = self.estimates(summary, input).filter(|(.., estimate)| estimate.at_least);
        let mut named: Vec<String> =
            bounds.map(|(point, scheme, _)| input.comparison.panel(point, scheme)).collect();
        named.dedup();
        lower_bounds(&named)
    }

    /// An empty dataset with these columns first.
    pub fn rows(first: &[&str], unit: Unit) -> Dataset {
        let mut rows = Dataset::new(first);
        rows.columns.extend(Self::columns(unit));
        rows
    }
}
