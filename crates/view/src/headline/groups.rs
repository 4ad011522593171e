//! A clause for each group of a workload that has several.

use super::standings::{Standings, topic};
use super::wording::quoted;
use super::{one_point, sweep};
use crate::comparison::Comparison;
use indexmap::IndexSet;
use shallop_results::metrics;
use shallop_results::{Aggregate, Run, Summary};
use std::collections::BTreeMap;

/// The most groups with a clause; others are counted.
const MAX_GROUPS: usize = 4;
pub(super) fn names(summary: &Summary) -> Vec<&str> {
    let all = summary.runs.iter().flat_map(|run| &run.groups).map(|group| group.name.as_str());
    all.collect::<IndexSet<_>>().into_iter().collect()
}

/// A text for each group of these results; none for a single group. A group is left out if the sentences on all flows
/// (`told`) already say everything that its own would say.
pub(super) fn clauses(summary: &Summary, groups: &[&str], told: &[String]) -> Vec<String> {
    if groups.len() < 2 {
        return Vec::new();
    }
    let of_group = |group: &&str| {
        let sentences = sentences(&of_group(summary, group))?;
        let is_told = sentences.iter().all(|sentence| told.contains(sentence));
        (!is_told).then(|| format!("Group {}: {}", quoted(group), sentences.join(" ")))
    };
    let mut clauses: Vec<String> = groups.iter().take(MAX_GROUPS).filter_map(of_group).collect();
    if groups.len() > MAX_GROUPS {
        clauses.push(format!("{} more groups are in the table of groups.", groups.len() - MAX_GROUPS));
    }
    clauses
}

fn of_group(summary: &Summary, name: &str) -> Summary {
    let is_alone = summary.runs.iter().all(|run| run.scheme == summary.runs[0].scheme);
    let run = |run: &Run| {
        let group = run.groups.iter().find(|group| group.name == name)?;
        // A scheme that is compared with others stands for the group, whatever its transport.
        let scheme = if is_alone && !group.transport.is_empty() { &group.transport } else { &run.scheme };
        Some(Run { scheme: scheme.clone(), seed: run.seed, point: run.point.clone(), ..group.as_run() })
    };
    let runs = summary.runs.iter().filter(|run| !run.is_void());
    let runs: Vec<Run> = runs.filter_map(run).collect();
    let same = runs.chunk_by(|a, b| a.scheme == b.scheme && a.point == b.point);
    let aggregates = same.map(|runs| {
        let all: Vec<&Run> = runs.iter().collect();
        let (scheme, point) = (runs[0].scheme.clone(), runs[0].point.clone());
        let mut metrics: BTreeMap<_, _> = metrics::estimates(&all);
        // A queue holds packets of all groups.
        metrics.remove(metrics::MAX_QUEUE.path);
        Aggregate { scheme, point, n: runs.len() as u64, metrics }
    });
    let aggregates = aggregates.collect();
    let (points, reused) = (summary.points.clone(), summary.reused.clone());
    Summary { runs, aggregates, points, reused, ..Summary::default() }
}

fn sentences(of_group: &Summary) -> Option<Vec<String>> {
    let comparison = Comparison::from_summary(of_group);
    let standings = Standings::new(of_group, &comparison, topic(of_group)?, true);
    let mut sentences = if standings.entries.is_empty() {
        vec![standings.nothing_to_compare()]
    } else if comparison.points.len() > 1 {
        sweep::of_group(&standings)
    } else {
        one_point::order(&standings)
    };
    let unfinished = standings.unfinished();
    sentences.extend((!unfinished.is_empty()).then_some(unfinished));
    Some(sentences)
}
