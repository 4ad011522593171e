//! A scenario read and checked, with everything it varies: what `run` and `reproduce` work through, job by job.

use std::collections::BTreeMap;

use crate::plan::Plan;

/// A scenario: plans that differ in a few keys, the seeds to run them with, and what is claimed of the results.
#[derive(Clone, Debug)]
pub struct Study {
    /// What it is called in tables.
    pub title: String,
    /// A line on what it shows; empty if the scenario has none.
    pub about: String,
    /// About how long all its jobs take on one core, as the scenario says, in full and quick; empty if it does not.
    pub takes: (String, String),
    /// True if the changes under `[quick]` were applied.
    pub quick: bool,
    /// At least one; a scenario without points has one without a name that sets nothing.
    pub points: Vec<Point>,
    /// At least one. Every scheme of every point runs with each.
    pub seeds: Vec<u64>,
    /// What is claimed.
    pub claims: Vec<Claim>,
}

/// A variation of a scenario.
#[derive(Clone, Debug)]
pub struct Point {
    /// Its name; empty if the scenario has no points.
    pub name: String,
    /// The keys it sets, with their values as they were written.
    pub set: BTreeMap<String, serde_json::Value>,
    /// The plan with these set.
    pub plan: Plan,
}

/// One run to make: indices into [`Study::points`] and the schemes of its plan, and a seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The point.
    pub point: usize,
    /// The scheme.
    pub scheme: usize,
    /// The run seed.
    pub seed: u64,
}

impl Study {
    /// All runs, in the order in which they are reported: point by point, scheme by scheme, seed by seed.
    #[must_use]
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (point, at) in self.points.iter().enumerate() {
            for scheme in 0..at.plan.schemes.len() {
                jobs.extend(self.seeds.iter().map(|&seed| Job { point, scheme, seed }));
            }
        }
        jobs
    }
}

/// Something that is claimed of the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// In words.
    pub what: String,
    /// The label of the scheme it is about.
    pub scheme: String,
    /// The point it is about; `None` for all points together.
    pub point: Option<String>,
    /// The field of a run, as in the summary: `throughput_bps`, `drops.data`, `credit.loss_rate`.
    pub metric: String,
    /// If it is a field of a window: from when to when, in seconds.
    pub window: Option<(f64, f64)>,
    /// If what counts is the ratio to the same field of another scheme at the same point and seed: its label.
    pub relative_to: Option<String>,
    /// What the field is divided by, so that it is in `unit`.
    pub scale: f64,
    /// Printed behind the figures.
    pub unit: String,
    /// How the figures of several seeds and points count.
    pub seeds: Seeds,
    /// What the paper says, in `unit`.
    pub paper: Option<f64>,
    /// Where it says so.
    pub source: String,
    /// The accepted range, both ends included; an end that is missing accepts all on its side.
    pub range: Range,
    /// If it is known and traced that the figure lies elsewhere: where, and why.
    pub differs: Option<Differs>,
    /// True if the claim is not judged in a quick run.
    pub full_only: bool,
}

/// Numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The smallest; `None` for no bound.
    pub low: Option<f64>,
    /// The largest; `None` for no bound.
    pub high: Option<f64>,
}

impl Range {
    /// True if this number lies in the range.
    #[must_use]
    pub fn holds(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

/// A known difference from what was claimed.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// The range it is expected in instead.
    pub range: Range,
    /// Why, in a line; docs/reproduction.md has the trace.
    pub why: String,
}

/// How the figures of several seeds count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Seeds {
    /// Every figure must lie in the range; the one closest to leaving it, or farthest outside, is shown.
    #[default]
    Each,
    /// Their mean must.
    Mean,
}
