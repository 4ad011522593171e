//! The metrics that bars and curves compare.

use super::lower_bounds;
use crate::figure::{Dataset, number};
use crate::figure_data::FigureData;
use crate::units::{self, Unit};
use shallop_results::{Estimate, Summary};

/// A metric of runs.
#[derive(Debug)]
pub(super) struct Metric {
    /// The name of its figure.
    pub id: &'static str,
    /// The name of the metric in `aggregates`.
    pub key: &'static str,
    /// The title.
    pub what: &'static str,
    /// The units to choose from.
    pub units: &'static [Unit],
    /// The definition, for the caption.
    pub about: &'static str,
}

pub(super) const ALL: [Metric; 7] = [
    Metric {
        id: "goodput",
        key: "goodput_bps",
        what: "Goodput",
        units: units::RATES,
        about: "Payload that arrived over the run, each byte counted once.",
    },
    Metric {
        id: "loss",
        key: "loss_rate",
        what: "Data packets lost",
        units: &[units::PERCENT],
        about: "Data packets dropped or lost on a wire, as a part of those sent.",
    },
    Metric {
        id: "longest-queue",
        key: "max_queue_bytes",
        what: "Longest data queue",
        units: units::SIZES,
        about: "The longest that any data queue of a switch ever was, exactly, in bytes on the wire.",
    },
    Metric {
        id: "fairness",
        key: "jain",
        what: "Jain's fairness index",
        units: &[units::NONE],
        about: "Of the flows' throughputs in the last second; 1 if all are equal.",
    },
    Metric {
        id: "fct-mean",
        key: "fct.all.mean_s",
        what: "Completion time, mean",
        units: units::TIMES,
        about: "Of the flows that count; unfinished ones have their age.",
    },
    Metric {
        id: "fct-p99",
        key: "fct.all.p99_s",
        what: "Completion time, 99th percentile",
        units: units::TIMES,
        about: "Of the flows that count; unfinished ones have their age.",
    },
    Metric {
        id: "fct-small-p99",
        key: "fct.small.p99_s",
        what: "Small flows: 99th percentile",
        units: units::TIMES,
        about: "Completion times of the small flows that count; unfinished ones have their age.",
    },
];

impl Metric {
    /// Whether a run has the metric, and no other figure shows the same or more.
    pub fn is_shown(&self, summary: &Summary, curves: bool) -> bool {
        let has = |key: &str| summary.aggregates.iter().any(|of| of.metrics.contains_key(key));
        let shown_elsewhere = match self.key {
            // Workloads with completion times have figures of these instead.
            "jain" => has("fct.all.mean_s"),
            "fct.all.p99_s" => !curves || has("fct.small.p99_s"),
            key => key.starts_with("fct") && !curves,
        };
        has(self.key) && !shown_elsewhere
    }

    /// The unit that suits the values.
    pub fn unit(&self, summary: &Summary) -> Unit {
        let all = summary.aggregates.iter().filter_map(|of| of.metrics.get(self.key));
        Unit::of(all.map(|estimate| estimate.mean), self.units)
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
            Some((point, scheme, *of.metrics.get(self.key)?))
        })
    }

    /// The largest number of runs in a mean.
    pub fn seeds(&self, summary: &Summary) -> u64 {
        let all = summary.aggregates.iter().filter_map(|of| of.metrics.get(self.key));
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
