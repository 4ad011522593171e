//! Compares two results seed by seed, at equal points: schemes with equal names, or two named ones.

mod points;
mod sentence;

use crate::aggregate::MIN_VALUES;
use crate::metrics::{self, Metric};
use crate::paired::PairedDifference;
use crate::summary::{Run, Summary};
use crate::table::{Grid, significant};
use indexmap::IndexSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Two results compared: the output of `compare --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// A sentence on the largest significant differences.
    pub finding: String,
    /// The two points that the user asked to compare, as typed. Left out if points with equal keys were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<[String; 2]>,
    /// The compared runs, in the order of the first results.
    pub pairs: Vec<ComparedRuns>,
    /// Notes on parts of the results that were not compared, and why.
    pub unpaired: Vec<String>,
}

/// The runs of one scheme at one point of the first results (A), compared with runs of the second results (B).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRuns {
    /// The name of the point; empty if there is only one. If the user named two points: the keys in which they are
    /// equal.
    pub point: String,
    pub a: String,
    pub b: String,
    /// The seeds with a run in both results.
    pub seeds: Vec<u64>,
    /// The index of an earlier entry of the list made of the same runs: runs that several points share are made once.
    /// Left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<u64>,
    /// The difference of each metric, by its path; in the unit at the end of the path.
    pub metrics: BTreeMap<String, PairedDifference>,
}

/// The metrics that are compared, in the order of the table where flows do not end.
const METRICS: [&Metric; 16] = [
    &metrics::THROUGHPUT,
    &metrics::LOAD_THROUGHPUT,
    &metrics::GOODPUT,
    &metrics::LOSS,
    &metrics::MAX_QUEUE,
    &metrics::MEAN_RTT,
    &metrics::P99_RTT,
    &metrics::JAIN,
    &metrics::RETRANSMITS,
    &metrics::TIMEOUTS,
    &metrics::small_flows::P99,
    &metrics::small_flows::MEAN,
    &metrics::all_flows::P99,
    &metrics::all_flows::MEAN,
    &metrics::large_flows::P99,
    &metrics::large_flows::MEAN,
];

/// The most rows of the printed table. If there are more, rows without a significant difference are left out.
const MAX_ROWS: usize = 40;

/// The parts of two results to compare.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection<'a> {
    /// A scheme of the first results and one of the second; `None` for all schemes with equal names.
    pub schemes: Option<(&'a str, &'a str)>,
    /// A point of the first results and one of the second, each by name or as `KEY=VALUE`; `None` for points with equal
    /// keys.
    pub points: Option<(&'a str, &'a str)>,
}

/// Compares two results, seed by seed.
///
/// # Errors
/// If nothing can be compared, and why.
pub fn compare(a: &Summary, b: &Summary, selection: Selection<'_>) -> Result<Comparison, String> {
    let pairs = schemes(a, b, selection.schemes)?;
    let mut unpaired = pairs.1;
    if a.quick != b.quick {
        unpaired.push("a quick run is compared with a full one".to_owned());
    }
    let points = match selection.points {
        Some((one, other)) => points::named(a, one, b, other, &mut unpaired)?,
        None => points::equal(a, b, &mut unpaired)?,
    };
    let mut compared: Vec<ComparedRuns> = Vec::new();
    for (point, at_a, at_b) in &points {
        for &(one, other) in &pairs.0 {
            let (runs_a, runs_b) = (runs(a, *at_a, one), runs(b, *at_b, other));
            compared.extend(compared_runs((point, one, other), &runs_a, &runs_b, &mut unpaired));
        }
    }
    if compared.is_empty() {
        let why = unpaired.join("; ");
        return Err(format!("no two runs have the same point and seed: {why}"));
    }
    if !(a.reused.is_empty() && b.reused.is_empty()) {
        mark_same(&mut compared);
    }
    let points = selection.points.map(|(one, other)| [one.to_owned(), other.to_owned()]);
    let mut comparison = Comparison { finding: String::new(), points, pairs: compared, unpaired };
    comparison.finding = sentence::sentence(&comparison);
    Ok(comparison)
}

/// Sets `same_as` of entries that consist of the same runs as an earlier entry, so that each is counted once.
fn mark_same(compared: &mut [ComparedRuns]) {
    for index in 1..compared.len() {
        let (before, rest) = compared.split_at_mut(index);
        let own = &mut rest[0];
        let same =
            |other: &ComparedRuns| other.same_as.is_none() && other.seeds == own.seeds && other.metrics == own.metrics;
        own.same_as = before.iter().position(same).map(|first| first as u64);
    }
}

/// The pairs of scheme labels to compare, and a note on the schemes that only one of the results has.
#[expect(clippy::type_complexity, reason = "two lists")]
fn schemes<'a>(
    a: &'a Summary, b: &'a Summary, named: Option<(&'a str, &'a str)>,
) -> Result<(Vec<(&'a str, &'a str)>, Vec<String>), String> {
    let (labels_a, labels_b) = (labels(a), labels(b));
    let mut unpaired = Vec::new();
    let pairs: Vec<(&str, &str)> = if let Some((one, other)) = named {
        known(one, &labels_a, "the first")?;
        known(other, &labels_b, "the second")?;
        vec![(one, other)]
    } else {
        only(&labels_a, &labels_b, "scheme", &mut unpaired);
        labels_a.iter().filter(|label| labels_b.contains(*label)).map(|it| (*it, *it)).collect()
    };
    if pairs.is_empty() {
        return Err(format!(
            "no scheme is in both: the first results have {}, the second {}",
            labels_a.join(", "),
            labels_b.join(", ")
        ));
    }
    Ok((pairs, unpaired))
}

/// The labels of the schemes, without repetition, in the order of the runs.
fn labels(summary: &Summary) -> Vec<&str> {
    summary.runs.iter().map(|run| run.scheme.as_str()).collect::<IndexSet<_>>().into_iter().collect()
}

fn known(label: &str, labels: &[&str], which: &str) -> Result<(), String> {
    if labels.contains(&label) {
        return Ok(());
    }
    Err(format!("there is no scheme \"{label}\" in {which} results: they have {}", labels.join(", ")))
}

/// Adds a note to `unpaired` on names that only one of the lists `a` and `b` has.
fn only(a: &[&str], b: &[&str], what: &str, unpaired: &mut Vec<String>) {
    for (own, other, which) in [(a, b, "first"), (b, a, "second")] {
        let rest: Vec<&str> = own.iter().copied().filter(|it| !other.contains(it)).collect();
        if !rest.is_empty() {
            let plural = if rest.len() == 1 { "" } else { "s" };
            unpaired.push(format!("not compared: only the {which} has {what}{plural} {}", rest.join("; ")));
        }
    }
}

/// The runs of a scheme at a point by seed, without void ones.
fn runs<'a>(summary: &'a Summary, point: usize, label: &str) -> BTreeMap<u64, &'a Run> {
    let set = &summary.points[point].set;
    let of = |run: &&Run| run.scheme == label && run.point == *set && !run.is_void();
    let runs = summary.runs.iter().filter(of);
    runs.map(|run| (run.seed, run)).collect()
}

fn compared_runs(
    (point, one, other): (&str, &str, &str), a: &BTreeMap<u64, &Run>, b: &BTreeMap<u64, &Run>,
    unpaired: &mut Vec<String>,
) -> Option<ComparedRuns> {
    let seeds: Vec<u64> = a.keys().filter(|seed| b.contains_key(seed)).copied().collect();
    let different: BTreeSet<&u64> = a.keys().chain(b.keys()).filter(|it| !seeds.contains(it)).collect();
    if !different.is_empty() {
        let list: Vec<String> = different.iter().map(ToString::to_string).collect();
        let line = format!("not compared: seeds that only one of them has: {}", list.join(", "));
        if !unpaired.contains(&line) {
            unpaired.push(line);
        }
    }
    let of_b: Vec<&Run> = seeds.iter().map(|seed| b[seed]).collect();
    let metrics = METRICS.iter().filter_map(|metric| {
        let both = |seed| Some((metric.figure(a[seed])?, metric.figure(b[seed])?));
        let pairs: Vec<_> = seeds.iter().filter_map(both).collect();
        let difference = PairedDifference::from_pairs(&pairs, metric.quantity.possible(&of_b))?;
        Some((metric.path.to_owned(), difference))
    });
    let metrics = metrics.collect();
    let (point, one, other) = (point.to_owned(), one.to_owned(), other.to_owned());
    let same_as = None;
    (!seeds.is_empty()).then_some(ComparedRuns { point, a: one, b: other, seeds, same_as, metrics })
}

impl ComparedRuns {
    /// The label of the scheme in A, and in B if it differs.
    fn schemes(&self) -> String {
        if self.a == self.b { self.a.clone() } else { format!("{}, {}", self.a, self.b) }
    }

    /// The metrics with their differences, in the order of the tables: first what the workload is about, completion
    /// times where flows end.
    fn in_order(&self) -> impl Iterator<Item = (&'static Metric, &PairedDifference)> {
        let (ended, others): (Vec<&Metric>, Vec<&Metric>) =
            METRICS.iter().partition(|metric| metric.statistic().is_some());
        let all = ended.into_iter().chain(others);
        all.filter_map(|metric| Some((metric, self.metrics.get(metric.path)?)))
    }
}

impl Comparison {
    /// The entries without those made of the same runs as an earlier one.
    fn distinct(&self) -> impl Iterator<Item = &ComparedRuns> {
        self.pairs.iter().filter(|pair| pair.same_as.is_none())
    }

    /// The table of differences, of at most `MAX_ROWS` rows, and the lines printed below it.
    pub fn table(&self) -> (Grid, Vec<String>) {
        let several = self.pairs.iter().any(|pair| !pair.point.is_empty());
        let header = ["scheme", "metric", "A", "B", "B - A", "%", "95 % interval, %", "finding"];
        let mut header: Vec<String> = header.map(str::to_owned).to_vec();
        if several {
            header.insert(0, "point".to_owned());
        }
        let words = if several { 3 } else { 2 };
        let all: usize = self.distinct().map(|pair| pair.metrics.len()).sum();
        let mut rows = Vec::new();
        for pair in self.distinct() {
            for (metric, of) in pair.in_order() {
                if all > MAX_ROWS && !of.finding.is_told() {
                    continue;
                }
                let place = several.then(|| pair.point.clone());
                rows.push(place.into_iter().chain(cells(pair, metric, of)).collect::<Vec<String>>());
            }
        }
        let (differ, shown) = (rows.len(), rows.len().min(MAX_ROWS));
        rows.truncate(MAX_ROWS);
        let mut lines = Vec::new();
        if all > MAX_ROWS {
            let rest = match (all - differ, differ - shown) {
                (none, 0) => format!("in the other {none} comparisons none was found"),
                (none, _) => {
                    format!("in {none} other comparisons none was found; --json has all")
                }
            };
            lines.push(format!("{shown} of {differ} differences are shown; {rest}."));
        }
        let tested = self.distinct().flat_map(|pair| pair.metrics.values());
        let tested = tested.filter(|of| of.low.is_some()).count();
        if tested > 0 {
            lines.push(format!(
                "Percentages are geometric means of B/A, their intervals 95 %, paired by seed.\n\
                 {tested} differences have one; if nothing differed, chance would make about {:.1} of \
                 them significant.",
                tested as f64 * 0.05
            ));
        }
        let few = |pair: &ComparedRuns| (pair.seeds.len() as u64) < MIN_VALUES;
        if self.distinct().any(few) {
            lines.push(
                "Fewer than three seeds are in both: estimates, of which none can be told from chance.".to_owned(),
            );
        }
        let same = self.pairs.len() - self.distinct().count();
        if same > 0 {
            lines.push(format!(
                "{same} of {} pairs are made of the same runs as another one: they are shown and counted once.",
                self.pairs.len()
            ));
        }
        lines.extend(self.unpaired.iter().map(|line| format!("{line}.")));
        (Grid { header, rows, words }, lines)
    }
}

/// The cells of a row, from the scheme to the finding.
fn cells(pair: &ComparedRuns, metric: &Metric, of: &PairedDifference) -> [String; 8] {
    let unit = metric.quantity.compared().name;
    let figure = |value: f64| figure(metric, value);
    let what = if unit.is_empty() { metric.label.to_owned() } else { format!("{}, {unit}", metric.label) };
    let relative = of.relative();
    let percent = relative.map_or_else(|| "-".to_owned(), |(part, _)| signed_percent(part));
    let interval = relative
        .and_then(|(_, interval)| interval)
        .map_or_else(|| "-".to_owned(), |(low, high)| format!("{} to {}", signed_percent(low), signed_percent(high)));
    let difference = figure(of.difference);
    let finding = of.finding.word().to_owned();
    [pair.schemes(), what, figure(of.a), figure(of.b), difference, percent, interval, finding]
}

/// Prints a value in the unit that comparisons use for the metric.
fn figure(metric: &Metric, value: f64) -> String {
    significant(value / metric.quantity.compared().size)
}

/// Prints a fraction as percent with one decimal and a sign, except for zero.
fn signed_percent(part: f64) -> String {
    let text = format!("{:+.1}", part * 100.0);
    if text.ends_with("0.0") && text.len() == 4 { "0.0".to_owned() } else { text }
}
