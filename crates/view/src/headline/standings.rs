//! What the sentences are made of: the metric, the values of the schemes, and who leads where.

use shallop_results::{Aggregate, Estimate, Summary};

use crate::comparison::Comparison;
use crate::text::{list, thousands};
use crate::units::{self, Unit};

/// Fewer seeds than this have no interval that tells schemes apart.
const MIN_SEEDS: u64 = 3;
/// Without intervals, values that differ by a smaller part than this are called equal.
const ALIKE: f64 = 0.01;
/// The least number of flows for a 99th percentile.
const MIN_FLOWS: f64 = 100.0;
/// More names than this are counted, not listed.
const MAX_NAMES: usize = 4;

/// The metric of the sentences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Topic {
    /// Its name in `aggregates`.
    pub key: &'static str,
    /// True for completion times: less is better.
    pub less: bool,
    /// The words before and after a value.
    pub words: (&'static str, &'static str),
    /// The figures that show it.
    pub figures: &'static [&'static str],
}

const GOODPUT: Topic =
    Topic { key: "goodput_bps", less: false, words: ("", " of new data"), figures: &["goodput"] };
const SMALL_TAIL: Topic = Topic {
    key: "fct.small.p99_s",
    less: true,
    words: ("99 % of the small flows finished within ", ""),
    figures: &["fct-small-p99", "completion-times"],
};
const TAIL: Topic = Topic {
    key: "fct.all.p99_s",
    less: true,
    words: ("99 % of the flows finished within ", ""),
    figures: &["fct-p99", "completion-times"],
};
const MEAN: Topic = Topic {
    key: "fct.all.mean_s",
    less: true,
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

/// The mean of a metric.
pub(super) fn metric(of: &Aggregate, key: &str) -> Option<Estimate> {
    of.metrics.get(key).copied()
}

fn mean(of: &Aggregate, key: &str) -> f64 {
    metric(of, key).map_or(0.0, |estimate| estimate.mean)
}

/// The metric that these results are about; `None` if they have neither.
pub(super) fn topic(summary: &Summary) -> Option<Topic> {
    let all = || summary.aggregates.iter();
    let enough = |key: &str| {
        let counts = all().filter_map(|of| metric(of, key)).map(|count| count.mean);
        counts.fold(f64::INFINITY, f64::min) >= MIN_FLOWS
    };
    let has = |key: &str| all().any(|of| of.metrics.contains_key(key));
    if !all().any(|of| mean(of, "fct.all.count") > 0.0) {
        return has(GOODPUT.key).then_some(GOODPUT);
    }
    Some(match () {
        () if has(SMALL_TAIL.key) && enough("fct.small.count") => SMALL_TAIL,
        () if enough("fct.all.count") => TAIL,
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
                let (point, value) = (comparison.point(&of.point)?, metric(of, topic.key)?);
                Some(Entry { scheme: &of.scheme, point, value, of })
            })
            .collect();
        standings
    }

    /// Whether so many flows did not finish that the completion time is a lower bound only.
    fn is_open(&self, of: &Aggregate) -> bool {
        self.topic.less && metric(of, self.topic.key).is_some_and(|value| value.at_least)
    }

    /// The schemes at a point.
    pub fn at(&self, point: usize) -> Vec<Entry<'a>> {
        self.entries.iter().copied().filter(|entry| entry.point == point).collect()
    }

    /// The schemes that carried the most, or were the fastest: "carried the most", "did better".
    pub fn verb(&self, best: bool, of_two: bool) -> &'static str {
        match (self.topic.less, best, of_two) {
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
        let units = if self.topic.less { units::TIMES } else { units::RATES };
        let values: Vec<f64> = entries.iter().map(|entry| entry.value.mean).collect();
        let unit = Unit::of(values.iter().copied(), units);
        format!("{} {}", range(&values, unit.size), unit.name)
    }

    /// What these schemes lost: "nothing", "4.6 %".
    pub fn loss(entries: &[Entry<'_>]) -> String {
        let losses: Vec<f64> = entries.iter().map(|entry| mean(entry.of, "loss_rate")).collect();
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
        if self.topic.less { value } else { format!("{value}, and lost {}", Self::loss(entries)) }
    }

    /// Why several schemes lead together.
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

    /// What few seeds cannot say.
    pub fn few_seeds(&self) -> String {
        match self.seeds() {
            1 => "One seed: how far another one would differ is not known.".to_owned(),
            2 => "Two seeds: too few for an interval.".to_owned(),
            _ => String::new(),
        }
    }

    /// The means of these, without those of runs that stand for several points: each run counts once.
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
            let counts = ["fct.all.unfinished", "fct.all.count"].map(|key| mean(of, key) * runs);
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

    /// What unfinished flows leave open.
    pub fn unfinished(&self) -> String {
        if !self.topic.less || self.entries.is_empty() {
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

/// The least and the most of these values, in a unit of this size; one number if both read the same.
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
