//! Tables of results as rows of text, which `run` and `reproduce` print. The columns and their units depend on the
//! values; the caller renders the rows.

use std::collections::BTreeSet;

use crate::aggregate::Estimate;
use crate::claim::Range;
use crate::design::Point;
use crate::judged::{JudgedClaim, Verdict};
use crate::summary::{FULL_FRAME, Run, Summary};
use crate::verdict::{count, words};

/// A table of texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grid {
    /// The heading of each column.
    pub header: Vec<String>,
    /// The rows, each with a cell for each column.
    pub rows: Vec<Vec<String>>,
    /// The number of columns, from the left, that are words; the others are numbers.
    pub words: usize,
}

/// The cell of a value that does not apply.
pub(crate) const NOTHING: &str = "-";
/// The value of a column for a run; `None` if it does not apply.
type Figure = Box<dyn Fn(&Run) -> Option<f64>>;

/// A column: its heading, its value for each run, and the digits after the decimal point.
struct Column {
    heading: String,
    figure: Figure,
    digits: usize,
}

/// The runs of a summary, each with the index of its point.
#[must_use]
pub fn placed(summary: &Summary) -> Vec<(usize, &Run)> {
    let place = |run: &Run| summary.points.iter().position(|point| point.set == run.point);
    summary.runs.iter().filter_map(|run| Some((place(run)?, run))).collect()
}

/// The table of runs, given with the indices of their points. Several seeds of a scheme at a point are a row with their
/// mean, and three rows with half the width of its 95 % confidence interval, the minimum and the maximum.
#[must_use]
pub fn runs(points: &[Point], runs: &[(usize, &Run)]) -> Grid {
    let mut columns = columns(runs);
    columns.retain(|column| runs.iter().any(|(_, run)| (column.figure)(run).is_some()));
    let header = std::iter::once("scheme".to_owned());
    let header: Vec<String> =
        header.chain(columns.iter().map(|column| column.heading.clone())).collect();
    let mut grid = Grid { header, rows: Vec::new(), words: 1 };
    for (number, point) in points.iter().enumerate() {
        let here: Vec<&Run> =
            runs.iter().filter(|(at, _)| *at == number).map(|(_, run)| *run).collect();
        let indent = if points.len() > 1 && !here.is_empty() {
            grid.push(&point.name, columns.iter().map(|_| String::new()));
            "  "
        } else {
            ""
        };
        for scheme in &point.schemes {
            let same: Vec<&Run> =
                here.iter().copied().filter(|run| run.scheme == *scheme).collect();
            grid.group(indent, scheme, &columns, &same);
        }
    }
    grid
}

impl Grid {
    fn push(&mut self, name: &str, cells: impl Iterator<Item = String>) {
        self.rows.push(std::iter::once(name.to_owned()).chain(cells).collect());
    }

    fn group(&mut self, indent: &str, name: &str, columns: &[Column], runs: &[&Run]) {
        if runs.is_empty() {
            return;
        }
        let cells = |fold: &dyn Fn(&[f64]) -> f64| -> Vec<String> {
            let cell = |column: &Column| {
                let figures: Vec<f64> =
                    runs.iter().filter_map(|run| (column.figure)(run)).collect();
                if figures.is_empty() {
                    return NOTHING.to_owned();
                }
                let figure = fold(&figures);
                if figure.is_finite() {
                    format!("{figure:.*}", column.digits)
                } else {
                    NOTHING.to_owned()
                }
            };
            columns.iter().map(cell).collect()
        };
        let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len() as f64;
        self.push(&format!("{indent}{name}"), cells(&mean).into_iter());
        if runs.len() > 1 {
            let least = |figures: &[f64]| figures.iter().copied().fold(f64::INFINITY, f64::min);
            let most = |figures: &[f64]| figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let half = |figures: &[f64]| {
                Estimate::of(figures).and_then(|of| of.ci95).unwrap_or(f64::INFINITY)
            };
            self.push(&format!("{indent}  ± 95 %"), cells(&half).into_iter());
            self.push(&format!("{indent}  least"), cells(&least).into_iter());
            self.push(&format!("{indent}  most"), cells(&most).into_iter());
        }
    }
}

/// The unit in which the largest of these values is at least one: its name, its size and the digits to print.
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
fn columns(runs: &[(usize, &Run)]) -> Vec<Column> {
    let all = || runs.iter().map(|(_, run)| *run);
    let (rate, bits) = unit(all().map(|run| run.throughput_bps), RATES);
    let (span, seconds) = unit(all().filter_map(|run| run.rtt.mean_s), TIMES);
    let completion = |run: &Run| run.fct.all.and_then(|all| all.mean_s);
    let (lasted, fct_seconds) = unit(all().filter_map(completion), TIMES);
    let column = |heading: String, digits, figure: Figure| Column { heading, figure, digits };
    let mut columns = vec![
        column(rate.to_owned(), 3, Box::new(move |run| Some(run.throughput_bps / bits))),
        column("goodput".to_owned(), 3, Box::new(move |run| Some(run.goodput_bps / bits))),
        column("loss %".to_owned(), 3, Box::new(|run| Some(run.loss_rate * 100.0))),
        column(
            "credit loss %".to_owned(),
            1,
            Box::new(|run| run.credit.map(|credit| credit.loss_rate * 100.0)),
        ),
        column(
            "queue pkt".to_owned(),
            1,
            Box::new(|run| Some(run.max_queue_bytes as f64 / FULL_FRAME)),
        ),
        column("KB".to_owned(), 1, Box::new(|run| Some(run.max_queue_bytes as f64 / 1000.0))),
        column(format!("RTT {span}"), 2, Box::new(move |run| Some(run.rtt.mean_s? / seconds))),
        column("RTT p99".to_owned(), 2, Box::new(move |run| Some(run.rtt.p99_s? / seconds))),
        column("Jain".to_owned(), 3, Box::new(|run| run.jain)),
        column("resent".to_owned(), 0, Box::new(|run| Some(run.retransmits as f64))),
        column("RTOs".to_owned(), 0, Box::new(|run| Some(run.timeouts as f64))),
    ];
    let endings: [Column; 2] = [
        column(
            format!("FCT {lasted}"),
            2,
            Box::new(move |run| Some(run.fct.all?.mean_s? / fct_seconds)),
        ),
        column("open".to_owned(), 0, Box::new(|run| Some(run.fct.all?.unfinished as f64))),
    ];
    columns.extend(endings);
    columns.push(column("wall s".to_owned(), 1, Box::new(|run| run.wall_s)));
    let speed = |run: &Run| Some(run.packet_hops as f64 / run.wall_s.filter(|s| *s > 0.0)? / 1e6);
    columns.push(column("Mhop/s".to_owned(), 1, Box::new(speed)));
    columns
}

/// The table of a sweep, with a row for each scheme at each point: the main metrics, with several seeds as mean ± half
/// the width of the 95 % confidence interval.
#[must_use]
pub fn sweep(points: &[Point], runs: &[(usize, &Run)]) -> Grid {
    let mut columns = main_columns(runs);
    columns.retain(|column| runs.iter().any(|(_, run)| (column.figure)(run).is_some()));
    let header = ["point", "scheme"].map(str::to_owned).into_iter();
    let header: Vec<String> =
        header.chain(columns.iter().map(|column| column.heading.clone())).collect();
    let mut grid = Grid { header, rows: Vec::new(), words: 2 };
    for same in runs.chunk_by(|(a, one), (b, other)| a == b && one.scheme == other.scheme) {
        let cell = |column: &Column| {
            let figures: Vec<f64> =
                same.iter().filter_map(|(_, run)| (column.figure)(run)).collect();
            match Estimate::of(&figures) {
                None => NOTHING.to_owned(),
                Some(Estimate { mean, ci95: None, .. }) => format!("{mean:.*}", column.digits),
                Some(Estimate { mean, ci95: Some(half), .. }) => {
                    format!("{mean:.*} ± {half:.*}", column.digits, column.digits)
                }
            }
        };
        let words = [points[same[0].0].name.clone(), same[0].1.scheme.clone()];
        grid.rows.push(words.into_iter().chain(columns.iter().map(cell)).collect());
    }
    grid
}

/// Throughput, loss, queue, fairness and completion.
fn main_columns(runs: &[(usize, &Run)]) -> Vec<Column> {
    let all = || runs.iter().map(|(_, run)| *run);
    let (rate, bits) = unit(all().map(|run| run.throughput_bps), RATES);
    let completion = |run: &Run| run.fct.all.and_then(|all| all.mean_s);
    let (lasted, seconds) = unit(all().filter_map(completion), TIMES);
    let column = |heading: String, digits, figure: Figure| Column { heading, figure, digits };
    vec![
        column(rate.to_owned(), 3, Box::new(move |run| Some(run.throughput_bps / bits))),
        column("loss %".to_owned(), 3, Box::new(|run| Some(run.loss_rate * 100.0))),
        column(
            "queue pkt".to_owned(),
            1,
            Box::new(|run| Some(run.max_queue_bytes as f64 / FULL_FRAME)),
        ),
        column("Jain".to_owned(), 3, Box::new(|run| run.jain)),
        column(
            format!("FCT {lasted}"),
            2,
            Box::new(move |run| Some(run.fct.all?.mean_s? / seconds)),
        ),
        column("FCT p99".to_owned(), 2, Box::new(move |run| Some(run.fct.all?.p99_s? / seconds))),
    ]
}

/// The warnings of the runs. A warning of a scheme that differs between runs only in numbers is shown once, with the
/// first run that has it and the number of such runs.
#[must_use]
pub fn warnings(points: &[Point], runs: &[(usize, &Run)]) -> Vec<String> {
    let words = |text: &str| -> String { text.chars().filter(|c| !c.is_ascii_digit()).collect() };
    let has = |run: &Run, kind: &str| run.warnings.iter().any(|text| words(text) == kind);
    let mut told = BTreeSet::new();
    let mut lines = Vec::new();
    for (at, run) in runs {
        for text in &run.warnings {
            let kind = words(text);
            if !told.insert((run.scheme.clone(), kind.clone())) {
                continue;
            }
            lines.push(format!("warning: {}: {text}", run.scheme));
            let same = runs.iter().filter(|(_, other)| other.scheme == run.scheme);
            let (all, warned) = same.fold((0, 0), |(all, warned), (_, other)| {
                (all + 1, warned + usize::from(has(other, &kind)))
            });
            if all > 1 {
                let point = points.get(*at).map_or("", |point| point.name.as_str());
                let place = if point.is_empty() { String::new() } else { format!("{point}, ") };
                let runs = if warned == 1 {
                    "only there".to_owned()
                } else {
                    format!("in {warned} of {all} runs")
                };
                lines.push(format!("  ({place}seed {}; {runs} of {})", run.seed, run.scheme));
            }
        }
    }
    lines
}

/// The table of claims with their verdicts, and the reasons below claims that do not hold.
#[must_use]
pub fn claims(claims: &[JudgedClaim]) -> Grid {
    let header = ["claim", "paper", "accepted", "measured", "verdict"];
    let figure = |value: Option<f64>, unit: &str| match value {
        None => NOTHING.to_owned(),
        Some(value) => format!("{} {unit}", significant(value)).trim_end().to_owned(),
    };
    let row = |claim: &JudgedClaim| {
        let accepted = words(Range { low: claim.low, high: claim.high });
        let mut label = claim.label();
        // A claim without a range needs no reason.
        if !claim.why.is_empty() && claim.verdict != Verdict::Reported {
            label = format!("{label} ({})", claim.why);
        }
        vec![
            label,
            figure(claim.paper, &claim.unit),
            accepted,
            figure(claim.measured, &claim.unit),
            claim.verdict.word().to_owned(),
        ]
    };
    let rows = claims.iter().map(row).collect();
    Grid { header: header.map(str::to_owned).to_vec(), rows, words: 1 }
}

/// A line with the counts of verdicts.
#[must_use]
pub fn tally(claims: &[JudgedClaim]) -> String {
    let some = Verdict::ALL.into_iter().map(|verdict| (count(claims, verdict), verdict));
    let some = some.filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        some.map(|(count, verdict)| format!("{count} {}", verdict.word())).collect();
    let noun = if claims.len() == 1 { "claim" } else { "claims" };
    format!("{} {noun}: {}", claims.len(), parts.join(", "))
}

/// A number with about four significant digits.
#[must_use]
pub fn significant(value: f64) -> String {
    let size = value.abs();
    if !size.is_finite() || size == 0.0 {
        return format!("{value}");
    }
    let digits = [(1000.0, 0), (100.0, 1), (10.0, 2), (1.0, 3), (0.1, 4), (0.01, 5)];
    match digits.iter().find(|(least, _)| size >= *least) {
        // A whole number stays one.
        Some(_) if (1.0..1e15).contains(&size) && size.fract() == 0.0 => format!("{value}"),
        Some(&(_, digits)) => format!("{value:.digits$}"),
        None => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_about_four_digits() {
        let cases = [
            (0.0, "0"),
            (9.0, "9"),
            (9.123_456, "9.123"),
            (0.123_456, "0.1235"),
            (123_456.7, "123457"),
            (0.000_123_4, "1.234e-4"),
            (-20.55, "-20.55"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
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
