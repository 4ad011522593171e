//! A sentence on significant differences: first those of what the workload is about, then the largest.

use super::{Comparison, figure};
use crate::contrast::BOUND;
use crate::metrics::{self, Metric};
use crate::paired::{Finding, PairedDifference};
use indexmap::IndexSet;

/// The most differences in the sentence.
const MAX_NAMED: usize = 3;
/// The most schemes and points that the sentence names for one difference.
const MAX_WHO: usize = 3;
/// The most of them that are named before the largest, because the workload is about them.
const MAX_FIRST: usize = 2;
/// Differences by a smaller fraction of A are left out of the sentence, even if they are significant.
const LEAST: f64 = 0.001;
/// So are estimates that differ by less.
const LEAST_ESTIMATE: f64 = BOUND;

/// The difference of a metric under one scheme at one point.
struct Difference<'a> {
    who: String,
    metric: &'static Metric,
    of: &'a PairedDifference,
}

/// A part of the sentence: differences in one direction, of one metric or of several that differ by the same amount.
struct Named {
    who: Vec<String>,
    what: Vec<&'static str>,
    /// The amount and its direction: "33 % shorter".
    amount: String,
    /// The 95 % interval in brackets; empty unless the part is about a single difference.
    interval: String,
    /// The largest ratio of the two values, the larger one divided by the smaller one; 0 if A is zero.
    size: f64,
    /// Whether it is a completion time.
    is_time: bool,
}

/// The sentence on the significant differences: at most two of completion times, then those with the largest ratio, in
/// either direction. Without three seeds it has estimates, and says that they decide nothing.
pub(super) fn sentence(comparison: &Comparison) -> String {
    let all: Vec<&PairedDifference> = comparison.distinct().flat_map(|pair| pair.metrics.values()).collect();
    let significant = findings(&differences(comparison, LEAST, Finding::is_difference));
    if !significant.is_empty() {
        return format!("{}.", texts(significant));
    }
    if all.iter().all(|of| of.finding == Finding::Equal) {
        return "Both are equal in every metric.".to_owned();
    }
    let is_estimate = |finding| finding == Finding::TooFewSeeds;
    if all.iter().any(|of| is_estimate(of.finding)) {
        let few = "Fewer than three seeds are in both, which decide nothing";
        let estimates = findings(&differences(comparison, LEAST_ESTIMATE, is_estimate));
        return if estimates.is_empty() {
            format!("{few}; no estimate differs by {:.0} % or more.", BOUND * 100.0)
        } else {
            format!("{few}. Estimates: {}.", texts(estimates))
        };
    }
    if all.iter().any(|of| of.finding.is_difference()) {
        return format!("No significant difference of 0.1 % or more in {} comparisons.", all.len());
    }
    format!("No significant difference in {} comparisons.", all.len())
}

/// The first of these as text.
fn texts(mut named: Vec<Named>) -> String {
    named.sort_by(|one, other| other.size.total_cmp(&one.size));
    let (mut first, mut others): (Vec<Named>, Vec<Named>) = named.into_iter().partition(|one| one.is_time);
    others.extend(first.split_off(first.len().min(MAX_FIRST)));
    others.sort_by(|one, other| other.size.total_cmp(&one.size));
    first.append(&mut others);
    first.truncate(MAX_NAMED);
    first.iter().map(Named::text).collect::<Vec<_>>().join("; ")
}

/// The differences of at least this fraction of A that are worth a word. Stragglers decide the throughput of a run
/// whose flows end, but for that of its load phase.
fn differences(comparison: &Comparison, least: f64, is_told: impl Fn(Finding) -> bool + Copy) -> Vec<Difference<'_>> {
    let of_pair = comparison.distinct().flat_map(move |pair| {
        let place = if pair.point.is_empty() { String::new() } else { format!(" at {}", pair.point) };
        let ends = pair.in_order().any(|(metric, _)| metric.statistic().is_some());
        let of_stragglers =
            move |metric: &Metric| ends && [metrics::THROUGHPUT.path, metrics::GOODPUT.path].contains(&metric.path);
        let all = pair.in_order().filter(move |(metric, of)| is_told(of.finding) && !of_stragglers(metric));
        all.map(move |(metric, of)| Difference { who: format!("{}{place}", pair.b), metric, of })
    });
    let large = |of: &PairedDifference| of.relative().map_or(of.b > of.a, |(relative, _)| relative.abs() >= least);
    of_pair.filter(|one| large(one.of)).collect()
}

/// Groups the differences: first by metric and direction, then metrics that differ by the same amount.
fn findings(all: &[Difference<'_>]) -> Vec<Named> {
    // Whether it rises, falls, or comes up from zero.
    let kind = |one: &Difference<'_>| (one.metric.path, one.of.a > 0.0, one.of.difference > 0.0);
    let mut found: Vec<Named> = Vec::new();
    for wanted in all.iter().map(kind).collect::<IndexSet<_>>() {
        let same: Vec<&Difference<'_>> = all.iter().filter(|one| kind(one) == wanted).collect();
        let finding = Named::of(&same);
        let alike =
            |other: &&mut Named| other.who == finding.who && other.amount == finding.amount && finding.size > 0.0;
        match found.iter_mut().find(alike) {
            Some(other) => {
                other.what.extend(&finding.what);
                if other.interval != finding.interval {
                    other.interval.clear();
                }
            }
            None => found.push(finding),
        }
    }
    found
}

impl Named {
    /// Joins differences of one metric in one direction; `same` is not empty.
    fn of(same: &[&Difference<'_>]) -> Self {
        let metric = same[0].metric;
        let who = same.iter().map(|one| one.who.clone()).collect();
        let what = vec![metric.label];
        let is_time = metric.statistic().is_some();
        let parts: Vec<f64> = same.iter().filter_map(|one| one.of.relative()).map(|(part, _)| part).collect();
        let ends = |values: &[f64]| {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            (least, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        if parts.is_empty() {
            let values: Vec<f64> = same.iter().map(|one| one.of.b).collect();
            let (least, most) = ends(&values);
            let range = range(&figure(metric, least), &figure(metric, most));
            let amount = format!("{range} {} instead of 0", metric.quantity.compared().name).replace("  ", " ");
            return Self { who, what, amount, interval: String::new(), size: 0.0, is_time };
        }
        let sizes: Vec<f64> = parts.iter().map(|part| part.abs()).collect();
        let (least, most) = ends(&sizes);
        let range = range(&percent(least), &percent(most));
        let amount = format!("{range} % {}", metric.quantity.comparatives()[usize::from(parts[0] > 0.0)]);
        let ratio = |one: &&Difference<'_>| (one.of.b / one.of.a).max(one.of.a / one.of.b);
        let size = same.iter().map(ratio).fold(0.0, f64::max);
        let interval = match same {
            [one] => one.of.relative().and_then(|(_, interval)| interval),
            _ => None,
        };
        let interval = interval.map_or_else(String::new, |(low, high)| {
            let (least, most) = ends(&[low.abs(), high.abs()]);
            format!(" ({} to {} %)", percent(least), percent(most))
        });
        Self { who, what, amount, interval, size, is_time }
    }

    fn text(&self) -> String {
        let Self { who, what, amount, interval, .. } = self;
        let more = who.len().saturating_sub(MAX_WHO);
        let mut names = who.iter().take(MAX_WHO).map(String::as_str).collect::<Vec<_>>().join(", ");
        if more > 0 {
            names = format!("{names} and {more} more");
        }
        format!("{names}: {} {amount}{interval}", what.join(" and "))
    }
}

/// "LEAST to MOST", or one number if both are equal as printed.
fn range(least: &str, most: &str) -> String {
    if least == most { most.to_owned() } else { format!("{least} to {most}") }
}

/// Prints a fraction as percent: one decimal below 10 %, none above.
fn percent(part: f64) -> String {
    let percent = part * 100.0;
    if percent < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}
