//! The figures of a run that are compared, as bars or as curves.

use crate::figure::{Rows, number};
use crate::gather::Gather;
use crate::summary::{Estimate, Summary};
use crate::units::{self, Unit};

/// A figure of a run.
#[derive(Debug)]
pub(super) struct Metric {
    /// Name of the figure that shows it.
    pub id: &'static str,
    /// The field of a run, as in `aggregates`.
    pub key: &'static str,
    /// What it is, in a few words.
    pub what: &'static str,
    /// The units it may be shown in.
    pub units: &'static [Unit],
    /// What counts.
    pub about: &'static str,
}

pub(super) const ALL: [Metric; 7] = [
    Metric {
        id: "throughput",
        key: "throughput_bps",
        what: "Throughput",
        units: units::RATES,
        about: "IP bytes of data that arrived over the run, repeats included.",
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
        about: "Of the flows that count and finished.",
    },
    Metric {
        id: "fct-p99",
        key: "fct.all.p99_s",
        what: "Completion time, 99th percentile",
        units: units::TIMES,
        about: "Of the flows that count and finished.",
    },
    Metric {
        id: "fct-small-p99",
        key: "fct.small.p99_s",
        what: "Small flows: 99th percentile",
        units: units::TIMES,
        about: "Completion times of the small flows that count and finished.",
    },
];

impl Metric {
    /// Whether some run has it, and no other figure says the same or more.
    pub fn is_shown(&self, summary: &Summary, curves: bool) -> bool {
        let has = |key: &str| summary.aggregates.iter().any(|of| of.metrics.contains_key(key));
        let said_better = match self.key {
            // Flows that come and go have completion times instead, and those have a figure of their own.
            "jain" => has("fct.all.mean_s"),
            "fct.all.p99_s" => !curves || has("fct.small.p99_s"),
            key => key.starts_with("fct") && !curves,
        };
        has(self.key) && !said_better
    }

    /// The unit that suits its figures.
    pub fn unit(&self, summary: &Summary) -> Unit {
        let all = summary.aggregates.iter().filter_map(|of| of.metrics.get(self.key));
        Unit::of(all.map(|estimate| estimate.mean), self.units)
    }

    /// Its means, each with its point and scheme.
    pub fn estimates<'a>(
        &'a self,
        summary: &'a Summary,
        gather: &'a Gather,
    ) -> impl Iterator<Item = (usize, usize, Estimate)> + 'a {
        summary.aggregates.iter().filter_map(|of| {
            let place = gather.cases.point(&of.point).zip(gather.cases.scheme(&of.scheme));
            let (point, scheme) = place?;
            Some((point, scheme, *of.metrics.get(self.key)?))
        })
    }

    /// The most runs that any mean is over.
    pub fn seeds(&self, summary: &Summary) -> u64 {
        let all = summary.aggregates.iter().filter_map(|of| of.metrics.get(self.key));
        all.map(|estimate| estimate.n).max().unwrap_or(0)
    }

    /// The columns of its rows after those that say which: the mean, the ends of its interval, the runs.
    pub fn columns(unit: Unit) -> [String; 4] {
        [unit.column("value"), unit.column("low"), unit.column("high"), "seeds".to_owned()]
    }

    /// What stands in these columns.
    pub fn cells(unit: Unit, estimate: Estimate) -> [serde_json::Value; 4] {
        let end = |sign: f64| {
            let half = estimate.ci95.filter(|half| half.is_finite())?;
            Some(unit.put((estimate.mean + sign * half).max(0.0)))
        };
        [unit.put(estimate.mean).into(), number(end(-1.0)), number(end(1.0)), estimate.n.into()]
    }

    /// Rows with these columns first.
    pub fn rows(first: &[&str], unit: Unit) -> Rows {
        let mut rows = Rows::new(first);
        rows.columns.extend(Self::columns(unit));
        rows
    }
}
