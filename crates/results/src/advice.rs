//! What `shallop advise` found: `advise.json`, with its table and sentences.

use crate::aggregate::Estimate;
use crate::question::{Bounded, Question, shown, unit_of};
use crate::race::Standing;
use crate::setup::DerivedValue;
use crate::summary::is_false;
use crate::table::{Grid, significant};
use crate::units::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The answer to a question: `advise.json`, and the output of `advise --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The title of the scenario.
    pub scenario: String,
    /// The version of shallop that made the runs.
    pub version: String,
    pub question: Question,
    /// The runs that the race may cost, in runs of the full duration.
    #[schemars(extend("unit" = "runs"))]
    pub budget_runs: u64,
    /// The runs that the race has used. An interrupted rung does not count.
    #[schemars(extend("unit" = "runs"))]
    pub used_runs: f64,
    /// Why the race ended; empty if it was interrupted.
    pub ended: String,
    /// What a short run simulates, as a fraction of the duration; null if no run is short.
    #[schemars(extend("unit" = "fraction"))]
    pub short: Option<f64>,
    /// True if the race was interrupted, so that candidates that raced on are not decided.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interrupted: bool,
    /// The result in a sentence or two.
    pub finding: String,
    /// The candidates, the best first.
    pub candidates: Vec<Candidate>,
    /// The rules of the literature and of this network, for keys that the candidates differ in.
    pub rules: Vec<DerivedValue>,
    /// The first candidates at other loads and round trips.
    pub elsewhere: Vec<Elsewhere>,
    /// The command that writes the configuration of switches for the best candidate; empty if no candidate meets the
    /// bounds, or if not all have run.
    pub next: String,
}

/// A candidate: a scheme with the values of the varied keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    pub name: String,
    /// The label of the scheme.
    pub scheme: String,
    /// Values of the varied keys.
    pub point: BTreeMap<String, serde_json::Value>,
    pub standing: Standing,
    /// Means over the seeds, by metric: the objective, the metrics of the bounds, `loss_rate` and `fct.all.p99_s`.
    pub metrics: BTreeMap<String, Estimate>,
    /// By which fraction the candidate misses the bound that it misses most; not above zero if it meets all, null
    /// without bounds, or if a run lacks the metric.
    #[schemars(extend("unit" = "fraction"))]
    pub excess: Option<f64>,
    /// The number of runs of the full duration, one for each seed.
    #[schemars(extend("unit" = "runs"))]
    pub runs: u64,
    /// The number of short runs.
    #[schemars(extend("unit" = "runs"))]
    pub short_runs: u64,
}

/// The first candidates under a changed scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// What is changed: "load x 2".
    pub what: String,
    /// The changed keys with their values; empty if nothing can be changed.
    pub set: BTreeMap<String, String>,
    /// The mean objective of each of the first candidates, in the order of `candidates`; null without one.
    #[schemars(extend("unit" = "as the metric"))]
    pub objectives: Vec<Option<f64>>,
    /// The bounds that each of them misses, by their metrics.
    pub misses: Vec<Vec<String>>,
    /// The name of the best one of them; the reason if there is none.
    pub best: String,
}

impl Candidate {
    /// Whether it meets all of these bounds.
    fn meets(&self, bounds: &[Bounded]) -> bool {
        bounds.is_empty() || self.excess.is_some_and(|excess| excess <= 0.0)
    }

    fn cell(&self, metric: &str, unit: Unit) -> String {
        let Some(estimate) = self.metrics.get(metric) else { return "–".to_owned() };
        let bound = if estimate.at_least { ">= " } else { "" };
        format!("{bound}{}", shown(unit, estimate.mean, estimate.low.zip(estimate.high)))
    }

    fn mean(&self, metric: &str) -> Option<f64> {
        self.metrics.get(metric).map(|estimate| estimate.mean)
    }
}

impl Advice {
    fn means(&self, metric: &str) -> impl Iterator<Item = f64> {
        self.candidates.iter().filter_map(move |candidate| candidate.mean(metric))
    }

    /// A row for each candidate.
    pub fn ranking(&self) -> Grid {
        let Question { metric, bounds, .. } = &self.question;
        let mut header = vec!["candidate".to_owned(), metric.clone()];
        header.extend(bounds.iter().map(|bound| bound.text.clone()));
        header.extend(["runs", "standing"].map(str::to_owned));
        let unit = unit_of(metric, self.means(metric));
        let units: Vec<Unit> = bounds.iter().map(|bound| bound.unit(self.means(&bound.metric))).collect();
        let row = |candidate: &Candidate| {
            let mut row = vec![candidate.name.clone(), candidate.cell(metric, unit)];
            for (bound, unit) in bounds.iter().zip(&units) {
                let excess = bound.excess(candidate.mean(&bound.metric));
                let digits = usize::from(excess < 1.0);
                let missed = match excess {
                    met if met <= 0.0 => String::new(),
                    by if by >= 10.0 && by.is_finite() => format!("{:.0} times as much: ", 1.0 + by),
                    by if by.is_finite() && bound.bound.abs() > 0.0 => format!("missed by {:.digits$} %: ", 100.0 * by),
                    _ => "missed: ".to_owned(),
                };
                row.push(missed + &candidate.cell(&bound.metric, *unit));
            }
            let short =
                if candidate.short_runs > 0 { format!(" + {} short", candidate.short_runs) } else { String::new() };
            row.extend([format!("{}{short}", candidate.runs), candidate.standing.word().to_owned()]);
            row
        };
        let words = header.len();
        Grid { header, rows: self.candidates.iter().map(row).collect(), words }
    }

    /// The rules beside the values that were found.
    pub fn rules(&self) -> Grid {
        let rows = self.rules.iter().map(|rule| vec![rule.what.clone(), rule.value.clone(), rule.how.clone()]);
        Grid { header: ["rule", "value", "how"].map(str::to_owned).to_vec(), rows: rows.collect(), words: 3 }
    }

    /// The first candidates at other loads and round trips.
    pub fn elsewhere(&self) -> Grid {
        let most = self.elsewhere.iter().map(|other| other.objectives.len()).max().unwrap_or(0);
        let mut header = vec!["setting".to_owned()];
        header.extend(self.candidates.iter().take(most).map(|candidate| candidate.name.clone()));
        header.push("best of these".to_owned());
        let values = self.elsewhere.iter().flat_map(|other| other.objectives.iter().flatten().copied());
        let unit = unit_of(&self.question.metric, values);
        let row = |other: &Elsewhere| {
            let cell = |at: usize| {
                let value = other.objectives.get(at).copied().flatten();
                let missed = other.misses.get(at).map(|all| all.join(", ")).unwrap_or_default();
                let missed = if missed.is_empty() { missed } else { format!(", misses {missed}") };
                value.map_or_else(|| "–".to_owned(), |value| shown(unit, value, None)) + &missed
            };
            let cells = std::iter::once(other.what.clone()).chain((0..most).map(cell));
            cells.chain([other.best.clone()]).collect()
        };
        let words = header.len();
        Grid { header, rows: self.elsewhere.iter().map(row).collect(), words }
    }

    /// The runs that were used, and why the race ended.
    pub fn cost(&self) -> String {
        let used = format!("{} of {} runs used", significant(self.used_runs), self.budget_runs);
        if self.interrupted { used + "." } else { format!("{used}; the race ended {}.", self.ended) }
    }

    /// The finding: the best of all candidates, or the bound that no candidate meets. The advice has no candidate that
    /// did not run.
    pub fn say(&mut self, all: usize) {
        let Some(best) = self.candidates.first() else { return };
        let ran = self.candidates.len();
        if !best.meets(&self.question.bounds) || ran < all {
            self.next.clear();
        }
        if ran < all {
            let has = if ran == 1 { "has" } else { "have" };
            self.finding = format!("{ran} of {all} candidates {has} run; start again with the same --out.");
            return;
        }
        let Question { metric, maximise, bounds, .. } = &self.question;
        let excess = |bound: &Bounded, candidate: &Candidate| bound.excess(candidate.mean(&bound.metric));
        let missed = bounds.iter().find(|bound| self.candidates.iter().all(|it| excess(bound, it) > 0.0));
        let mut text = if best.meets(bounds) {
            let unit = unit_of(metric, self.means(metric));
            let most = if *maximise { "most" } else { "least" };
            let is_near = |bound: &Bounded| {
                let estimate = best.metrics.get(&bound.metric);
                let ends = estimate.and_then(|estimate| estimate.low.zip(estimate.high));
                ends.is_some_and(|(low, high)| low <= bound.bound && bound.bound <= high)
            };
            let meets = match bounds.iter().find(|bound| is_near(bound)) {
                _ if bounds.is_empty() => String::new(),
                None => ", and meets the bounds".to_owned(),
                Some(bound) => format!(", and meets the bounds; its seeds do not decide on {}", bound.text),
            };
            format!("{} has the {most} {metric} of {all} candidates, {}{meets}.", best.name, best.cell(metric, unit))
        } else if let Some(bound) = missed {
            let nearest = self.candidates.iter().min_by(|a, b| excess(bound, a).total_cmp(&excess(bound, b)));
            let near = nearest.unwrap_or(best);
            let with = near.cell(&bound.metric, bound.unit(self.means(&bound.metric)));
            match near.mean(&bound.metric) {
                None => format!("No candidate meets {}: no run has a value of {}.", bound.text, bound.metric),
                Some(_) => format!("No candidate meets {}: {} comes nearest, with {with}.", bound.text, near.name),
            }
        } else {
            let excess = best.excess.unwrap_or(f64::INFINITY) * 100.0;
            format!(
                "No candidate meets all bounds: {} comes nearest, {} % beyond one of them.",
                best.name,
                significant(excess)
            )
        };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for other in &self.candidates[1..] {
            *counts.entry(other.standing.word()).or_default() += 1;
        }
        let counts: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        text = format!("{text} The others: {}.", counts.join(", "));
        if self.interrupted {
            text += " The race was interrupted: this is the ranking so far.";
        }
        self.finding = text;
    }
}
