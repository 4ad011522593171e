//! The data of the sentences: the metric, the values of the schemes and their seeds.

use super::wording::{names, range};
use crate::comparison::Comparison;
use crate::text::{list, thousands};
use shallop_results::contrast::{Contrast, Level, Shown};
use shallop_results::metrics::{self, Better, Metric, all_flows, small_flows};
use shallop_results::units::Unit;
use shallop_results::{Aggregate, Estimate, Summary};
use std::collections::BTreeMap;

/// The least number of seeds that decides anything.
const MIN_SEEDS: u64 = 3;
/// The least number of flows for a 99th percentile.
const MIN_FLOWS: f64 = 100.0;

/// A smaller loss rate is no loss to speak of.
pub(super) const LEAST_LOSS: f64 = 1e-4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Topic {
    pub metric: &'static Metric,
    /// The words before and after a value.
    pub words: (&'static str, &'static str),
    /// The figures that show it.
    pub figures: &'static [&'static str],
}

const GOODPUT: Topic = Topic { metric: &metrics::GOODPUT, words: ("", " of new data"), figures: &["goodput"] };
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

#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub scheme: &'a str,
    pub point: usize,
    pub value: Estimate,
    pub of: &'a Aggregate,
    /// The value of each seed.
    pub by_seed: BTreeMap<u64, f64>,
}

impl Entry<'_> {
    /// The paired differences of another entry from this one; `None` without a common seed.
    pub fn contrast(&self, other: &Entry<'_>) -> Option<Contrast> {
        let both = self.by_seed.iter().filter_map(|(seed, value)| {
            let of_other = other.by_seed.get(seed)?;
            Some((*value, *of_other))
        });
        Contrast::from_pairs(&both.collect::<Vec<_>>())
    }

    /// What the seeds show of another entry, compared with this one.
    pub fn shown(&self, other: &Entry<'_>, level: Level) -> Shown {
        self.contrast(other).map_or(Shown::Nothing, |contrast| contrast.shown(level))
    }

    /// The mean of another metric; zero without it.
    pub fn mean(&self, metric: &Metric) -> f64 {
        mean(self.of, metric)
    }
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
    /// Whether the headline has statements on groups beside those on all flows.
    pub has_groups: bool,
    summary: &'a Summary,
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

/// The value of each seed, by point and scheme.
type BySeed<'a> = BTreeMap<(usize, &'a str), BTreeMap<u64, f64>>;

/// The values of all runs that count.
fn by_seed<'a>(summary: &'a Summary, comparison: &Comparison, metric: &Metric) -> BySeed<'a> {
    let same = summary.runs.chunk_by(|a, b| a.scheme == b.scheme && a.point == b.point);
    let mut found = BySeed::new();
    for runs in same {
        let Some(point) = comparison.point(&runs[0].point) else { continue };
        let counted = runs.iter().filter(|run| !run.is_void());
        let values = counted.filter_map(|run| Some((run.seed, metric.figure(run)?.value)));
        found.entry((point, runs[0].scheme.as_str())).or_default().extend(values);
    }
    found
}

impl<'a> Standings<'a> {
    pub fn new(summary: &'a Summary, comparison: &'a Comparison, topic: Topic, has_groups: bool) -> Self {
        let mut standings = Self { topic, comparison, entries: Vec::new(), has_groups, summary };
        let mut seeds = by_seed(summary, comparison, topic.metric);
        standings.entries = summary
            .aggregates
            .iter()
            .filter(|of| !standings.is_open(of))
            .filter_map(|of| {
                let (point, value) = (comparison.point(&of.point)?, *of.get(topic.metric)?);
                let by_seed = seeds.remove(&(point, of.scheme.as_str())).unwrap_or_default();
                Some(Entry { scheme: &of.scheme, point, value, of, by_seed })
            })
            .collect();
        standings
    }

    /// The schemes with another metric instead of the topic's. The values of seeds are larger by `floor`, so that those
    /// far below it do not differ by factors.
    pub fn of(&self, metric: &Metric, floor: f64) -> Vec<Entry<'a>> {
        let mut seeds = by_seed(self.summary, self.comparison, metric);
        let of = |entry: &Entry<'a>| {
            let value = *entry.of.get(metric)?;
            let mut by_seed = seeds.remove(&(entry.point, entry.scheme)).unwrap_or_default();
            for value in by_seed.values_mut() {
                *value += floor;
            }
            Some(Entry { value, by_seed, ..entry.clone() })
        };
        self.entries.iter().filter_map(of).collect()
    }

    /// Whether the completion time is a lower bound only, because flows did not finish.
    fn is_open(&self, of: &Aggregate) -> bool {
        self.topic.is_less_better() && of.get(self.topic.metric).is_some_and(|value| value.at_least)
    }

    /// Whether a scheme is left out at this point, as its flows did not finish.
    pub fn has_left_out(&self, point: usize) -> bool {
        let here = self.summary.aggregates.iter().filter(|of| self.comparison.point(&of.point) == Some(point));
        here.into_iter().any(|of| self.is_open(of))
    }

    /// The schemes at a point.
    pub fn at(&self, point: usize) -> Vec<&Entry<'a>> {
        self.entries.iter().filter(|entry| entry.point == point).collect()
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

    /// Values of the topic's metric with their unit: "9.05 Gb/s", "1.2 to 3.4 ms".
    pub fn values(&self, values: &[f64]) -> String {
        let unit = Unit::for_largest(values.iter().copied(), self.topic.metric.quantity.shown());
        format!("{} {}", range(values, unit.size), unit.name)
    }

    /// The means of these schemes with their unit.
    pub fn value(&self, entries: &[&Entry<'_>]) -> String {
        self.values(&entries.iter().map(|entry| entry.value.mean).collect::<Vec<_>>())
    }

    /// The loss of these schemes in words: "nothing", "4.6 %".
    pub fn loss(entries: &[&Entry<'_>]) -> String {
        let losses: Vec<f64> = entries.iter().map(|entry| entry.mean(&metrics::LOSS)).collect();
        let most = losses.iter().copied().fold(0.0, f64::max);
        match most {
            most if most <= 0.0 => "nothing".to_owned(),
            most if most < LEAST_LOSS => "less than 0.01 %".to_owned(),
            _ => format!("{} %", range(&losses, 0.01)),
        }
    }

    /// The values of these schemes in words: "9.05 Gb/s of new data, and lost nothing".
    pub fn detail(&self, entries: &[&Entry<'_>]) -> String {
        let (before, after) = self.topic.words;
        let value = format!("{before}{}{after}", self.value(entries));
        if self.topic.is_less_better() { value } else { format!("{value}, and lost {}", Self::loss(entries)) }
    }

    /// The largest number of seeds of a scheme.
    pub fn seeds(&self) -> u64 {
        self.entries.iter().map(|entry| entry.value.n).max().unwrap_or(0)
    }

    /// Whether the seeds are too few to decide anything.
    pub fn is_undecided(&self) -> bool {
        self.seeds() < MIN_SEEDS
    }

    /// What a sentence on estimates of one or two seeds begins with.
    pub fn by_estimate(&self) -> &'static str {
        if self.seeds() == 1 { "By one seed, which decides nothing, " } else { "By two seeds, which decide nothing, " }
    }

    /// A caveat for one or two seeds; empty for more.
    pub fn few_seeds(&self) -> &'static str {
        match self.seeds() {
            1 => "How far another seed would differ is not known; three or more can decide.",
            2 => "Two seeds are too few for an interval; three or more can decide.",
            _ => "",
        }
    }

    /// The means that `shown` selects. A run that stands for several points counts once.
    fn once(&self, mut shown: impl FnMut(&Aggregate) -> bool) -> Vec<&'a Aggregate> {
        let mut found: Vec<&Aggregate> = Vec::new();
        for of in self.summary.aggregates.iter().filter(|of| shown(of)) {
            let reused = self.summary.reused.iter().any(|reuse| reuse.scheme == of.scheme);
            let same = |other: &&Aggregate| (&other.scheme, other.n, &other.metrics) == (&of.scheme, of.n, &of.metrics);
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
            let counts = [all_flows::UNFINISHED, all_flows::COUNT].map(|metric| mean(of, &metric) * runs);
            match schemes.iter_mut().find(|(name, ..)| *name == of.scheme) {
                Some((_, open, all)) => (*open, *all) = (*open + counts[0], *all + counts[1]),
                None => schemes.push((&of.scheme, counts[0], counts[1])),
            }
        }
        let whole = |count: f64| thousands(count.round() as u64);
        let words = schemes.iter().filter(|(_, open, _)| *open > 0.0);
        words.map(|(name, open, all)| format!("{} {} of {}", names(&[*name]), whole(*open), whole(*all))).collect()
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
            let others = list(&others);
            text.push(format!("Compared, as too few flows did not finish to change these times: {others}."));
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
