//! The columns of the tables of runs, and their cells: a metric in a unit, with marks for lower bounds and few samples.

use crate::aggregate::Estimate;
use crate::metrics::{self, Metric, all_flows, small_flows};
use crate::summary::Run;
use crate::units::{FRAMES, NONE, PERCENT, SIZES, Unit};

/// The cells of a scheme without runs that count.
pub(crate) const VOID: &str = "VOID";
/// The cell of a value that does not apply.
pub(crate) const NOTHING: &str = "-";
/// The mark before a lower bound.
pub(crate) const AT_LEAST: &str = "≥ ";
/// The mark after a percentile of few samples.
pub(crate) const FEW: &str = "*";
/// The mark after a value that is equal in all runs.
pub(crate) const EQUAL: &str = " =";

/// The throughput of the load phase has a column if it is more than this many times the throughput of the run.
const STRAGGLERS: f64 = 1.05;

/// The marks in cells, each with its explanation below the table.
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

/// A column: a metric in a unit.
pub(crate) struct Column {
    pub heading: String,
    pub metric: &'static Metric,
    size: f64,
}

/// The runs of one scheme at one point that count.
pub(crate) struct Row<'a> {
    /// The index of the point.
    pub point: usize,
    /// The label of the scheme.
    pub scheme: &'a str,
    /// The runs that count; empty if all runs are void.
    pub runs: Vec<&'a Run>,
}

impl<'a> Row<'a> {
    /// The row of a scheme at a point, without the void ones of these runs.
    pub fn new(point: usize, scheme: &'a str, runs: impl Iterator<Item = &'a Run>) -> Self {
        Self { point, scheme, runs: runs.filter(|run| !run.is_void()).collect() }
    }

    /// Whether all runs of the scheme are void.
    pub fn is_void(&self) -> bool {
        self.runs.is_empty()
    }

    /// The unfinished flows and all flows of the runs; `None` if no flow has an end.
    pub fn unfinished(&self) -> Option<(u64, u64)> {
        let all = self.runs.iter().filter_map(|run| run.fct.all.as_ref());
        let counts = all.map(|all| (all.unfinished, all.count));
        counts.reduce(|(open, all), (more, flows)| (open + more, all + flows))
    }
}

impl Column {
    /// The column of a metric in a unit.
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

    /// The mean of a row as a cell, with its marks.
    pub fn mean(&self, row: &Row) -> String {
        if row.is_void() {
            return VOID.to_owned();
        }
        self.estimate(row).map_or_else(|| NOTHING.to_owned(), |of| self.marked(&of, of.mean))
    }

    /// A value of an estimate as a cell, with its marks.
    fn marked(&self, of: &Estimate, value: f64) -> String {
        let (before, after) =
            (if of.at_least { AT_LEAST } else { "" }, if of.few_samples { FEW } else { "" });
        format!("{before}{}{after}", self.number(value))
    }

    /// The mean with its interval; with two seeds both values, with equal seeds a mark.
    pub fn mean_and_interval(&self, row: &Row) -> String {
        if row.is_void() {
            return VOID.to_owned();
        }
        let Some(of) = self.estimate(row) else { return NOTHING.to_owned() };
        let mean = self.marked(&of, of.mean);
        if of.is_equal() && !of.at_least {
            return format!("{mean}{EQUAL}");
        }
        match (self.interval(&of), of.n) {
            (Some(half), _) => format!("{mean} {half}"),
            (None, 2) if !of.at_least => {
                let few = if of.few_samples { FEW } else { "" };
                format!("[{}, {}]{few}", self.number(of.min), self.number(of.max))
            }
            (None, _) => mean,
        }
    }

    /// The interval: half its width, or its ends if one is cut off. `None` without an interval.
    fn interval(&self, of: &Estimate) -> Option<String> {
        let (half, low, high) = (of.ci95?, of.low?, of.high?);
        let is_cut = low > of.mean - half || high < of.mean + half;
        Some(if is_cut {
            format!("({} to {})", self.number(low), self.number(high))
        } else {
            format!("± {}", self.number(half))
        })
    }

    /// A value of an estimate: `=` if all seeds are equal, `-` if it does not apply.
    pub fn value(&self, row: &Row, value: impl Fn(&Estimate) -> Option<f64>) -> String {
        let Some(of) = self.estimate(row) else { return NOTHING.to_owned() };
        match value(&of) {
            Some(value) => self.marked(&of, value),
            None if of.is_equal() && !of.at_least => EQUAL.to_owned(),
            None => NOTHING.to_owned(),
        }
    }
}

/// A line for each mark that is in these cells.
pub(crate) fn notes(cells: &[&String]) -> Vec<&'static str> {
    let has = |mark: &str| cells.iter().any(|cell| cell.contains(mark));
    NOTES.iter().filter(|(mark, _)| has(mark)).map(|(_, note)| *note).collect()
}

/// The unit that suits a metric of these runs: the largest in which the largest value is at least one.
pub(crate) fn unit<'a>(metric: &Metric, runs: impl Iterator<Item = &'a Run>) -> Unit {
    let values = runs.filter_map(|run| metric.figure(run)).map(|figure| figure.value);
    Unit::for_largest(values, metric.quantity.shown())
}

/// All columns of a table of runs.
pub(crate) fn all<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<Column> {
    let [rate, time, rtt] = units(&runs);
    let kilobytes =
        Column { heading: "KB".to_owned(), ..Column::new(&metrics::MAX_QUEUE, SIZES[2]) };
    let millions = Unit { size: 1e6, ..NONE };
    let mut columns = vec![
        Column::new(&metrics::THROUGHPUT, rate),
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
        Column::new(&all_flows::MEAN, time),
        Column::new(&all_flows::P99, time),
        Column::new(&small_flows::P99, time),
        Column::new(&all_flows::UNFINISHED, NONE),
        Column::new(&metrics::WALL, NONE),
        Column::new(&metrics::SPEED, millions),
    ];
    add_load(&mut columns, runs, rate);
    columns
}

/// The units of rates, completion times and round-trip times.
fn units<'a>(runs: &(impl Iterator<Item = &'a Run> + Clone)) -> [Unit; 3] {
    [&metrics::THROUGHPUT, &all_flows::MEAN, &metrics::MEAN_RTT]
        .map(|metric| unit(metric, runs.clone()))
}

/// Adds the throughput of the load phase beside the throughput of the run if stragglers lower the latter.
fn add_load<'a>(columns: &mut Vec<Column>, mut runs: impl Iterator<Item = &'a Run>, rate: Unit) {
    let stragglers = |run: &Run| {
        run.load_throughput_bps.is_some_and(|load| load > STRAGGLERS * run.throughput_bps)
    };
    if runs.any(stragglers) {
        columns.insert(1, Column::new(&metrics::LOAD_THROUGHPUT, rate));
    }
}

/// The columns of a table of a sweep: throughput, loss, queue, fairness and completion times.
pub(crate) fn main<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<Column> {
    let [rate, time, _] = units(&runs);
    let mut columns = vec![
        Column::new(&metrics::THROUGHPUT, rate),
        Column::new(&metrics::LOSS, PERCENT),
        Column::new(&metrics::MAX_QUEUE, FRAMES),
        Column::new(&metrics::JAIN, NONE),
        Column::new(&all_flows::MEAN, time),
        Column::new(&all_flows::P99, time),
        Column::new(&small_flows::P99, time),
    ];
    add_load(&mut columns, runs, rate);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_phase_has_a_column_if_stragglers_lower_the_throughput() {
        let run = |load: Option<f64>| Run {
            throughput_bps: 1e9,
            load_throughput_bps: load,
            ..Run::default()
        };
        for (load, shown) in [(None, false), (Some(1.04e9), false), (Some(3e9), true)] {
            let runs = [run(None), run(load)];
            for columns in [all(runs.iter()), main(runs.iter())] {
                assert_eq!(columns[1].heading == "in load", shown, "{load:?}");
            }
        }
    }
}
