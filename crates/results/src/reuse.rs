//! Runs that stand for several points: a run is made once for all points that differ only in keys which do not change
//! it.

use crate::design::{Design, Job};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Runs of a scheme that were not made, since equal runs were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reuse {
    /// The label of the scheme whose runs were not made.
    pub scheme: String,
    /// The label of the scheme that was run instead: this scheme at another point, or one with equal settings.
    pub run_as: String,
    /// The keys that differ between the points of the equal runs, and change neither.
    pub keys: Vec<String>,
    /// The number of runs that were not made.
    #[schemars(extend("unit" = "runs"))]
    pub runs: u64,
}

/// Finds the runs that need not be made, by scheme. Equal runs have equal identities `I`.
pub fn reused<I: Ord>(design: &Design, runs: &[(Job, I)]) -> Vec<Reuse> {
    let mut made: BTreeMap<&I, Job> = BTreeMap::new();
    let mut found: IndexMap<(&str, &str), Reuse> = IndexMap::new();
    for (job, identity) in runs {
        let first = *made.entry(identity).or_insert(*job);
        if first == *job {
            continue;
        }
        let (scheme, run_as) = (design.label(*job), design.label(first));
        let new = || Reuse { scheme: scheme.to_owned(), run_as: run_as.to_owned(), ..Reuse::default() };
        let reuse = found.entry((scheme, run_as)).or_insert_with(new);
        let (one, other) = (&design.points[first.point].set, &design.points[job.point].set);
        let differ = one.keys().chain(other.keys()).filter(|key| one.get(*key) != other.get(*key));
        for key in differ {
            if !reuse.keys.contains(key) {
                reuse.keys.push(key.clone());
            }
        }
        reuse.runs += 1;
    }
    found.into_values().collect()
}

impl Reuse {
    /// A note for the user: how many runs were reused, and why.
    pub fn line(&self) -> String {
        let Self { scheme, run_as, keys, runs } = self;
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        let runs = if *runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") };
        let (keys, verb) = (keys.join(", "), if keys.len() == 1 { "does" } else { "do" });
        match (scheme == run_as, keys.is_empty()) {
            (true, _) => format!("{runs} reused: {keys} {verb} not change {scheme}."),
            (false, true) => format!("{runs} reused: {scheme} is {run_as} by another name."),
            (false, false) => {
                format!("{runs} reused: {scheme} is {run_as}, which {keys} {verb} not change.")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Point;
    use std::collections::BTreeSet;

    fn design() -> Design {
        let point = |mark: u64, senders: u64| Point {
            name: format!("{mark}, {senders}"),
            set: [("mark".to_owned(), mark.into()), ("senders".to_owned(), senders.into())].into(),
            schemes: ["cubic", "dctcp", "again"].map(str::to_owned).to_vec(),
        };
        let points = vec![point(1, 2), point(9, 2), point(1, 3), point(9, 3)];
        Design { points, seeds: vec![1, 2], quick: false, claims: vec![] }
    }

    #[test]
    fn keys_that_do_not_change_a_scheme_are_named() {
        let design = design();
        // CUBIC, and its copy, do not depend on marks; DCTCP does.
        let identity = |job: &Job| match (job.scheme, job.point) {
            (1, point) => format!("dctcp {point} {}", job.seed),
            (_, point) => format!("cubic {} {}", point / 2, job.seed),
        };
        let runs: Vec<(Job, String)> = design.jobs().into_iter().map(|job| (job, identity(&job))).collect();
        let found = reused(&design, &runs);
        let lines: Vec<String> = found.iter().map(Reuse::line).collect();
        assert_eq!(
            lines,
            [
                "8 runs reused: again is cubic, which `mark` does not change.",
                "4 runs reused: `mark` does not change cubic.",
            ]
        );
        let all: u64 = found.iter().map(|reuse| reuse.runs).sum();
        let different: BTreeSet<&String> = runs.iter().map(|(_, identity)| identity).collect();
        assert_eq!(all as usize, runs.len() - different.len());
    }

    #[test]
    fn nothing_is_said_if_every_run_was_made() {
        let design = design();
        let runs: Vec<(Job, usize)> = design.jobs().into_iter().zip(0..).collect();
        assert_eq!(reused(&design, &runs), []);
    }
}
