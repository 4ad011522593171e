//! The design of a study: every combination of a point, a scheme and a seed is a job. A shard is the part of the jobs
//! that one of several machines runs.

use crate::claim::Claim;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, str::FromStr};

/// A point of a study: one choice of values for the keys that the study varies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The name of the point; empty if there is only one.
    pub name: String,
    /// Values of the varied scenario keys at this point, by key.
    pub set: BTreeMap<String, serde_json::Value>,
    /// The labels of the schemes that run at this point.
    pub schemes: Vec<String>,
}

/// What a study runs, and the claims about its results.
#[derive(Clone, Debug)]
pub struct Design {
    /// At least one point.
    pub points: Vec<Point>,
    /// At least one seed. Every scheme of every point runs with each seed.
    pub seeds: Vec<u64>,
    /// True if the changes under `[quick]` were made.
    pub quick: bool,
    pub claims: Vec<Claim>,
}

impl Design {
    /// All jobs in the order of the results: by point, then scheme, then seed.
    pub fn jobs(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (point, at) in self.points.iter().enumerate() {
            for scheme in 0..at.schemes.len() {
                jobs.extend(self.seeds.iter().map(|&seed| Job { point, scheme, seed }));
            }
        }
        jobs
    }

    pub fn label(&self, job: Job) -> &str {
        &self.points[job.point].schemes[job.scheme]
    }
}

/// One run to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// The index in [`Design::points`].
    pub point: usize,
    /// The index in [`Point::schemes`].
    pub scheme: usize,
    pub seed: u64,
}

/// The part of the jobs that one machine runs: every `of`-th job, beginning with job `number`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    /// The only shard of a study that one machine runs.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// Takes the jobs of this shard, without changing their order.
    pub fn select(self, jobs: Vec<Job>) -> Vec<Job> {
        jobs.into_iter().skip(self.number - 1).step_by(self.of).collect()
    }

    /// Whether the shard has all jobs of the study.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_partition_the_jobs() {
        let jobs: Vec<Job> = (1..=7).map(|seed| Job { point: 0, scheme: 0, seed }).collect();
        let seeds = |text: &str| -> Vec<u64> {
            let shard: Shard = text.parse().unwrap();
            assert_eq!(shard.to_string(), text);
            shard.select(jobs.clone()).iter().map(|job| job.seed).collect()
        };
        assert_eq!((seeds("1/3"), seeds("2/3"), seeds("3/3")), (vec![1, 4, 7], vec![2, 5], vec![3, 6]));
        assert_eq!(seeds("1/1").len(), 7);
        assert!(seeds("9/9").is_empty());
        for bad in ["0/3", "4/3", "1", "1/0", "a/b", "", "1/2/3", "-1/2"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
