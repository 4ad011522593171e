//! The metrics of a run: one row for each number, with its path in `summary.json`, its unit, how it is shown and how it
//! is read from a [`Run`]. Tables, comparisons, figures, sentences, the schema and claims select rows by constant,
//! such as [`LOSS`], so that a misspelt metric does not compile; only claims of scenario files have paths as
//! text ([`find`]).

mod rows;

use std::collections::BTreeMap;

pub use rows::*;

use crate::aggregate::Estimate;
use crate::completion::{Completion, Statistic};
use crate::summary::{Fct, Run};
use crate::units::Quantity;

/// A number that each run has: where it is in `summary.json`, how it is read, and how tables and pages show it.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The path in `summary.json`: `fct.all.p99_s`.
    pub path: &'static str,
    /// The physical quantity, which decides units and possible values.
    pub quantity: Quantity,
    /// Digits after the decimal point in text tables.
    pub digits: usize,
    /// Whether a larger or a smaller value is better.
    pub better: Better,
    /// The heading of its column in text tables, in which `{}` stands for the unit. Empty if no table has the metric.
    pub heading: &'static str,
    /// The name in sentences and titles. Empty if these do not mention the metric.
    pub label: &'static str,
    about: &'static str,
    source: Source,
}

/// Whether larger or smaller values of a metric are better; headlines rank schemes by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    More,
    Less,
    Neither,
}

/// Where the value of a metric is found in a run.
#[derive(Clone, Copy, Debug)]
enum Source {
    Number(fn(&Run) -> Option<f64>),
    /// A statistic of completion times, in the size class that the function selects.
    Completion(fn(&Fct) -> Option<&Completion>, Statistic),
}

/// The value of a metric in one run, and whether unfinished or few flows limit its meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// The value, in the unit of the metric in `summary.json`.
    pub value: f64,
    /// Whether the value is a lower bound, because flows did not finish.
    pub at_least: bool,
    /// Whether the value is a percentile beyond which less than one flow is expected.
    pub few_samples: bool,
}

impl Figure {
    /// A figure without limits; `None` if the value is infinite or not a number.
    #[must_use]
    pub fn exact(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self { value, ..Self::default() })
    }
}

impl Metric {
    /// Reads the metric from a run; `None` if the run does not have it.
    pub fn figure(&self, run: &Run) -> Option<Figure> {
        match self.source {
            Source::Number(get) => Figure::exact(get(run)?),
            Source::Completion(class, statistic) => {
                let flows = class(&run.fct)?;
                Some(Figure {
                    at_least: flows.lower_bounds.contains(&statistic),
                    few_samples: flows.few_samples.contains(&statistic),
                    ..Figure::exact(flows.figure(statistic)?)?
                })
            }
        }
    }

    /// The mean over these runs and its confidence interval; `None` if no run has the metric.
    pub fn estimate(&self, runs: &[&Run]) -> Option<Estimate> {
        let figures: Vec<Figure> = runs.iter().filter_map(|run| self.figure(run)).collect();
        Estimate::from_figures(&figures, self.quantity.possible(runs))
    }

    /// The statistic of completion times that the metric is; `None` for other metrics.
    pub const fn statistic(&self) -> Option<Statistic> {
        match self.source {
            Source::Number(_) => None,
            Source::Completion(_, statistic) => Some(statistic),
        }
    }

    /// The definition as part of a sentence, with a lower-case first letter, for legends. Empty if the metric has none.
    pub fn definition(&self) -> String {
        let text = self.about.trim().trim_end_matches('.');
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (Some(first), Some(second)) if second.is_lowercase() => {
                format!("{}{}", first.to_lowercase(), &text[first.len_utf8()..])
            }
            _ => text.to_owned(),
        }
    }

    /// The definition as a sentence, for captions and descriptions of columns.
    pub fn sentence(&self) -> &'static str {
        self.about.trim()
    }

    /// The label with a capital first letter.
    pub fn title(&self) -> String {
        let mut letters = self.label.chars();
        letters.next().map_or_else(String::new, |first| format!("{}{}", first.to_uppercase(), letters.as_str()))
    }

    /// Whether a column with this heading, in any unit, shows the metric.
    pub fn has_heading(&self, heading: &str) -> bool {
        let units = || self.quantity.shown().iter().map(|unit| unit.ascii());
        match self.heading.split_once("{}") {
            Some((before, _)) => heading.strip_prefix(before).is_some_and(|rest| units().any(|unit| unit == rest)),
            None => !heading.is_empty() && heading == self.heading,
        }
    }
}

pub fn all() -> impl Iterator<Item = &'static Metric> {
    OF_RUNS.iter().chain(UNNAMED.into_iter().chain(CLASSES.iter().copied()).flatten())
}

/// Finds a metric by the path that a user wrote.
pub fn find(path: &str) -> Option<&'static Metric> {
    all().find(|metric| metric.path == path)
}

/// Reads a map of fractions by port, or by set of links.
pub type Shares = fn(&Run) -> &BTreeMap<String, f64>;

/// The maps of fractions whose entries are averaged over seeds, by their names in `summary.json`.
pub const SHARES_BY_NAME: [(&str, Shares); 2] =
    [("loss_by_set", |run| &run.loss_by_set), ("utilization_by_place", |run| &run.utilization_by_place)];

/// The means, by path, of all metrics and of the entries of [`SHARES_BY_NAME`].
pub fn estimates(runs: &[&Run]) -> BTreeMap<String, Estimate> {
    let rows = all().filter_map(|metric| Some((metric.path.to_owned(), metric.estimate(runs)?)));
    let mut found: BTreeMap<String, Estimate> = rows.collect();
    for (list, shares) in SHARES_BY_NAME {
        for name in runs.iter().flat_map(|run| shares(run).keys()) {
            let path = format!("{list}.{name}");
            if found.contains_key(&path) {
                continue;
            }
            let figures = runs.iter().filter_map(|run| Figure::exact(*shares(run).get(name)?));
            let estimate = Estimate::from_figures(&figures.collect::<Vec<_>>(), (0.0, 1.0));
            found.extend(estimate.map(|estimate| (path, estimate)));
        }
    }
    found
}

/// Converts a field of a run to a number; `None` if the field is null.
pub(crate) trait Number {
    fn number(self) -> Option<f64>;
}

impl Number for f64 {
    fn number(self) -> Option<f64> {
        Some(self)
    }
}

impl Number for u64 {
    fn number(self) -> Option<f64> {
        Some(self as f64)
    }
}

impl<T: Number> Number for Option<T> {
    fn number(self) -> Option<f64> {
        self.and_then(T::number)
    }
}

impl Quantity {
    /// The least and the largest value that the quantity can have in these runs; infinite without a limit.
    pub fn possible(self, runs: &[&Run]) -> (f64, f64) {
        let largest = |of: fn(&Run) -> Option<u64>| {
            let all: Option<Vec<u64>> = runs.iter().map(|run| of(run)).collect();
            all.and_then(|all| all.into_iter().max()).map_or(f64::INFINITY, |most| most as f64)
        };
        match self {
            Self::JainIndex => {
                let flows = runs.iter().map(|run| run.flows).max().unwrap_or(1).max(1);
                (1.0 / flows as f64, 1.0)
            }
            Self::QueueLength => (0.0, largest(|run| run.queue_limit_bytes)),
            Self::PoolOccupancy => (0.0, largest(|run| run.pools.iter().map(|pool| pool.size_bytes).max())),
            Self::Share => (0.0, 1.0),
            _ => (0.0, f64::INFINITY),
        }
    }
}

#[cfg(test)]
mod tests;
