//! The columns of the tables of runs: which metrics they show, in which unit, and how a cell says what limits a figure.

use std::collections::BTreeMap;

use crate::aggregate::{Estimate, estimates};
use crate::figures::Figure;
use crate::summary::{FULL_FRAME, Run};

/// The cells of a scheme of which no run counts.
pub(crate) const VOID: &str = "VOID";
/// The cell of a value that does not apply.
pub(crate) const NOTHING: &str = "-";
/// Before a lower bound.
pub(crate) const AT_LEAST: &str = "≥ ";
/// Behind a percentile of few samples.
pub(crate) const FEW: &str = "*";
/// Behind a value that several runs share.
pub(crate) const EQUAL: &str = " =";

/// Packet-hops in a second of computing time.
const SPEED: &str = "packet_hops_per_s";

/// Throughput of the load phase is shown if it is that of the whole run times more than this.
const STRAGGLERS: f64 = 1.05;

/// What the marks in cells mean: the mark, and a line below the table.
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

/// A column: its heading, the metric with the divisor that converts it to the unit, and the digits after the decimal
/// point.
pub(crate) struct Column {
    pub heading: String,
    pub metric: &'static str,
    pub scale: f64,
    pub digits: usize,
}

/// The runs of one scheme at one point that count, with their metrics.
pub(crate) struct Row<'a> {
    /// The index of the point.
    pub point: usize,
    /// The label of the scheme.
    pub scheme: &'a str,
    /// None if all runs of the scheme are void.
    pub runs: Vec<&'a Run>,
    estimates: BTreeMap<String, Estimate>,
}

impl<'a> Row<'a> {
    /// The row of these runs of a scheme, of which void ones are left out.
    pub fn of((point, scheme): (usize, &'a str), runs: impl Iterator<Item = &'a Run>) -> Self {
        let runs: Vec<&Run> = runs.filter(|run| !run.is_void()).collect();
        let mut estimates = estimates(&runs);
        let speed =
            |run: &&Run| Some(run.packet_hops as f64 / run.wall_s.filter(|wall| *wall > 0.0)?);
        let speeds =
            runs.iter().filter_map(speed).map(|value| Figure { value, ..Figure::default() });
        let speed = Estimate::of(&speeds.collect::<Vec<_>>(), (0.0, f64::INFINITY));
        estimates.extend(speed.map(|speed| (SPEED.to_owned(), speed)));
        Self { point, scheme, runs, estimates }
    }

    /// Whether all runs of the scheme are void.
    pub fn is_void(&self) -> bool {
        self.runs.is_empty()
    }

    /// The estimate of a metric; `None` if no run has it.
    pub fn estimate(&self, metric: &str) -> Option<&Estimate> {
        self.estimates.get(metric)
    }

    /// The unfinished flows and all flows of the runs; `None` if no flow has an end.
    pub fn unfinished(&self) -> Option<(u64, u64)> {
        let all = self.runs.iter().filter_map(|run| run.fct.all.as_ref());
        let counts = all.map(|all| (all.unfinished, all.count));
        counts.reduce(|(open, all), (more, flows)| (open + more, all + flows))
    }
}

impl Column {
    fn new(heading: impl Into<String>, metric: &'static str, scale: f64, digits: usize) -> Self {
        Self { heading: heading.into(), metric, scale, digits }
    }

    fn number(&self, value: f64) -> String {
        format!("{:.*}", self.digits, value / self.scale)
    }

    /// The mean, with the marks of what limits it.
    pub fn mean(&self, row: &Row) -> String {
        if row.is_void() {
            return VOID.to_owned();
        }
        row.estimate(self.metric).map_or_else(|| NOTHING.to_owned(), |of| self.marked(of, of.mean))
    }

    /// A value of an estimate, with the marks of what limits it.
    fn marked(&self, of: &Estimate, value: f64) -> String {
        let (before, after) =
            (if of.at_least { AT_LEAST } else { "" }, if of.few_samples { FEW } else { "" });
        format!("{before}{}{after}", self.number(value))
    }

    /// The mean with what the seeds say of it: its interval, or why it has none.
    pub fn mean_and_interval(&self, row: &Row) -> String {
        if row.is_void() {
            return VOID.to_owned();
        }
        let Some(of) = row.estimate(self.metric) else { return NOTHING.to_owned() };
        let mean = self.marked(of, of.mean);
        if of.is_equal() && !of.at_least {
            return format!("{mean}{EQUAL}");
        }
        match (self.interval(of), of.n) {
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

    /// One of the values of an estimate; a sign if all seeds have the same, nothing if it does not apply.
    pub fn value(&self, row: &Row, value: impl Fn(&Estimate) -> Option<f64>) -> String {
        let Some(of) = row.estimate(self.metric) else { return NOTHING.to_owned() };
        match value(of) {
            Some(value) => self.marked(of, value),
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

/// The unit in which the largest of these values is at least one: its name and its size.
pub(crate) fn unit(
    figures: impl Iterator<Item = f64>,
    units: &'static [(&'static str, f64)],
) -> (&'static str, f64) {
    let most = figures.fold(0.0, f64::max);
    let fits = units.iter().find(|(_, size)| most >= *size).or(units.last());
    fits.copied().unwrap_or(("", 1.0))
}

pub(crate) const RATES: &[(&str, f64)] = &[("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)];
pub(crate) const TIMES: &[(&str, f64)] = &[("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];

/// Throughput and goodput, loss, queue, round trip, fairness, repairs, completion and cost.
pub(crate) fn all<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<Column> {
    let (rate, bits) = unit(runs.clone().map(|run| run.throughput_bps), RATES);
    let (span, seconds) = unit(runs.clone().filter_map(|run| run.rtt.mean_s), TIMES);
    let (lasted, fct_seconds) = unit(runs.clone().filter_map(mean_completion), TIMES);
    let mut columns = vec![
        Column::new(rate, "throughput_bps", bits, 3),
        Column::new("goodput", "goodput_bps", bits, 3),
        Column::new("loss %", "loss_rate", 0.01, 3),
        Column::new("credit loss %", "credit.loss_rate", 0.01, 1),
        Column::new("queue pkt", "max_queue_bytes", FULL_FRAME, 1),
        Column::new("KB", "max_queue_bytes", 1000.0, 1),
        Column::new(format!("RTT {span}"), "rtt.mean_s", seconds, 2),
        Column::new("RTT p99", "rtt.p99_s", seconds, 2),
        Column::new("Jain", "jain", 1.0, 3),
        Column::new("resent", "retransmits", 1.0, 0),
        Column::new("RTOs", "timeouts", 1.0, 0),
        Column::new(format!("FCT {lasted}"), "fct.all.mean_s", fct_seconds, 2),
        Column::new("FCT p99", "fct.all.p99_s", fct_seconds, 2),
        Column::new("small p99", "fct.small.p99_s", fct_seconds, 2),
        Column::new("open", "fct.all.unfinished", 1.0, 0),
        Column::new("wall s", "wall_s", 1.0, 1),
        Column::new("Mhop/s", SPEED, 1e6, 1),
    ];
    add_load(&mut columns, runs, bits);
    columns
}

/// Adds the throughput of the load phase beside that of the whole run if stragglers decide the latter.
fn add_load<'a>(columns: &mut Vec<Column>, mut runs: impl Iterator<Item = &'a Run>, bits: f64) {
    let stragglers = |run: &Run| {
        run.load_throughput_bps.is_some_and(|load| load > STRAGGLERS * run.throughput_bps)
    };
    if runs.any(stragglers) {
        columns.insert(1, Column::new("in load", "load_throughput_bps", bits, 3));
    }
}

/// Throughput, loss, queue, fairness and completion.
pub(crate) fn main<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Vec<Column> {
    let (rate, bits) = unit(runs.clone().map(|run| run.throughput_bps), RATES);
    let (lasted, seconds) = unit(runs.clone().filter_map(mean_completion), TIMES);
    let mut columns = vec![
        Column::new(rate, "throughput_bps", bits, 3),
        Column::new("loss %", "loss_rate", 0.01, 3),
        Column::new("queue pkt", "max_queue_bytes", FULL_FRAME, 1),
        Column::new("Jain", "jain", 1.0, 3),
        Column::new(format!("FCT {lasted}"), "fct.all.mean_s", seconds, 2),
        Column::new("FCT p99", "fct.all.p99_s", seconds, 2),
        Column::new("small p99", "fct.small.p99_s", seconds, 2),
    ];
    add_load(&mut columns, runs, bits);
    columns
}

fn mean_completion(run: &Run) -> Option<f64> {
    run.fct.all.as_ref()?.mean_s
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

    #[test]
    fn the_largest_figure_chooses_the_unit() {
        assert_eq!(unit([2e9, 5.0].into_iter(), RATES).0, "Gb/s");
        assert_eq!(unit([2e6, 5.0].into_iter(), RATES).0, "Mb/s");
        assert_eq!(unit([5.0].into_iter(), RATES).0, "kb/s");
        assert_eq!(unit(std::iter::empty(), TIMES).0, "us");
    }
}
