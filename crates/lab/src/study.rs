//! A scenario read and checked, with everything it varies: what `run` and `reproduce` work through, job by job.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

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

/// A part of the runs of a study: each `of`-th one, from number `number` on. Numbers start at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// All runs.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// The jobs that belong to it, in their order.
    #[must_use]
    pub fn of(self, jobs: Vec<Job>) -> Vec<Job> {
        jobs.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }

    /// True if it is all.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.of == 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let read = |part: &str| part.trim().parse().ok().filter(|number| *number > 0);
        let parts = text.split_once('/').and_then(|(i, n)| Some((read(i)?, read(n)?)));
        parts
            .filter(|(number, of)| number <= of)
            .map(|(number, of)| Self { number, of })
            .ok_or_else(|| "expected I/N with I from 1 to N, for example 1/4".to_owned())
    }
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
    /// If what counts is the ratio to the same field of another scheme at the same seed: its label. The point is the
    /// same, if there is no `relative_point`.
    pub relative_to: Option<String>,
    /// If it is set against another point: its name. The scheme is that of `relative_to`, or its own.
    pub relative_point: Option<String>,
    /// If it is set against another field: that one, of the same run, scheme or point aside.
    pub relative_metric: Option<String>,
    /// What is set against another figure counts as the difference to it, in `unit`, and not as the ratio.
    pub difference: bool,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_out_all_jobs() {
        let jobs: Vec<Job> = (1..=7).map(|seed| Job { point: 0, scheme: 0, seed }).collect();
        let seeds = |text: &str| -> Vec<u64> {
            let shard: Shard = text.parse().unwrap();
            assert_eq!(shard.to_string(), text);
            shard.of(jobs.clone()).iter().map(|job| job.seed).collect()
        };
        assert_eq!(
            (seeds("1/3"), seeds("2/3"), seeds("3/3")),
            (vec![1, 4, 7], vec![2, 5], vec![3, 6])
        );
        assert_eq!(seeds("1/1").len(), 7);
        assert!(seeds("9/9").is_empty());
        for bad in ["0/3", "4/3", "1", "1/0", "a/b", "", "1/2/3", "-1/2"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
