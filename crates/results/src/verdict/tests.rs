//! Claims about invented runs.

use super::*;
use crate::claim::Differs;
use crate::summary::{Completion, Credit, Statistic, Window};
use crate::{claim::Kind, design::Point, judged::Bound};
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

/// A run of each job, with this throughput in Gb/s by point, label and seed.
fn runs(design: &Design, gbps: impl Fn(usize, &str, u64) -> f64) -> Vec<(Job, Run)> {
    let run = |job: Job| {
        let label = LABELS[job.scheme];
        let mut run = Run { scheme: label.to_owned(), seed: job.seed, ..Run::default() };
        run.utilization_by_place = BTreeMap::from([("here".to_owned(), 0.5)]);
        run.throughput_bps = gbps(job.point, label, job.seed) * 1e9;
        run.jain = None;
        let window = |from_s, to_s, throughput_bps| Window {
            from_s,
            to_s,
            throughput_bps,
            jain: None,
            groups: vec![],
            metered_loss: None,
        };
        run.windows = vec![window(0.0, 1.0, 1e9), window(1.0, 2.0, run.throughput_bps)];
        run.credit = (label != "cubic").then(|| Credit { loss_rate: 0.25, ..Credit::default() });
        (job, run)
    };
    design.jobs().into_iter().map(run).collect()
}

fn judged(claim: Claim, gbps: impl Fn(usize, &str, u64) -> f64) -> JudgedClaim {
    let design = design(claim);
    let runs = runs(&design, gbps);
    let runs: Vec<(Job, &Run)> = runs.iter().map(|(job, run)| (*job, run)).collect();
    judge(&design, &runs).remove(0)
}

/// The verdict, and what is shown, for figures of the two seeds at the first point.
fn check(claim: Claim, figures: [f64; 2], verdict: Verdict, shown: f64) {
    let judged = judged(claim, |point, _, seed| if point == 0 { figures[seed as usize - 1] } else { 1.0 });
    assert_eq!(judged.verdict, verdict, "{judged:?}");
    let measured = judged.measured.unwrap();
    assert!((measured - shown).abs() < 1e-9, "{measured} is not {shown}");
}

#[test]
fn each_figure_must_lie_in_the_range_and_the_tightest_is_shown() {
    check(claim(), [9.5, 9.2], Verdict::Holds, 9.2);
    check(claim(), [9.5, 9.9], Verdict::Holds, 9.9);
    check(claim(), [9.0, 10.0], Verdict::Holds, 9.0);
    check(claim(), [9.5, 8.9], Verdict::Fails, 8.9);
    check(claim(), [10.2, 8.9], Verdict::Fails, 10.2);
}

#[test]
fn a_mean_may_hide_what_each_would_not() {
    let mean = || Claim { seeds: Seeds::Mean, ..claim() };
    check(mean(), [8.0, 11.0], Verdict::Holds, 9.5);
    check(mean(), [8.0, 9.0], Verdict::Fails, 8.5);
}

#[test]
fn a_known_difference_has_a_band_of_its_own() {
    let range = Range { low: Some(6.0), high: Some(7.0) };
    let traced = Differs { range, why: "traced".to_owned(), run: Some("x-one".to_owned()) };
    let differs = || Claim { differs: Some(traced.clone()), ..claim() };
    check(differs(), [6.5, 6.2], Verdict::Differs, 6.2);
    check(differs(), [9.5, 6.2], Verdict::Differs, 6.2);
    check(differs(), [9.5, 9.4], Verdict::Holds, 9.4);
    check(differs(), [6.5, 8.0], Verdict::Fails, 8.0);
    let judged = judged(differs(), |_, _, _| 6.5);
    assert_eq!((judged.why.as_str(), judged.run.as_deref()), ("traced", Some("x-one")));
}

#[test]
fn a_claim_without_a_point_is_about_all() {
    let all = Claim { point: None, ..claim() };
    let at = |point: usize, _: &str, _| if point == 0 { 9.5 } else { 3.0 };
    assert_eq!(judged(claim(), at).verdict, Verdict::Holds);
    let all = judged(all, at);
    assert_eq!((all.verdict, all.measured_min, all.measured_max), (Verdict::Fails, Some(3.0), Some(9.5)));
}

#[test]
fn a_difference_is_in_the_unit_and_to_another_point_if_one_is_named() {
    let gbps = |point: usize, label: &str, seed| {
        10.0 * point as f64 + seed as f64 + if label == "cubic" { 100.0 } else { 0.0 }
    };
    let at = |relative_to: Option<&str>, difference, figure| Claim {
        relative_to: relative_to.map(str::to_owned),
        relative_point: Some("high".to_owned()),
        difference,
        range: Range { low: Some(figure), high: Some(figure) },
        seeds: Seeds::Mean,
        ..claim()
    };
    assert_eq!(judged(at(None, true, -10.0), gbps).verdict, Verdict::Holds);
    assert_eq!(judged(at(Some("cubic"), true, -110.0), gbps).verdict, Verdict::Holds);
    let ratio = f64::midpoint(1.0 / 11.0, 2.0 / 12.0);
    let found = judged(at(None, false, ratio), gbps).measured.unwrap();
    assert!((found - ratio).abs() < 1e-12, "{found}");
    let nowhere = Claim { relative_point: Some("left out".to_owned()), ..at(None, true, 0.0) };
    assert_eq!(judged(nowhere, gbps).verdict, Verdict::NotRun);
}

#[test]
fn a_ratio_is_to_the_same_point_and_seed() {
    let relative =
        || Claim { relative_to: Some("cubic".to_owned()), range: Range { low: Some(2.0), high: Some(2.0) }, ..claim() };
    let gbps = |point: usize, label: &str, seed| {
        let base = point as f64 + seed as f64;
        if label == "cubic" { base } else { 2.0 * base }
    };
    assert_eq!(judged(relative(), gbps).verdict, Verdict::Holds);
    let zero = |_: usize, label: &str, _| f64::from(u8::from(label != "cubic"));
    let none = judged(relative(), zero);
    assert_eq!((none.verdict, none.measured), (Verdict::Fails, None));
    assert!(none.why.contains("divided by zero"), "{}", none.why);
}

#[test]
fn a_rank_is_among_all_schemes_of_the_same_point_and_seed() {
    let of_rank = |rank| Claim {
        relative_rank: Some(rank),
        range: Range { low: None, high: Some(1.0) },
        seeds: Seeds::Mean,
        ..claim()
    };
    // flashpass has 3, cubic 2, expresspass 6; at the other point it is the best.
    let gbps = |point: usize, label: &str, _| match label {
        "cubic" => 2.0,
        "expresspass" => 6.0,
        _ => 3.0 - 2.0 * point as f64,
    };
    for (rank, verdict, shown) in [(1, Verdict::Fails, 1.5), (2, Verdict::Holds, 1.0), (3, Verdict::Holds, 0.5)] {
        let found = judged(of_rank(rank), gbps);
        assert_eq!((found.verdict, found.measured), (verdict, Some(shown)));
        assert_eq!(found.subject, format!("flashpass against number {rank} of all, low"));
        assert_eq!(found.metric, format!("throughput_bps / throughput_bps, number {rank} of all"));
    }
    let high = Claim { point: Some("high".to_owned()), ..of_rank(2) };
    assert_eq!(judged(high, gbps).measured, Some(0.5));
}

#[test]
fn a_ratio_may_be_to_another_field_of_the_same_run() {
    let claim = Claim {
        relative_metric: Some("wire_bps".to_owned()),
        range: Range { low: Some(0.5), high: Some(0.5) },
        ..claim()
    };
    let design = design(claim);
    let mut runs = runs(&design, |_, _, seed| seed as f64);
    for (_, run) in &mut runs {
        run.wire_bps = run.throughput_bps * 2.0;
    }
    let runs: Vec<(Job, &Run)> = runs.iter().map(|(job, run)| (*job, run)).collect();
    let judged = judge(&design, &runs).remove(0);
    assert_eq!((judged.verdict, judged.measured), (Verdict::Holds, Some(0.5)));
}

#[test]
fn fields_are_found_by_their_path_and_window() {
    let loss = Claim {
        metric: "credit.loss_rate".to_owned(),
        scale: 0.01,
        range: Range { low: None, high: Some(25.0) },
        ..claim()
    };
    assert_eq!(judged(loss.clone(), |_, _, _| 1.0).verdict, Verdict::Holds);
    let window = |to| Claim { window: Some((1.0, to)), ..claim() };
    assert_eq!(judged(window(2.0), |_, _, _| 9.5).measured, Some(9.5));
    for (claim, why) in [
        (window(3.0), "the run has no window from 1 s to 3 s"),
        (Claim { metric: "jain".to_owned(), ..claim() }, "jain does not apply here"),
        (Claim { scheme: "cubic".to_owned(), ..loss }, "credit.loss_rate does not apply here"),
        (Claim { metric: "through".to_owned(), ..claim() }, "a run has no number through"),
        (Claim { metric: "drops".to_owned(), ..claim() }, "a run has no number drops"),
        (Claim { metric: "loss_by_place.heer".to_owned(), ..claim() }, "a run has no number loss_by_place.heer"),
    ] {
        let judged = judged(claim, |_, _, _| 9.5);
        assert_eq!((judged.verdict, judged.why.as_str()), (Verdict::Fails, why));
    }
    let place = Claim { metric: "loss_by_place.here".to_owned(), ..claim() };
    let judged = judged(Claim { range: Range { low: None, high: Some(0.0) }, ..place }, |_, _, _| 9.5);
    assert_eq!((judged.verdict, judged.measured), (Verdict::Holds, Some(0.0)));
}

#[test]
fn what_was_not_run_is_not_judged() {
    let mut design = design(claim());
    let runs = runs(&design, |_, _, _| 9.5);
    let some: Vec<(Job, &Run)> = runs.iter().skip(5).map(|(job, run)| (*job, run)).collect();
    assert_eq!(judge(&design, &some)[0].verdict, Verdict::NotRun);
    assert_eq!(judge(&design, &some)[0].why, "not all of its runs ended");
    design.claims[0].full_only = true;
    design.quick = true;
    assert_eq!(judge(&design, &[])[0].why, "judged in the full run only");
    design.claims[0] = Claim { scheme: "bbr".to_owned(), ..claim() };
    assert_eq!(judge(&design, &[])[0].verdict, Verdict::NotRun);
}

#[test]
fn a_claim_without_a_range_is_reported() {
    let open = Claim { range: Range::default(), paper: None, ..claim() };
    let judged = judged(open, |_, _, seed| seed as f64);
    assert_eq!((judged.verdict, judged.measured), (Verdict::Reported, Some(1.5)));
    assert_eq!(judged.why, "no paper value");
}

/// A claim on the 99th percentile of completion times, in ms.
fn tail(range: Range) -> Claim {
    let (metric, unit) = ("fct.all.p99_s".to_owned(), "ms".to_owned());
    Claim { metric, scale: 1e-3, unit, range, ..claim() }
}

/// The verdict on a claim if the percentile of a scheme is so many milliseconds at least, with the other schemes' at
/// exactly 4 ms.
fn judged_tail(claim: Claim, unfinished: &[&str], at_least_ms: f64) -> JudgedClaim {
    let design = design(claim);
    let mut runs = runs(&design, |_, _, _| 1.0);
    for (job, run) in &mut runs {
        let open = unfinished.contains(&design.label(*job));
        run.fct.all = Some(Completion {
            count: 41,
            unfinished: if open { 28 } else { 0 },
            p99_s: Some(if open { at_least_ms * 1e-3 } else { 4e-3 }),
            lower_bounds: if open { vec![Statistic::P99S] } else { vec![] },
            ..Completion::default()
        });
    }
    let runs: Vec<(Job, &Run)> = runs.iter().map(|(job, run)| (*job, run)).collect();
    judge(&design, &runs).remove(0)
}

#[test]
fn no_claim_holds_because_of_flows_that_did_not_finish() {
    let range = |low, high| Range { low, high };
    let verdict = |range, at_least_ms| judged_tail(tail(range), &["flashpass"], at_least_ms).verdict;
    // A lower bound of 5 ms says that 8 ms at most is possible, not that it is so.
    assert_eq!(verdict(range(None, Some(8.0)), 5.0), Verdict::Undecided);
    assert_eq!(verdict(range(Some(3.0), Some(8.0)), 5.0), Verdict::Undecided);
    assert_eq!(verdict(range(None, Some(8.0)), 9.0), Verdict::Fails);
    assert_eq!(verdict(range(Some(6.0), None), 5.0), Verdict::Undecided);
    // Whatever the flows still do, 6 ms at least is so.
    assert_eq!(verdict(range(Some(6.0), None), 7.0), Verdict::Holds);
    let complete = judged_tail(tail(range(None, Some(8.0))), &[], 0.0);
    assert_eq!((complete.verdict, complete.bound), (Verdict::Holds, None));
    let open = judged_tail(tail(range(None, Some(8.0))), &["flashpass"], 5.0);
    assert_eq!((open.bound, open.measured), (Some(Bound::AtLeast), Some(5.0)));
    assert!(open.why.contains("did not finish"), "{}", open.why);
}

#[test]
fn a_band_of_a_known_difference_does_not_decide_a_lower_bound_either() {
    let known = |range: Range, band: Range| Claim {
        differs: Some(Differs { range: band, why: "traced".to_owned(), run: None }),
        ..tail(range)
    };
    let (up_to_2, from_5) = (Range { low: None, high: Some(2.0) }, Range { low: Some(5.0), high: None });
    let found = judged_tail(known(up_to_2, from_5), &["flashpass"], 6.0);
    assert_eq!(found.verdict, Verdict::Differs);
    let band = Range { low: Some(5.0), high: Some(9.0) };
    let found = judged_tail(known(up_to_2, band), &["flashpass"], 6.0);
    assert_eq!(found.verdict, Verdict::Undecided);
    let found = judged_tail(known(up_to_2, band), &["flashpass"], 9.5);
    assert_eq!(found.verdict, Verdict::Fails);
}

#[test]
fn a_comparison_with_flows_that_did_not_finish_is_an_upper_bound() {
    let to_cubic = |range| Claim { relative_to: Some("cubic".to_owned()), ..tail(range) };
    let up_to = |high| Range { low: None, high: Some(high) };
    // 4 ms to at least 8 ms: at most a half.
    let found = judged_tail(to_cubic(up_to(0.6)), &["cubic"], 8.0);
    assert_eq!((found.verdict, found.bound), (Verdict::Holds, Some(Bound::AtMost)));
    let found = judged_tail(to_cubic(Range { low: Some(0.4), high: None }), &["cubic"], 8.0);
    assert_eq!(found.verdict, Verdict::Undecided);
    assert!(found.why.contains("compared with"), "{}", found.why);
    let found = judged_tail(to_cubic(up_to(1.5)), &["cubic", "flashpass"], 8.0);
    assert_eq!((found.verdict, found.bound), (Verdict::Undecided, Some(Bound::Open)));
}

#[test]
fn a_recorded_bound_is_judged_as_one() {
    let recorded = |bound| RecordedFigures { measured: 5.0, bound, min: 5.0, max: 5.0 };
    let claim = tail(Range { low: None, high: Some(8.0) });
    let judged = |bound| judge_recorded(&claim, recorded(bound)).verdict;
    assert_eq!(judged(None), Verdict::Holds);
    assert_eq!(judged(Some(Bound::AtLeast)), Verdict::Undecided);
}
