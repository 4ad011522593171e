//! Claims about invented runs; most are in `cases.toml`.

use super::*;
use crate::claim::Differs;
use crate::summary::{Completion, Credit, Statistic, Window};
use crate::{claim::Kind, design::Point, judged::Bound};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const LABELS: [&str; 3] = ["cubic", "expresspass", "flashpass"];

/// Two points, each with a run of each transport for each of two seeds.
fn design(claim: Claim) -> Design {
    let point =
        |name: &str| Point { name: name.to_owned(), set: BTreeMap::new(), schemes: LABELS.map(str::to_owned).to_vec() };
    Design { quick: false, points: vec![point("low"), point("high")], seeds: vec![1, 2], claims: vec![claim] }
}

/// A claim on the throughput of flashpass at the first point, in Gb/s, of 9 to 10.
fn claim() -> Claim {
    Claim {
        what: "throughput".to_owned(),
        kind: Kind::Paper,
        scheme: "flashpass".to_owned(),
        point: Some("low".to_owned()),
        metric: "throughput_bps".to_owned(),
        window: None,
        relative_to: None,
        relative_point: None,
        relative_metric: None,
        relative_rank: None,
        difference: false,
        scale: 1e9,
        unit: "Gb/s".to_owned(),
        seeds: Seeds::Each,
        paper: Some(9.1),
        paper_to: None,
        source: "6.1".to_owned(),
        range: Range { low: Some(9.0), high: Some(10.0) },
        differs: None,
        full_only: false,
    }
}

/// A claim on the 99th percentile of completion times, in ms.
fn tail(range: Range) -> Claim {
    let (metric, unit) = ("fct.all.p99_s".to_owned(), "ms".to_owned());
    Claim { metric, scale: 1e-3, unit, range, ..claim() }
}

/// The claim of a case.
fn changed(case: &Value) -> Claim {
    let mut claim = if case.get("unfinished").is_some() { tail(Range::default()) } else { claim() };
    for (key, value) in case.get("claim").and_then(Value::as_object).into_iter().flatten() {
        let text = || value.as_str().unwrap().to_owned();
        let numbers = || serde_json::from_value::<Vec<f64>>(value.clone()).unwrap();
        match key.as_str() {
            "scheme" => claim.scheme = text(),
            "point" => claim.point = Some(text()).filter(|name| !name.is_empty()),
            "metric" => claim.metric = text(),
            "window" => claim.window = Some((numbers()[0], numbers()[1])),
            "relative_to" => claim.relative_to = Some(text()),
            "relative_point" => claim.relative_point = Some(text()),
            "relative_metric" => claim.relative_metric = Some(text()),
            "relative_rank" => claim.relative_rank = value.as_u64().map(|rank| rank as usize),
            "difference" => claim.difference = true,
            "scale" => claim.scale = value.as_f64().unwrap(),
            "seeds" => claim.seeds = serde_json::from_value(value.clone()).unwrap(),
            "open" => (claim.range, claim.paper) = (Range::default(), None),
            "low" | "high" => {
                let bound = |key: &str| case["claim"].get(key).and_then(Value::as_f64);
                claim.range = Range { low: bound("low"), high: bound("high") };
            }
            "differs" => {
                let range = Range { low: numbers().first().copied(), high: numbers().get(1).copied() };
                claim.differs = Some(Differs { range, why: "traced".to_owned(), run: Some("x-one".to_owned()) });
            }
            _ => panic!("unknown key {key} in {}", case["name"]),
        }
    }
    claim
}

/// The run of a job in a case.
fn run(case: &Value, job: Job) -> Run {
    let label = LABELS[job.scheme];
    let mut run = Run { scheme: label.to_owned(), seed: job.seed, ..Run::default() };
    run.utilization_by_place = BTreeMap::from([("here".to_owned(), 0.5)]);
    let point = &case[["low", "high"][job.point]];
    let seeds = point.get(label).or(point.get("all"));
    run.throughput_bps = seeds.map_or(1.0, |seeds| seeds[job.seed as usize - 1].as_f64().unwrap()) * 1e9;
    run.wire_bps = 2.0 * run.throughput_bps;
    let window = |from_s, throughput_bps| Window { from_s, to_s: from_s + 1.0, throughput_bps, ..Window::default() };
    run.windows = vec![window(0.0, 1e9), window(1.0, run.throughput_bps)];
    run.credit = (label != "cubic").then(|| Credit { loss_rate: 0.25, ..Credit::default() });
    run.fct.all = case.get("unfinished").map(|unfinished| {
        let open = unfinished.as_array().unwrap().contains(&json!(label));
        let tail = if open { case["at_least_ms"].as_f64().unwrap() } else { 4.0 };
        let lower_bounds = if open { vec![Statistic::P99S] } else { vec![] };
        let (unfinished, p99_s) = (if open { 28 } else { 0 }, Some(tail * 1e-3));
        Completion { count: 41, unfinished, p99_s, lower_bounds, ..Completion::default() }
    });
    run
}

fn judged(design: &Design, case: &Value, skip: usize) -> JudgedClaim {
    let runs: Vec<(Job, Run)> = design.jobs().into_iter().map(|job| (job, run(case, job))).skip(skip).collect();
    judge(design, &runs.iter().map(|(job, run)| (*job, run)).collect::<Vec<_>>()).remove(0)
}

#[test]
fn claims_about_invented_runs_are_judged_as_the_table_says() {
    let cases: Value = toml::from_str(include_str!("cases.toml")).unwrap();
    for case in cases["case"].as_array().unwrap() {
        let known = ["name", "claim", "low", "high", "unfinished", "at_least_ms", "judged"];
        assert!(case.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{case}");
        let found = serde_json::to_value(judged(&design(changed(case)), case, 0)).unwrap();
        for (key, expected) in case["judged"].as_object().unwrap() {
            let field = &found[key.strip_suffix("_has").unwrap_or(key)];
            let is_right = match (field.as_f64(), expected.as_f64()) {
                (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
                _ if expected == "none" => field.is_null(),
                _ if key.ends_with("_has") => field.as_str().unwrap().contains(expected.as_str().unwrap()),
                _ => field == expected,
            };
            assert!(is_right, "{}: {key} is {field}, not {expected}: {found:#}", case["name"]);
        }
    }
}

#[test]
fn what_was_not_run_is_not_judged() {
    let (mut design, case) = (design(claim()), json!({}));
    assert_eq!(judged(&design, &case, 5).verdict, Verdict::NotRun);
    assert_eq!(judged(&design, &case, 5).why, "not all of its runs ended");
    design.claims[0].full_only = true;
    design.quick = true;
    assert_eq!(judge(&design, &[])[0].why, "judged in the full run only");
    design.claims[0] = Claim { scheme: "bbr".to_owned(), ..claim() };
    assert_eq!(judge(&design, &[])[0].verdict, Verdict::NotRun);
}

#[test]
fn a_recorded_bound_is_judged_as_one() {
    let recorded = |bound| RecordedFigures { measured: 5.0, bound, min: 5.0, max: 5.0 };
    let claim = tail(Range { low: None, high: Some(8.0) });
    let judged = |bound| judge_recorded(&claim, recorded(bound)).verdict;
    assert_eq!(judged(None), Verdict::Holds);
    assert_eq!(judged(Some(Bound::AtLeast)), Verdict::Undecided);
}
