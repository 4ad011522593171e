//! Two results compared: schemes of equal names, or two named ones, at equal points, pair by pair of seeds.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::{Figure, figures};
use crate::paired::{Finding, PairedDifference};
use crate::summary::{FULL_FRAME, Run, Summary};
use crate::table::{Grid, significant};

/// Two results compared: the output of `compare --json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The most notable differences, in a sentence.
    pub finding: String,
    /// What was compared, in the order of the results.
    pub pairs: Vec<ComparedRuns>,
    /// What limits the comparison: what was not compared, and why.
    pub unpaired: Vec<String>,
}

/// The runs of a scheme at a point, compared with those of a scheme of the other results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedRuns {
    /// The name of the point; empty if there is only one.
    pub point: String,
    /// The label of the scheme in the first results.
    pub a: String,
    /// The label of the scheme in the second results.
    pub b: String,
    /// The seeds that both have.
    pub seeds: Vec<u64>,
    /// The differences by metric, in the unit that its name ends in.
    pub metrics: BTreeMap<String, PairedDifference>,
}

/// A metric that is compared.
struct Metric {
    name: &'static str,
    /// The metric in words.
    what: &'static str,
    /// Its unit in tables, with its size.
    unit: (&'static str, f64),
    /// What less and more of it are called.
    words: [&'static str; 2],
}

const LESS: [&str; 2] = ["lower", "higher"];
const TIME: [&str; 2] = ["shorter", "longer"];

const fn metric(
    name: &'static str,
    what: &'static str,
    unit: (&'static str, f64),
    words: [&'static str; 2],
) -> Metric {
    Metric { name, what, unit, words }
}

/// The metrics of the tables, and completion times by size.
const METRICS: [Metric; 16] = [
    metric("throughput_bps", "throughput", ("Mb/s", 1e6), LESS),
    metric("load_throughput_bps", "throughput in the load phase", ("Mb/s", 1e6), LESS),
    metric("goodput_bps", "goodput", ("Mb/s", 1e6), LESS),
    metric("loss_rate", "loss", ("%", 0.01), LESS),
    metric("max_queue_bytes", "longest queue", ("packets", FULL_FRAME), TIME),
    metric("rtt.mean_s", "mean round trip", ("ms", 1e-3), TIME),
    metric("rtt.p99_s", "round trip p99", ("ms", 1e-3), TIME),
    metric("jain", "Jain's index", ("", 1.0), LESS),
    metric("retransmits", "retransmissions", ("packets", 1.0), ["fewer", "more"]),
    metric("timeouts", "timeouts", ("", 1.0), ["fewer", "more"]),
    metric("fct.all.mean_s", "mean completion time", ("ms", 1e-3), TIME),
    metric("fct.all.p99_s", "completion time p99", ("ms", 1e-3), TIME),
    metric("fct.small.mean_s", "mean completion time of small flows", ("ms", 1e-3), TIME),
    metric("fct.small.p99_s", "completion time p99 of small flows", ("ms", 1e-3), TIME),
    metric("fct.large.mean_s", "mean completion time of large flows", ("ms", 1e-3), TIME),
    metric("fct.large.p99_s", "completion time p99 of large flows", ("ms", 1e-3), TIME),
];

/// The most differences in the sentence.
const MAX_NAMED: usize = 3;
/// The most rows of the table; with more, only what differs is in it.
const MAX_ROWS: usize = 40;

/// Compares two results. With `schemes`, one of the first results is compared with one of the second, and otherwise
/// every scheme with that of its name.
///
/// # Errors
/// If nothing can be compared, and why.
pub fn compare(
    a: &Summary,
    b: &Summary,
    schemes: Option<(&str, &str)>,
) -> Result<Comparison, String> {
    let (labels_a, labels_b) = (labels(a), labels(b));
    let mut unpaired = Vec::new();
    let pairs: Vec<(&str, &str)> = if let Some((one, other)) = schemes {
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
    if a.quick != b.quick {
        unpaired.push("a quick run is compared with a full one".to_owned());
    }
    let points = points(a, b, &mut unpaired)?;
    let mut compared = Vec::new();
    for (point, at_a, at_b) in points {
        for &(one, other) in &pairs {
            let (runs_a, runs_b) = (runs(a, at_a, one), runs(b, at_b, other));
            compared.extend(compared_runs((point, one, other), &runs_a, &runs_b, &mut unpaired));
        }
    }
    if compared.is_empty() {
        let why = unpaired.join("; ");
        return Err(format!("no two runs have the same point and seed: {why}"));
    }
    let mut comparison = Comparison { finding: String::new(), pairs: compared, unpaired };
    comparison.finding = comparison.sentence();
    Ok(comparison)
}

/// The labels of the schemes, in the order of the runs.
fn labels(summary: &Summary) -> Vec<&str> {
    let mut labels: Vec<&str> = Vec::new();
    for run in &summary.runs {
        if !labels.contains(&run.scheme.as_str()) {
            labels.push(&run.scheme);
        }
    }
    labels
}

fn known(label: &str, labels: &[&str], which: &str) -> Result<(), String> {
    if labels.contains(&label) {
        return Ok(());
    }
    Err(format!(
        "there is no scheme \"{label}\" in {which} results: they have {}",
        labels.join(", ")
    ))
}

/// Says what only one of two lists has.
fn only(a: &[&str], b: &[&str], what: &str, unpaired: &mut Vec<String>) {
    for (own, other, which) in [(a, b, "first"), (b, a, "second")] {
        let rest: Vec<&str> = own.iter().copied().filter(|it| !other.contains(it)).collect();
        if !rest.is_empty() {
            let plural = if rest.len() == 1 { "" } else { "s" };
            unpaired.push(format!(
                "not compared: only the {which} has {what}{plural} {}",
                rest.join("; ")
            ));
        }
    }
}

/// The points that both have, each with its index in both. If each has one point, these are compared.
fn points<'a>(
    a: &'a Summary,
    b: &Summary,
    unpaired: &mut Vec<String>,
) -> Result<Vec<(&'a str, usize, usize)>, String> {
    if let ([one], [_]) = (&a.points[..], &b.points[..]) {
        return Ok(vec![(one.name.as_str(), 0, 0)]);
    }
    let names = |summary: &'a Summary| -> Vec<&'a str> {
        summary.points.iter().map(|point| point.name.as_str()).collect()
    };
    let numbered = a.points.iter().enumerate();
    let both = numbered.filter_map(|(at_a, point)| {
        let at_b = b.points.iter().position(|other| other.set == point.set)?;
        Some((point.name.as_str(), at_a, at_b))
    });
    let both: Vec<_> = both.collect();
    let names_b: Vec<&str> = b.points.iter().map(|point| point.name.as_str()).collect();
    only(&names(a), &names_b, "point", unpaired);
    if both.is_empty() { Err("no point is in both results".to_owned()) } else { Ok(both) }
}

/// The runs of a scheme at a point, by seed.
fn runs<'a>(summary: &'a Summary, point: usize, label: &str) -> BTreeMap<u64, &'a Run> {
    let set = &summary.points[point].set;
    let runs = summary.runs.iter().filter(|run| run.scheme == label && run.point == *set);
    runs.map(|run| (run.seed, run)).collect()
}

fn compared_runs(
    (point, one, other): (&str, &str, &str),
    a: &BTreeMap<u64, &Run>,
    b: &BTreeMap<u64, &Run>,
    unpaired: &mut Vec<String>,
) -> Option<ComparedRuns> {
    let seeds: Vec<u64> = a.keys().filter(|seed| b.contains_key(seed)).copied().collect();
    let different: BTreeSet<&u64> =
        a.keys().chain(b.keys()).filter(|it| !seeds.contains(it)).collect();
    if !different.is_empty() {
        let list: Vec<String> = different.iter().map(ToString::to_string).collect();
        let line = format!("not compared: seeds that only one of them has: {}", list.join(", "));
        if !unpaired.contains(&line) {
            unpaired.push(line);
        }
    }
    let of = |runs: &BTreeMap<u64, &Run>| -> Vec<BTreeMap<String, Figure>> {
        seeds.iter().map(|seed| figures(runs[seed])).collect()
    };
    let (of_a, of_b) = (of(a), of(b));
    let metrics = METRICS.iter().filter_map(|metric| {
        let pairs = of_a
            .iter()
            .zip(&of_b)
            .filter_map(|(a, b)| Some((*a.get(metric.name)?, *b.get(metric.name)?)));
        let difference = PairedDifference::of(&pairs.collect::<Vec<_>>())?;
        Some((metric.name.to_owned(), difference))
    });
    let metrics = metrics.collect();
    let (point, one, other) = (point.to_owned(), one.to_owned(), other.to_owned());
    (!seeds.is_empty()).then_some(ComparedRuns { point, a: one, b: other, seeds, metrics })
}

impl ComparedRuns {
    /// The scheme, or both.
    fn schemes(&self) -> String {
        if self.a == self.b { self.a.clone() } else { format!("{}, {}", self.a, self.b) }
    }

    /// The metrics with their differences, in the order of the tables.
    fn in_order(&self) -> impl Iterator<Item = (&'static Metric, &PairedDifference)> {
        METRICS.iter().filter_map(|metric| Some((metric, self.metrics.get(metric.name)?)))
    }
}

impl Comparison {
    /// The largest differences that are not chance: those with the largest ratio, in either direction.
    fn sentence(&self) -> String {
        let mut notable: Vec<(f64, String)> = Vec::new();
        for pair in &self.pairs {
            let place =
                if pair.point.is_empty() { String::new() } else { format!(" at {}", pair.point) };
            for (metric, of) in pair.in_order().filter(|(_, of)| of.finding.is_difference()) {
                let Some((relative, interval)) = of.relative() else { continue };
                let word = metric.words[usize::from(relative > 0.0)];
                let percent = |part: f64| significant_percent(part.abs());
                let interval = interval.map_or_else(String::new, |(low, high)| {
                    let (least, most) = if relative > 0.0 { (low, high) } else { (high, low) };
                    format!(" ({} to {} %)", percent(least), percent(most))
                });
                let text = format!(
                    "{}{place}: {} {} % {word}{interval}",
                    pair.b,
                    metric.what,
                    percent(relative)
                );
                notable.push(((of.b / of.a).max(of.a / of.b), text));
            }
        }
        let all: Vec<&PairedDifference> =
            self.pairs.iter().flat_map(|pair| pair.metrics.values()).collect();
        if notable.is_empty() {
            let few = all.iter().filter(|of| of.finding == Finding::TooFewSeeds).count();
            return match (few, all.iter().all(|of| of.finding == Finding::Equal)) {
                (_, true) => "Both are equal in every metric.".to_owned(),
                (0, _) => format!("No significant difference in {} comparisons.", all.len()),
                _ => "Fewer than three seeds are in both: no difference can be told from chance."
                    .to_owned(),
            };
        }
        notable.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        notable.truncate(MAX_NAMED);
        let texts: Vec<String> = notable.into_iter().map(|(_, text)| text).collect();
        format!("{}.", texts.join("; "))
    }

    /// The differences as a table that fits a page, and lines on what is not in it.
    #[must_use]
    pub fn table(&self) -> (Grid, Vec<String>) {
        let several = self.pairs.iter().any(|pair| !pair.point.is_empty());
        let header = ["scheme", "metric", "A", "B", "B - A", "%", "95 % interval", "finding"];
        let mut header: Vec<String> = header.map(str::to_owned).to_vec();
        if several {
            header.insert(0, "point".to_owned());
        }
        let words = if several { 3 } else { 2 };
        let all: usize = self.pairs.iter().map(|pair| pair.metrics.len()).sum();
        let mut rows = Vec::new();
        for pair in &self.pairs {
            for (metric, of) in pair.in_order() {
                if all > MAX_ROWS && !of.finding.is_difference() {
                    continue;
                }
                let place = several.then(|| pair.point.clone());
                rows.push(
                    place.into_iter().chain(cells(pair, metric, of)).collect::<Vec<String>>(),
                );
            }
        }
        let (differ, shown) = (rows.len(), rows.len().min(MAX_ROWS));
        rows.truncate(MAX_ROWS);
        let mut lines = Vec::new();
        if all > MAX_ROWS {
            lines.push(format!(
                "{shown} of {differ} differences are shown; in the other {} comparisons none was found.",
                all - differ
            ));
        }
        let tested = self.pairs.iter().flat_map(|pair| pair.metrics.values());
        let tested = tested.filter(|of| of.low.is_some()).count();
        if tested > 0 {
            lines.push(format!(
                "Intervals are 95 %, paired by seed. If nothing differed, chance would make about {:.1} of \
                 these {tested} significant.",
                tested as f64 * 0.05
            ));
        }
        lines.extend(self.unpaired.iter().map(|line| format!("{line}.")));
        (Grid { header, rows, words }, lines)
    }
}

/// The cells of a difference, after its point.
fn cells(pair: &ComparedRuns, metric: &Metric, of: &PairedDifference) -> [String; 8] {
    let (unit, size) = metric.unit;
    let figure = |value: f64| significant(value / size);
    let what =
        if unit.is_empty() { metric.what.to_owned() } else { format!("{}, {unit}", metric.what) };
    let percent = of
        .relative()
        .map_or_else(|| "-".to_owned(), |(relative, _)| format!("{:+.1}", relative * 100.0));
    let interval = of.low.zip(of.high).map_or_else(
        || "-".to_owned(),
        |(low, high)| format!("{} to {}", figure(low), figure(high)),
    );
    let difference = figure(of.difference);
    let finding = of.finding.word().to_owned();
    [pair.schemes(), what, figure(of.a), figure(of.b), difference, percent, interval, finding]
}

/// A fraction as percent with two digits or more.
fn significant_percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 10.0 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}

#[cfg(test)]
mod tests;
