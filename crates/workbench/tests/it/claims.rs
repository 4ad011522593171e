//! Claims of the shipped experiments: accepted ranges are no wider than the rule, and verdicts on recorded figures
//! change with planted ones.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use shallop_results::recorded::RecordedFigures;
use shallop_results::verdict::judge_recorded;
use shallop_results::{Claim, Kind, Range, RecordedClaim, Verdict};
use shallop_workbench::pages::{RecordedExperiment, recorded_experiments};
use std::path::Path;

fn all() -> Vec<RecordedExperiment> {
    recorded_experiments(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// Whether the claim's metric has one of these words in its name.
fn is_of(claim: &Claim, words: &[&str]) -> bool {
    words.iter().any(|word| claim.metric.contains(word))
}

fn is_loss(claim: &Claim) -> bool {
    is_of(claim, &["loss", "drop", "timeouts", "waste", ".above."])
}

/// The widest range by the table of docs/reproduction.md around one value in the paper.
fn around(claim: &Claim, paper: f64) -> [f64; 2] {
    match claim {
        _ if is_of(claim, &["throughput", "goodput"]) => [0.85 * paper, 1.15 * paper],
        _ if is_loss(claim) || claim.difference => [0.5 * paper, 2.0 * paper],
        _ if is_of(claim, &["jain"]) => [1.0 - 2.0 * (1.0 - paper), 1.0 - 0.5 * (1.0 - paper)],
        _ if is_of(claim, &["within_rtt", "offered."]) && claim.unit == "%" => [paper - 15.0, paper + 15.0],
        _ if claim.is_relative() => [1.0 + 2.0 * (paper - 1.0), 1.0 + 0.5 * (paper - 1.0)],
        _ => [0.75 * paper, 1.25 * paper],
    }
}

/// Why a claim accepts more than the rule does; `None` if it does not.
fn too_wide(claim: &Claim) -> Option<String> {
    let (paper, Range { low, high }) = (claim.paper.filter(|_| claim.range != Range::default())?, claim.range);
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    let is = |end: Option<f64>, value: f64| end.is_some_and(|end| near(end, value));
    let a_plot_with_zero = paper == 0.0 && claim.metric == "mean_port_drop_rate";
    let ends = match claim.paper_to {
        Some(end) => [paper, end],
        // "At most", "at least", and "up to N % less" where the paper says which scheme is better.
        None if low.is_none() && is(high, paper) || high.is_none() && is(low, paper) => return None,
        None if claim.relative_to.is_some() && is(low, paper) && is(high, 0.99) => return None,
        None if a_plot_with_zero => [0.0, 0.02],
        None => around(claim, paper),
    };
    let [least, most] = [ends[0].min(ends[1]), ends[0].max(ends[1])];
    let inside = |value: f64| value >= least - 1e-9 * least.abs() && value <= most + 1e-9 * most.abs();
    // No figure is negative but a difference.
    let open = least <= 0.0 && !claim.difference;
    let fits = low.map_or(open, |low| open || inside(low)) && high.is_some_and(inside);
    (!fits).then(|| format!("{low:?} to {high:?} instead of {least} to {most} around {paper}"))
}

#[test]
fn no_accepted_range_is_wider_than_the_rule() {
    let mut wide = Vec::new();
    for RecordedExperiment { id, study, .. } in all() {
        for claim in &study.claims {
            wide.extend(too_wide(claim).map(|why| format!("{id}, {}, {}: {why}", claim.subject(), claim.what)));
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

/// A wrong but plausible figure: no difference from the rival in a comparison; otherwise 1.5 times the paper's value,
/// and 3 times its losses. A claim of "at least" gets the paper's value divided by these factors.
fn plausible(claim: &Claim, paper: f64) -> f64 {
    let factor = if is_loss(claim) { 3.0 } else { 1.5 };
    let least_only = claim.range.high.is_none();
    match claim {
        _ if paper == 0.0 => 1.0,
        _ if claim.difference => 0.0,
        _ if claim.is_relative() && !least_only && (paper - 1.0).abs() > 0.2 => 1.0,
        _ if least_only => paper / factor,
        _ => paper * factor,
    }
}

#[test]
fn planted_figures_change_verdicts() {
    let (mut of_paper, mut judged) = (0, 0);
    let (mut missed, mut runs) = (Vec::new(), Vec::new());
    let all = all();
    for RecordedExperiment { id, study, record } in &all {
        let rows = record.iter().flat_map(|record| &record.claims);
        for claim in study.claims.iter().filter(|claim| claim.range != Range::default()) {
            runs.extend(claim.differs.iter().filter_map(|differs| differs.run.clone()));
            let row = rows.clone().find(|row| row.is_of(claim)).and_then(RecordedClaim::figures);
            let Some(verdict) = row.map(|figures| judge_recorded(claim, figures).verdict) else { continue };
            let plant = |value: f64| {
                let figures = RecordedFigures { measured: value, bound: None, min: value, max: value };
                judge_recorded(claim, figures).verdict
            };
            let ranges = [Some(claim.range), claim.differs.as_ref().map(|differs| differs.range)];
            let ends = ranges.into_iter().flatten().flat_map(|range| [range.low, range.high]).flatten();
            let wrong = |value: &f64| plant(*value) != verdict;
            let steps = ends.flat_map(|end| [end, 2.0 * end.abs() + 1.0, 0.5 * end - f64::from(claim.difference)]);
            let changed = steps.collect::<Vec<f64>>().iter().any(wrong);
            judged += 1;
            assert!(changed || claim.kind == Kind::Invariant, "{id}, {}: {}", claim.subject(), claim.what);
            let paper = claim.paper.map(|paper| claim.paper_to.map_or(paper, |end| f64::midpoint(paper, end)));
            let Some(paper) = paper.filter(|_| claim.kind == Kind::Paper && verdict != Verdict::Fails) else {
                continue;
            };
            of_paper += 1;
            let planted = plant(plausible(claim, paper));
            if planted == Verdict::Holds || planted == verdict {
                missed.push(format!("{id}, {}: {} is {}", claim.subject(), claim.what, planted.word()));
            }
        }
    }
    let (missing, missed) = (missed.len(), missed.join("\n"));
    assert!(missing * 5 <= of_paper, "of {judged} claims, {of_paper} with a value of the paper, {missing}:\n{missed}");
    let lacks = |run: &String| !all.iter().any(|one| one.id == run && one.record.is_some());
    assert!(!runs.iter().any(lacks), "{runs:?}: each has a record");
}
