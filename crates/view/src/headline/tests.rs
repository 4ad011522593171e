//! The sentences of invented results, word for word.

use serde_json::{Value, json};

use super::Headline;
use shallop_results::summary::RehearsalOfRun;
use shallop_results::{Run, Summary};

/// A mean with its interval, of three seeds.
fn estimate(mean: f64, half: f64) -> Value {
    json!({ "mean": mean, "ci95": half, "n": 3 })
}

fn long(scheme: &str, point: &Value, goodput: (f64, f64), loss: f64) -> Value {
    json!({ "scheme": scheme, "point": point, "n": 3, "metrics": {
        "goodput_bps": estimate(goodput.0, goodput.1),
        "loss_rate": estimate(loss, 0.0),
        "utilization": estimate(0.978, 0.0),
        "max_queue_bytes": estimate(200_000.0, 0.0),
    } })
}

fn finite(scheme: &str, point: &Value, p99: (f64, f64), unfinished: f64) -> Value {
    let mut tail = estimate(p99.0, p99.1);
    tail["at_least"] = (unfinished > 40.0).into();
    json!({ "scheme": scheme, "point": point, "n": 3, "metrics": {
        "goodput_bps": estimate(1e9, 0.0),
        "loss_rate": estimate(0.0, 0.0),
        "fct.all.count": estimate(4000.0, 0.0),
        "fct.all.unfinished": estimate(unfinished, 0.0),
        "fct.all.p99_s": tail,
        "fct.all.mean_s": estimate(p99.0 / 9.0, 0.0),
    } })
}

fn told(aggregates: Vec<Value>) -> Headline {
    let mut summary = serde_json::to_value(Summary::default()).unwrap();
    summary["aggregates"] = aggregates.into();
    let summary: Summary = serde_json::from_value(summary).unwrap();
    Headline::from_summary(&summary)
}

fn sentences(aggregates: Vec<Value>) -> String {
    told(aggregates).sentences.join(" ")
}

#[test]
fn the_best_and_the_worst_are_named_with_their_numbers() {
    let one = json!({});
    let two = vec![
        long("cubic", &one, (2.05e9, 1e8), 0.0461),
        long("flashpass", &one, (9.05e9, 1e7), 0.0),
    ];
    let headline = told(two);
    assert_eq!(
        headline.sentences,
        [
            "flashpass carried more: 9.05 Gb/s of new data, and lost nothing; its busiest link was 98 % used.",
            "cubic carried less: 2.05 Gb/s of new data, and lost 4.61 %."
        ]
    );
    assert_eq!((headline.caveat.as_str(), headline.figures), ("", vec!["goodput"]));
}

#[test]
fn overlapping_intervals_are_no_difference() {
    let one = json!({});
    let equal = |half: f64| {
        vec![
            long("a", &one, (9.0e9, half), 0.0),
            long("b", &one, (9.1e9, half), 0.0),
            long("c", &one, (2.0e9, half), 0.001),
        ]
    };
    assert_eq!(
        sentences(equal(0.06e9)),
        "b and a carried the most, with no difference that the seeds can tell: 9 to 9.1 Gb/s of new data, and lost \
         nothing. c carried the least: 2 Gb/s of new data, and lost 0.1 %."
    );
    assert!(sentences(equal(0.04e9)).starts_with("b carried the most: 9.1 Gb/s"));
    let same = sentences(equal(5e9));
    assert!(
        same.starts_with("b, a and c carried the same, with no difference that the seeds"),
        "{same}"
    );
    assert!(same.ends_with("a and b lost the least: nothing."), "{same}");
}

#[test]
fn one_seed_says_so_and_tells_only_what_is_more_than_a_hundredth_apart() {
    let one = json!({});
    let run = |goodput: f64| {
        let mut of = long("x", &one, (goodput, 0.0), 0.0);
        of["scheme"] = format!("s{goodput}").into();
        of["metrics"]["goodput_bps"] = json!({ "mean": goodput, "ci95": null, "n": 1 });
        of
    };
    let near = told(vec![run(1.0e9), run(1.005e9)]);
    assert!(near.sentences[0].contains("carried the same, within 1 % of each other"), "{near:?}");
    assert_eq!(near.caveat, "One seed: how far another one would differ is not known.");
    assert!(told(vec![run(1.0e9), run(1.02e9)]).sentences[0].contains("carried more"));
}

#[test]
fn who_loses_the_least_is_told_if_it_is_another_one() {
    let one = json!({});
    let text = sentences(vec![
        long("copa", &one, (9.4e8, 1e6), 0.89),
        long("gemini", &one, (7.7e8, 1e6), 0.0009),
        long("vegas", &one, (1.9e8, 1e6), 0.007),
    ]);
    assert!(
        text.ends_with("190 Mb/s of new data, and lost 0.7 %. gemini lost the least: 0.09 %."),
        "{text}"
    );
}

#[test]
fn completion_times_are_compared_where_flows_end() {
    let one = json!({});
    let headline = told(vec![
        finite("cubic", &one, (0.040, 0.001), 0.0),
        finite("flashpass", &one, (0.0012, 0.0001), 12.0),
    ]);
    assert_eq!(
        headline.sentences,
        [
            "flashpass did better: 99 % of the flows finished within 1.2 ms.",
            "cubic did worse: 99 % of the flows finished within 40 ms."
        ]
    );
    assert_eq!(
        headline.caveat,
        "Unfinished flows, which do not change these times: flashpass 36 of 12,000."
    );
    assert_eq!(headline.figures, ["fct-p99", "completion-times"]);
}

#[test]
fn a_scheme_that_leaves_flows_open_does_not_lead() {
    let one = json!({});
    let headline = told(vec![
        finite("cubic", &one, (0.040, 0.001), 0.0),
        finite("fast", &one, (0.001, 0.0001), 400.0),
    ]);
    assert_eq!(headline.sentences[0], "cubic: 99 % of the flows finished within 40 ms.");
    assert_eq!(headline.caveat, "Not compared, as flows did not finish: fast 1,200 of 12,000.");
    let none = told(vec![finite("fast", &one, (0.001, 0.0001), 400.0)]);
    assert_eq!(
        none.sentences,
        ["Completion times cannot be compared: flows did not finish (fast 1,200 of 12,000)."]
    );
}

#[test]
fn unfinished_flows_of_runs_that_stand_for_several_points_count_once() {
    let at = |mark: &str| json!({ "switch.default.mark.above": mark });
    let mut summary = serde_json::to_value(Summary::default()).unwrap();
    summary["aggregates"] = json!([
        finite("cubic", &at("20KB"), (0.040, 0.001), 12.0),
        finite("dctcp", &at("20KB"), (0.020, 0.001), 3.0),
        finite("cubic", &at("40KB"), (0.040, 0.001), 12.0),
        finite("dctcp", &at("40KB"), (0.030, 0.001), 4.0),
    ]);
    let caveat = |summary: &Value| {
        Headline::from_summary(&serde_json::from_value::<Summary>(summary.clone()).unwrap()).caveat
    };
    assert!(caveat(&summary).contains("cubic 72 of 24,000"), "{}", caveat(&summary));
    summary["reused"] = json!([{ "scheme": "cubic", "run_as": "cubic", "keys": ["switch.default.mark.above"],
        "runs": 3 }]);
    assert!(
        caveat(&summary).ends_with("cubic 36 of 12,000 and dctcp 21 of 24,000."),
        "{}",
        caveat(&summary)
    );
}

#[test]
fn a_sweep_says_where_who_leads() {
    let mut all = Vec::new();
    for (buffer, cubic) in [("20KB", 2e9), ("200KB", 5e9), ("3MB", 9.4e9)] {
        let point = json!({ "switch.default.buffer": buffer });
        all.push(long("cubic", &point, (cubic, 1e7), 0.01));
        all.push(long("flashpass", &point, (9e9, 1e7), 0.0));
    }
    assert_eq!(
        sentences(all.clone()),
        "flashpass carried more from buffer=20KB to buffer=200KB; cubic carried more at buffer=3MB. Where the \
         difference is largest, at buffer=20KB, flashpass carried 9 Gb/s and lost nothing, cubic carried 2 Gb/s and \
         lost 1 %."
    );
    all.truncate(4);
    assert!(sentences(all.clone()).starts_with("flashpass carried more at each of the 2 points."));
    all.retain(|of| of["scheme"] == "cubic");
    assert_eq!(
        sentences(all),
        "cubic: goodput was 2 Gb/s (buffer=20KB) at the least and 5 Gb/s (buffer=200KB) at the most."
    );
}

#[test]
fn points_that_are_no_line_are_counted() {
    let mut all = Vec::new();
    for (nic, cubic) in [("fair", 2e9), ("fifo", 5e9), ("other", 9.4e9), ("last", 9e9)] {
        let point = json!({ "nic": nic });
        all.push(long("cubic", &point, (cubic, 1e7), 0.01));
        all.push(long("flashpass", &point, (9e9, 1e7), 0.0));
    }
    assert!(
        sentences(all).starts_with(
            "flashpass carried more at 2 of 4 points and cubic at 1; at 1 the seeds cannot tell the best apart."
        )
    );
}

#[test]
fn no_results_say_nothing() {
    assert_eq!(told(Vec::new()), Headline::default());
}

#[test]
fn a_scheme_of_which_no_run_counts_is_named_and_nothing_is_said_of_nothing() {
    let void = |scheme: &str, seed: u64, void: &[&str]| {
        let mut run = serde_json::to_value(Run::default()).unwrap();
        run["scheme"] = scheme.into();
        run["seed"] = seed.into();
        run["rehearsal"] = serde_json::to_value(RehearsalOfRun::default()).unwrap();
        run["rehearsal"]["void"] = json!(void);
        run
    };
    let mut summary = serde_json::to_value(Summary::default()).unwrap();
    summary["points"] = json!([{ "name": "", "set": {}, "schemes": ["cubic", "bbr"] }]);
    summary["runs"] =
        vec![void("cubic", 1, &[]), void("cubic", 2, &["late"]), void("bbr", 1, &["late"])].into();
    let told =
        |summary: &Value| Headline::from_summary(&serde_json::from_value(summary.clone()).unwrap());
    let none = told(&summary);
    assert_eq!(none.sentences, ["bbr: void, no run counts (late)."]);
    summary["aggregates"] = vec![long("cubic", &json!({}), (2e9, 1e8), 0.0)].into();
    let some = told(&summary);
    assert!(some.sentences[0].starts_with("cubic carried 2 Gb/s"), "{:?}", some.sentences);
    assert_eq!(some.sentences.last(), none.sentences.last());
    assert!(some.caveat.contains("Void runs, which count nowhere: cubic 1 of 2."), "{some:?}");
    let nothing = ["a", "b"].map(|scheme| long(scheme, &json!({}), (0.0, 0.0), 0.0));
    assert_eq!(sentences(nothing.to_vec()), "a and b carried nothing.");
}
