//! The columns of the tables of runs, and their cells: a metric in a unit, with marks for lower bounds and few samples.

use crate::aggregate::Estimate;
use crate::metrics::{self, Metric, all_flows, small_flows};
use crate::summary::Run;
use crate::units::{FRAMES, KILOBYTES, NONE, PERCENT, Unit};

/// Printed in the cells of a scheme whose runs at a point are all void.
pub(crate) const VOID: &str = "VOID";
/// Printed where a value does not apply.
pub(crate) const NOTHING: &str = "-";
/// Printed before a lower bound.
pub(crate) const AT_LEAST: &str = "≥ ";
/// Printed after a percentile of few samples.
pub(crate) const FEW: &str = "*";
/// Printed after a value that is equal for all seeds.
pub(crate) const EQUAL: &str = " =";

/// The throughput of the load phase gets a column if it is more than this many times the throughput of the whole run.
const STRAGGLERS: f64 = 1.05;

/// Marks in cells, each with the explanation printed below the table.
const NOTES: [(&str, &str); 5] = [
    (
        AT_LEAST,
        "≥ a lower bound: flows that were not complete at the end of the run count with their age (docs/results.md).",
    ),
    (FEW, "* a percentile of few flows: less than one of them is expected beyond it."),
    (EQUAL, "= equal for all seeds."),
    ("[", "[a, b] least and most of two seeds, too few for an interval."),
    ("(", "(a to b) the 95 % interval, cut off at what is possible."),
];

pub(crate) struct Column {
    pub heading: String,
    pub metric: &'static Metric,
    size: f64,
}

/// A row of a table: the runs of one scheme at one point, without void ones.
pub(crate) struct Row<'a> {
    pub point: usize,
    pub scheme: &'a str,
    /// Runs with different seeds; empty if all are void.
    pub runs: Vec<&'a Run>,
}

impl<'a> Row<'a> {
    /// Drops the void runs.
    pub fn new(point: usize, scheme: &'a str, runs: impl Iterator<Item = &'a Run>) -> Self {
        Self { point, scheme, runs: runs.filter(|run| !run.is_void()).collect() }
    }

    /// Whether every run of the row is void.
    pub fn is_void(&self) -> bool {
        self.runs.is_empty()
    }

    /// The number of unfinished flows and of all flows with an end; `None` if no flow has an end.
    pub fn unfinished(&self) -> Option<(u64, u64)> {
        let all = self.runs.iter().filter_map(|run| run.fct.all.as_ref());
        let counts = all.map(|all| (all.unfinished, all.count));
        counts.reduce(|(open, all), (more, flows)| (open + more, all + flows))
    }
}

impl Column {
    pub fn new(metric: &'static Metric, unit: Unit) -> Self {
        let heading = metric.heading.replace("{}", &unit.ascii());
        Self { heading, metric, size: unit.size }
    }

    fn number(&self, value: f64) -> String {
        format!("{:.*}", self.metric.digits, value / self.size)
    }

    /// The mean over the runs of a row; `None` if no run has the metric.
    pub fn estimate(&self, row: &Row) -> Option<Estimate> {
        self.metric.estimate(&row.runs)
    }

    /// A cell with the mean over the runs of a row, with marks.
    pub fn mean(&self, row: &Row) -> String {
        if row.is_void() {
            return VOID.to_owned();
        }
        self.estimate(row).map_or_else(|| NOTHING.to_owned(), |of| Self::marked(&of, &self.number(of.mean)))
    }

    /// A number of an estimate with the marks for lower bounds and few samples.
    fn marked(of: &Estimate, number: &str) -> String {
        let (before, after) = (if of.at_least { AT_LEAST } else { "" }, if of.few_samples { FEW } else { "" });
        format!("{before}{number}{after}")
    }

    /// A cell with the mean and its 95 % interval. With two seeds it has both values, with equal values a mark.
    pub fn mean_and_interval(&self, row: &Row) -> String {
        if row.is_void() {
            return VOID.to_owned();
        }
        let Some(of) = self.estimate(row) else { return NOTHING.to_owned() };
        let mean = Self::marked(&of, &self.number(of.mean));
        if of.is_equal() && !of.at_least {
            return format!("{mean}{EQUAL}");
        }
        match (self.interval(&of), of.n) {
            (Some(both), _) => both,
            (None, 2) if !of.at_least => {
                let few = if of.few_samples { FEW } else { "" };
                format!("[{}, {}]{few}", self.number(of.min), self.number(of.max))
            }
            (None, _) => mean,
        }
    }

    /// The mean and the 95 % interval, as half its width or, where it is clipped to possible values, as both ends. Half
    /// the width has at least two digits, and all numbers have the decimal places that these take.
    fn interval(&self, of: &Estimate) -> Option<String> {
        let (half, low, high) = (of.ci95?, of.low?, of.high?);
        let is_cut = low > of.mean - half || high < of.mean + half;
        let least = [10.0, 1.0, 0.1, 0.01];
        let places = least.iter().position(|least| half / self.size >= *least).unwrap_or(least.len());
        let number = |value: f64| format!("{:.*}", places.min(self.metric.digits), value / self.size);
        let mean = Self::marked(of, &number(of.mean));
        Some(if is_cut {
            format!("{mean} ({} to {})", number(low), number(high))
        } else {
            format!("{mean} ± {}", number(half))
        })
    }

    /// A cell with the value that a function takes from the estimate: `=` if it has none since all seeds are equal, `-`
    /// if it does not apply.
    pub fn value(&self, row: &Row, value: impl Fn(&Estimate) -> Option<f64>) -> String {
        let Some(of) = self.estimate(row) else { return NOTHING.to_owned() };
        match value(&of) {
            Some(value) => Self::marked(&of, &self.number(value)),
            None if of.is_equal() && !of.at_least => EQUAL.to_owned(),
            None => NOTHING.to_owned(),
        }
    }
}

pub(crate) fn notes(cells: &[&String]) -> Vec<&'static str> {
    let has = |mark: &str| cells.iter().any(|cell| cell.contains(mark));
    NOTES.iter().filter(|(mark, _)| has(mark)).map(|(_, note)| *note).collect()
}

/// The largest unit in which the largest value of the metric in these runs is at least one.
pub(crate) fn unit<'a>(metric: &Metric, runs: impl Iterator<Item = &'a Run>) -> Unit {
    let values = runs.filter_map(|run| metric.figure(run)).map(|figure| figure.value);
    Unit::for_largest(values, metric.quantity.shown())
}

/// The columns of the table that `run` prints. Where flows end, completion times are first, as in the sentences.
pub(crate) fn all<'a>(mut runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<Column> {
    let [rate, time, rtt] = units(&runs);
    let kilobytes = Column { heading: "KB".to_owned(), ..Column::new(&metrics::MAX_QUEUE, KILOBYTES) };
    let millions = Unit { size: 1e6, ..NONE };
    let mut columns = Vec::new();
    if runs.clone().any(|run| run.fct.all.as_ref().is_some_and(|all| all.count > 0)) {
        columns = [&all_flows::MEAN, &all_flows::P99, &small_flows::P99].map(|times| Column::new(times, time)).into();
    }
    columns.push(Column::new(&metrics::THROUGHPUT, rate));
    let has_stragglers = |run: &Run| run.load_throughput_bps.is_some_and(|load| load > STRAGGLERS * run.throughput_bps);
    if runs.any(has_stragglers) {
        columns.push(Column::new(&metrics::LOAD_THROUGHPUT, rate));
    }
    columns.extend([
        Column::new(&metrics::GOODPUT, rate),
        Column::new(&metrics::LOSS, PERCENT),
        Column::new(&metrics::CREDIT_LOSS, PERCENT),
        Column::new(&metrics::MAX_QUEUE, FRAMES),
        kilobytes,
        Column::new(&metrics::MEAN_RTT, rtt),
        Column::new(&metrics::P99_RTT, rtt),
        Column::new(&metrics::JAIN, NONE),
        Column::new(&metrics::RETRANSMITS, NONE),
        Column::new(&metrics::TIMEOUTS, NONE),
        Column::new(&all_flows::UNFINISHED, NONE),
        Column::new(&metrics::WALL, NONE),
        Column::new(&metrics::SPEED, millions),
    ]);
    columns
}

/// The units for rates, completion times and round-trip times, from the largest values of these runs.
pub(crate) fn units<'a>(runs: &(impl Iterator<Item = &'a Run> + Clone)) -> [Unit; 3] {
    [&metrics::THROUGHPUT, &all_flows::MEAN, &metrics::MEAN_RTT].map(|metric| unit(metric, runs.clone()))
}

/// The columns of the table that `sweep` prints: throughput, loss, queue, fairness and completion times.
pub(crate) fn main<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<Column> {
    let shown = [
        metrics::THROUGHPUT,
        metrics::LOAD_THROUGHPUT,
        metrics::LOSS,
        metrics::MAX_QUEUE,
        metrics::JAIN,
        all_flows::MEAN,
        all_flows::P99,
        small_flows::P99,
    ]
    .map(|metric| metric.path);
    let mut columns = all(runs);
    columns.retain(|column| shown.contains(&column.metric.path));
    // The longest queue is there in packets and in kilobytes.
    columns.dedup_by_key(|column| column.metric.path);
    columns
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_phase_has_a_column_if_stragglers_lower_the_throughput() {
        let run = |load: Option<f64>| Run { throughput_bps: 1e9, load_throughput_bps: load, ..Run::default() };
        for (load, shown) in [(None, false), (Some(1.04e9), false), (Some(3e9), true)] {
            let runs = [run(None), run(load)];
            for columns in [all(runs.iter()), main(runs.iter())] {
                assert_eq!(columns[1].heading == "in load", shown, "{load:?}");
            }
        }
    }
}
