//! The data of the sentences: the metric, the values of the schemes, and who leads where.

use shallop_results::{Aggregate, Estimate, Summary};

use crate::comparison::Comparison;
use crate::text::{list, thousands};
use shallop_results::metrics::{self, Better, Metric, all_flows, small_flows};
use shallop_results::units::Unit;

/// The least number of seeds for an interval that tells schemes apart.
const MIN_SEEDS: u64 = 3;
/// Without intervals, values that differ by a smaller fraction are called equal.
const ALIKE: f64 = 0.01;
/// The least number of flows for a 99th percentile.
const MIN_FLOWS: f64 = 100.0;
/// The most names in a list; more names are counted.
const MAX_NAMES: usize = 4;

/// The metric of the sentences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topic {
    pub metric: &'static Metric,
    /// The words before and after a value.
    pub words: (&'static str, &'static str),
    /// The figures that show it.
    pub figures: &'static [&'static str],
}

const GOODPUT: Topic =
    Topic { metric: &metrics::GOODPUT, words: ("", " of new data"), figures: &["goodput"] };
const SMALL_TAIL: Topic = Topic {
    metric: &small_flows::P99,
    words: ("99 % of the small flows finished within ", ""),
    figures: &["fct-small-p99", "completion-times"],
};
const TAIL: Topic = Topic {
    metric: &all_flows::P99,
    words: ("99 % of the flows finished within ", ""),
    figures: &["fct-p99", "completion-times"],
};
const MEAN: Topic = Topic {
    metric: &all_flows::MEAN,
    words: ("a flow took ", " on average"),
    figures: &["fct-mean", "completion-times"],
};

/// A scheme at a point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub scheme: &'a str,
    pub point: usize,
    pub value: Estimate,
    pub of: &'a Aggregate,
}

impl Topic {
    /// Whether less is better, as of completion times.
    pub fn is_less_better(&self) -> bool {
        self.metric.better == Better::Less
    }
}

/// The values of all schemes at all points.
#[derive(Debug)]
pub(super) struct Standings<'a> {
    pub topic: Topic,
    pub comparison: &'a Comparison,
    /// The schemes that can be compared, in the order of the results.
    pub entries: Vec<Entry<'a>>,
    summary: &'a Summary,
}

/// The best and the worst of some schemes, each with those that cannot be told from it.
#[derive(Debug)]
pub(super) struct Ranking<'a> {
    pub best: Vec<Entry<'a>>,
    /// Empty if nothing can be told from the best.
    pub worst: Vec<Entry<'a>>,
}

fn mean(of: &Aggregate, metric: &Metric) -> f64 {
    of.get(metric).map_or(0.0, |estimate| estimate.mean)
}

/// The metric that these results are about; `None` if they have neither.
pub(super) fn topic(summary: &Summary) -> Option<Topic> {
    let all = || summary.aggregates.iter();
    let enough = |metric: &Metric| {
        let counts = all().filter_map(|of| of.get(metric)).map(|count| count.mean);
        counts.fold(f64::INFINITY, f64::min) >= MIN_FLOWS
    };
    let has = |metric: &Metric| all().any(|of| of.get(metric).is_some());
    if !all().any(|of| mean(of, &all_flows::COUNT) > 0.0) {
        return has(GOODPUT.metric).then_some(GOODPUT);
    }
    Some(match () {
        () if has(SMALL_TAIL.metric) && enough(&small_flows::COUNT) => SMALL_TAIL,
        () if enough(&all_flows::COUNT) => TAIL,
        () => MEAN,
    })
}

impl<'a> Standings<'a> {
    pub fn new(summary: &'a Summary, comparison: &'a Comparison, topic: Topic) -> Self {
        let mut standings = Self { topic, comparison, entries: Vec::new(), summary };
        standings.entries = summary
            .aggregates
            .iter()
            .filter(|of| !standings.is_open(of))
            .filter_map(|of| {
                let (point, value) = (comparison.point(&of.point)?, *of.get(topic.metric)?);
                Some(Entry { scheme: &of.scheme, point, value, of })
            })
            .collect();
        standings
    }

    /// Whether the completion time is a lower bound only, because flows did not finish.
    fn is_open(&self, of: &Aggregate) -> bool {
        self.topic.is_less_better() && of.get(self.topic.metric).is_some_and(|value| value.at_least)
    }

    /// The schemes at a point.
    pub fn at(&self, point: usize) -> Vec<Entry<'a>> {
        self.entries.iter().copied().filter(|entry| entry.point == point).collect()
    }

    /// The verb for the best or the worst schemes: "carried the most", "did better".
    pub fn verb(&self, best: bool, of_two: bool) -> &'static str {
        match (self.topic.is_less_better(), best, of_two) {
            (false, true, false) => "carried the most",
            (false, true, true) => "carried more",
            (false, false, false) => "carried the least",
            (false, false, true) => "carried less",
            (true, true, false) => "did best",
            (true, true, true) => "did better",
            (true, false, false) => "did worst",
            (true, false, true) => "did worse",
        }
    }

    /// The values of these schemes with their unit: "9.05 Gb/s", "1.2 to 3.4 ms".
    pub fn value(&self, entries: &[Entry<'_>]) -> String {
        let units = self.topic.metric.quantity.shown();
        let values: Vec<f64> = entries.iter().map(|entry| entry.value.mean).collect();
        let unit = Unit::for_largest(values.iter().copied(), units);
        format!("{} {}", range(&values, unit.size), unit.name)
    }

    /// The loss of these schemes in words: "nothing", "4.6 %".
    pub fn loss(entries: &[Entry<'_>]) -> String {
        let losses: Vec<f64> = entries.iter().map(|entry| mean(entry.of, &metrics::LOSS)).collect();
        let most = losses.iter().copied().fold(0.0, f64::max);
        match most {
            most if most <= 0.0 => "nothing".to_owned(),
            most if most < 0.0001 => "less than 0.01 %".to_owned(),
            _ => format!("{} %", range(&losses, 0.01)),
        }
    }

    /// The values of these schemes in words: "9.05 Gb/s of new data, and lost nothing".
    pub fn detail(&self, entries: &[Entry<'_>]) -> String {
        let (before, after) = self.topic.words;
        let value = format!("{before}{}{after}", self.value(entries));
        if self.topic.is_less_better() {
            value
        } else {
            format!("{value}, and lost {}", Self::loss(entries))
        }
    }

    /// The reason why several schemes lead together.
    pub fn tie(&self) -> &'static str {
        if self.seeds() < MIN_SEEDS {
            "within 1 % of each other"
        } else {
            "with no difference that the seeds can tell"
        }
    }

    fn seeds(&self) -> u64 {
        self.entries.iter().map(|entry| entry.value.n).max().unwrap_or(0)
    }

    /// A caveat for one or two seeds; empty for more.
    pub fn few_seeds(&self) -> String {
        match self.seeds() {
            1 => "One seed: how far another one would differ is not known.".to_owned(),
            2 => "Two seeds: too few for an interval.".to_owned(),
            _ => String::new(),
        }
    }

    /// The means that `shown` selects. A run that stands for several points counts once.
    fn once(&self, mut shown: impl FnMut(&Aggregate) -> bool) -> Vec<&'a Aggregate> {
        let mut found: Vec<&Aggregate> = Vec::new();
        for of in self.summary.aggregates.iter().filter(|of| shown(of)) {
            let reused = self.summary.reused.iter().any(|reuse| reuse.scheme == of.scheme);
            let same = |other: &&Aggregate| {
                (&other.scheme, other.n, &other.metrics) == (&of.scheme, of.n, &of.metrics)
            };
            if !(reused && found.iter().any(same)) {
                found.push(of);
            }
        }
        found
    }

    /// The flows that did not finish, by scheme: "cubic 12 of 4,000".
    fn open_flows(&self, shown: impl FnMut(&Aggregate) -> bool) -> Vec<String> {
        let mut schemes: Vec<(&str, f64, f64)> = Vec::new();
        for of in self.once(shown) {
            let runs = of.n as f64;
            let counts =
                [all_flows::UNFINISHED, all_flows::COUNT].map(|metric| mean(of, &metric) * runs);
            match schemes.iter_mut().find(|(name, ..)| *name == of.scheme) {
                Some((_, open, all)) => (*open, *all) = (*open + counts[0], *all + counts[1]),
                None => schemes.push((&of.scheme, counts[0], counts[1])),
            }
        }
        let whole = |count: f64| thousands(count.round() as u64);
        let words = schemes.iter().filter(|(_, open, _)| *open > 0.0);
        words
            .map(|(name, open, all)| format!("{name} {} of {}", whole(*open), whole(*all)))
            .collect()
    }

    /// A caveat on flows that did not finish; empty without any.
    pub fn unfinished(&self) -> String {
        if !self.topic.is_less_better() || self.entries.is_empty() {
            return String::new();
        }
        let left_out = self.open_flows(|of| self.is_open(of));
        let others = self.open_flows(|of| !self.is_open(of));
        let mut text = Vec::new();
        if !left_out.is_empty() {
            let names = list(&left_out);
            text.push(format!("Not compared, as flows did not finish: {names}."));
        }
        if !others.is_empty() {
            text.push(format!(
                "Unfinished flows, which do not change these times: {}.",
                list(&others)
            ));
        }
        text.join(" ")
    }

    /// The sentence for results in which no completion times can be compared.
    pub fn nothing_to_compare(&self) -> String {
        let open = self.open_flows(|_| true);
        if open.is_empty() {
            return "No completion time was measured.".to_owned();
        }
        format!("Completion times cannot be compared: flows did not finish ({}).", open.join("; "))
    }
}

/// The best and the worst of these; `less` if less is better.
pub(super) fn rank<'a>(entries: &[Entry<'a>], less: bool) -> Ranking<'a> {
    let mut sorted = entries.to_vec();
    sorted.sort_by(|a, b| a.value.mean.total_cmp(&b.value.mean));
    if !less {
        sorted.reverse();
    }
    let (Some(first), Some(last)) = (sorted.first().copied(), sorted.last().copied()) else {
        return Ranking { best: Vec::new(), worst: Vec::new() };
    };
    let (best, rest): (Vec<_>, Vec<_>) =
        sorted.into_iter().partition(|entry| !apart(first.value, entry.value));
    let worst = rest.into_iter().filter(|entry| !apart(last.value, entry.value)).collect();
    Ranking { best, worst }
}

/// Whether the seeds can tell two values from each other: their intervals do not overlap.
pub(super) fn apart(one: Estimate, other: Estimate) -> bool {
    let difference = (one.mean - other.mean).abs();
    let half = |of: Estimate| of.ci95.or(of.is_equal().then_some(0.0));
    match (half(one), half(other)) {
        (Some(a), Some(b)) if one.n.min(other.n) >= MIN_SEEDS => difference > a + b,
        _ => difference > ALIKE * one.mean.abs().max(other.mean.abs()),
    }
}

/// The names of schemes, or their number if there are many of them.
pub(super) fn names(entries: &[Entry<'_>], all: usize) -> String {
    if entries.len() > MAX_NAMES {
        let some = entries.len();
        return if some == all {
            format!("All {all} schemes")
        } else {
            format!("{some} of {all} schemes")
        };
    }
    list(&entries.iter().map(|entry| entry.scheme.to_owned()).collect::<Vec<_>>())
}

/// "LEAST to MOST" of these values in a unit of this size, or one number if both are printed alike.
fn range(values: &[f64], unit: f64) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min) / unit;
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) / unit;
    let (low, high) = (three_digits(least), three_digits(most));
    if low == high { high } else { format!("{low} to {high}") }
}

/// A number with three significant digits, and no zeros at the end after a point.
fn three_digits(value: f64) -> String {
    let size = value.abs();
    let digits = match size {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        size if size >= 0.9995 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
