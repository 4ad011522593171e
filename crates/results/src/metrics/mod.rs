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

/// A number of a run.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The path in `summary.json`, with dots: `fct.all.p99_s`.
    pub path: &'static str,
    /// What is measured, which decides the units.
    pub quantity: Quantity,
    /// Digits after the decimal point in text tables.
    pub digits: usize,
    /// Whether a larger or a smaller value is better.
    pub better: Better,
    /// The heading of its column in text tables, in which `{}` stands for the unit. Empty without a column.
    pub heading: &'static str,
    /// The name in sentences and titles. Empty if nothing shows the metric by itself.
    pub label: &'static str,
    about: &'static str,
    source: Source,
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Larger values.
    More,
    /// Smaller values.
    Less,
    /// Neither.
    Neither,
}

/// How a metric is read from a run.
#[derive(Clone, Copy, Debug)]
enum Source {
    Number(fn(&Run) -> Option<f64>),
    /// A statistic of the completion times of a size class.
    Completion(fn(&Fct) -> Option<&Completion>, Statistic),
}

/// The value of a metric in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// The value, in the unit that the path ends in.
    pub value: f64,
    /// Whether the value is a lower bound, because flows are not complete.
    pub at_least: bool,
    /// Whether the value is a percentile beyond which less than one flow is expected.
    pub few_samples: bool,
}

impl Figure {
    /// A figure without limits; `None` if it is not finite.
    #[must_use]
    pub fn exact(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self { value, ..Self::default() })
    }
}

impl Metric {
    /// The value in a run; `None` if the run does not have the metric.
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

    /// The mean over these runs with its interval; `None` if no run has the metric.
    pub fn estimate(&self, runs: &[&Run]) -> Option<Estimate> {
        let figures: Vec<Figure> = runs.iter().filter_map(|run| self.figure(run)).collect();
        Estimate::from_figures(&figures, self.quantity.possible(runs))
    }

    /// The statistic of completion times that the metric is, if it is one.
    pub const fn statistic(&self) -> Option<Statistic> {
        match self.source {
            Source::Number(_) => None,
            Source::Completion(_, statistic) => Some(statistic),
        }
    }

    /// The definition in legends, which begins with a lower-case letter; empty without one.
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

    /// The label with a capital letter, for titles.
    pub fn title(&self) -> String {
        let mut letters = self.label.chars();
        letters.next().map_or_else(String::new, |first| {
            format!("{}{}", first.to_uppercase(), letters.as_str())
        })
    }

    /// Whether a column of a text table with this heading shows the metric.
    pub fn has_heading(&self, heading: &str) -> bool {
        let units = || self.quantity.shown().iter().map(|unit| unit.ascii());
        match self.heading.split_once("{}") {
            Some((before, _)) => {
                heading.strip_prefix(before).is_some_and(|rest| units().any(|unit| unit == rest))
            }
            None => !heading.is_empty() && heading == self.heading,
        }
    }
}

/// All metrics, in the order of the rows.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    OF_RUNS.iter().chain(UNNAMED.into_iter().chain(CLASSES.iter().copied()).flatten())
}

/// The metric with this path, which is text of a user.
pub fn find(path: &str) -> Option<&'static Metric> {
    all().find(|metric| metric.path == path)
}

/// Fractions of a run by name: a port, or a set of links.
pub type Shares = fn(&Run) -> &BTreeMap<String, f64>;

/// The fractions by name that are averaged over seeds, by the first part of their paths.
pub const SHARES_BY_NAME: [(&str, Shares); 2] = [
    ("loss_by_set", |run| &run.loss_by_set),
    ("utilization_by_place", |run| &run.utilization_by_place),
];

/// The means of all metrics of these runs, and of [`SHARES_BY_NAME`], by path.
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

/// A number of a result, or none.
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
    /// The least and the largest value that is possible in these runs.
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
            Self::PoolOccupancy => {
                (0.0, largest(|run| run.pools.iter().map(|pool| pool.size_bytes).max()))
            }
            Self::Share => (0.0, 1.0),
            _ => (0.0, f64::INFINITY),
        }
    }
}

#[cfg(test)]
mod tests;
