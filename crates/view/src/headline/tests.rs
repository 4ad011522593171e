//! The sentences of invented results, word for word.

use super::Headline;
use serde_json::{Value, json};
use shallop_results::aggregate::aggregate;
use shallop_results::summary::{Completion, Fct, Group, RehearsalOfRun, Statistic};
use shallop_results::{Job, Point, Reuse, Run, Summary};

fn long(scheme: &str, goodput: f64, loss: f64) -> Run {
    Run {
        scheme: scheme.to_owned(),
        goodput_bps: goodput,
        loss_rate: loss,
        utilization: 0.978,
        max_queue_bytes: 200_000,
        jain: Some(0.95),
        ..Run::default()
    }
}

/// Completion times of 4,000 flows.
fn times(p99: f64, unfinished: u64) -> Fct {
    let lower_bounds = if unfinished > 40 { vec![Statistic::P99S] } else { Vec::new() };
    let all = Completion {
        count: 4000,
        unfinished,
        p99_s: Some(p99),
        mean_s: Some(p99 / 9.0),
        lower_bounds,
        ..Completion::default()
    };
    Fct { all: Some(all), ..Fct::default() }
}

fn finite(scheme: &str, p99: f64, unfinished: u64) -> Run {
    Run { fct: times(p99, unfinished), ..long(scheme, 1e9, 0.0) }
}

/// Three seeds of a run, of which each is larger by `step`, a fraction.
fn seeds(run: &Run, step: f64) -> Vec<Run> {
    by_seed(run, &[1.0 - step, 1.0, 1.0 + step])
}

fn by_seed(run: &Run, factors: &[f64]) -> Vec<Run> {
    let one = |(index, factor): (usize, &f64)| {
        let mut run = Run { seed: index as u64 + 1, ..run.clone() };
        run.goodput_bps *= factor;
        let groups = run.groups.iter_mut().map(|group| &mut group.fct);
        for all in groups.chain([&mut run.fct]).filter_map(|fct| fct.all.as_mut()) {
            all.p99_s = all.p99_s.map(|p99| p99 * factor);
        }
        run
    };
    factors.iter().enumerate().map(one).collect()
}

fn at(runs: Vec<Run>, key: &str, value: impl Into<Value>) -> Vec<Run> {
    let point = [(key.to_owned(), value.into())];
    runs.into_iter().map(|run| Run { point: point.clone().into(), ..run }).collect()
}

fn summary(runs: Vec<Vec<Run>>) -> Summary {
    let runs: Vec<Run> = runs.into_iter().flatten().collect();
    let mut points: Vec<Point> = Vec::new();
    for run in &runs {
        if !points.iter().any(|point| point.set == run.point) {
            let words = run.point.iter().map(|(key, value)| format!("{key}={value}"));
            let name = words.collect::<Vec<_>>().join(", ").replace('"', "");
            points.push(Point { name, set: run.point.clone(), ..Point::default() });
        }
    }
    let mut jobs = Vec::new();
    for (scheme, same) in runs.chunk_by(|a, b| a.scheme == b.scheme && a.point == b.point).enumerate() {
        jobs.extend(same.iter().map(|run| (Job { point: 0, scheme, seed: run.seed }, run)));
    }
    let aggregates = aggregate(&jobs);
    Summary { runs, points, aggregates, ..Summary::default() }
}

fn told(runs: Vec<Vec<Run>>) -> Headline {
    Headline::from_summary(&summary(runs))
}

fn sentences(runs: Vec<Vec<Run>>) -> String {
    told(runs).sentences.join(" ")
}

#[test]
fn the_best_and_the_worst_are_named_with_their_numbers() {
    let headline =
        told(vec![seeds(&long("cubic", 2.05e9, 0.0461), 0.03), seeds(&long("flashpass", 9.05e9, 0.0), 0.001)]);
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
fn an_interval_that_holds_zero_is_no_equality() {
    let three = |factors: &[f64]| {
        vec![
            by_seed(&long("a", 9.0e9, 0.0), &[1.0; 3]),
            by_seed(&long("b", 9.1e9, 0.0), factors),
            by_seed(&long("c", 2.0e9, 0.001), &[1.0; 3]),
        ]
    };
    assert_eq!(
        sentences(three(&[1.0, 1.001, 0.999])),
        "b and a carried the most, within 5 % of each other: 9 to 9.1 Gb/s of new data, and lost \
         nothing. c carried the least: 2 Gb/s of new data, and lost 0.1 %."
    );
    assert_eq!(
        sentences(three(&[0.8, 1.0, 1.2])),
        "Of the schemes that 3 seeds tell apart, b carried more: 9.1 Gb/s of new data, and lost nothing; its busiest \
         link was 98 % used; c carried less: 2 Gb/s of new data, and lost 0.1 %. Not decided: a 9 Gb/s over 3 seeds; \
         about 108 seeds would do."
    );
    assert_eq!(
        sentences(three(&[0.1, 1.0, 3.0])),
        "Not decided: b 0.91 to 27.3 Gb/s, a 9 Gb/s and c 2 Gb/s over 3 seeds; no number of seeds up to 1000 is \
         likely to do."
    );
}

#[test]
fn the_seeds_of_a_tutorial_decide_what_they_show_and_no_more() {
    // BBR's mean is the worst by far, and one of its seeds as good as ExpressPass.
    let text = sentences(vec![
        by_seed(&finite("cubic", 0.117, 0), &[0.95, 1.0, 1.05]),
        by_seed(&finite("bbr", 1.0, 0), &[0.05, 2.3, 4.96]),
        by_seed(&finite("expresspass", 0.049, 0), &[0.97, 1.0, 1.03]),
        by_seed(&finite("flashpass", 0.0784, 0), &[1.02, 1.0, 0.98]),
    ]);
    assert_eq!(
        text,
        "Of the schemes that 3 seeds tell apart, expresspass did best: 99 % of the flows finished within 49 ms; cubic \
         did worst: 99 % of the flows finished within 117 ms. Not decided: bbr \
         0.05 to 4.96 s over 3 seeds; about 8 seeds would do."
    );
}

#[test]
fn schemes_that_are_worse_in_an_unknown_order_are_listed_with_their_means() {
    let text = sentences(vec![
        by_seed(&finite("a", 0.001, 0), &[1.0; 3]),
        by_seed(&finite("b, slow", 0.1, 0), &[0.5, 1.0, 1.5]),
        by_seed(&finite("c", 0.11, 0), &[1.0, 0.6, 1.4]),
    ]);
    assert!(
        text.ends_with("Worse, in an order that the seeds do not tell: \"b, slow\" 100 ms and c 110 ms."),
        "{text}"
    );
}

#[test]
fn few_seeds_give_estimates_that_are_marked_as_such() {
    let run = |goodput: f64| vec![long(&format!("s{goodput}"), goodput, 0.0)];
    let near = told(vec![run(1.0e9), run(1.04e9)]);
    assert_eq!(
        near.sentences,
        ["By one seed, which decides nothing, s1040000000 and s1000000000 are within 5 % of each other: 1 to 1.04 \
          Gb/s of new data, and lost nothing."]
    );
    assert_eq!(near.caveat, "How far another seed would differ is not known; three or more can decide.");
    let two = by_seed(&long("a", 1e9, 0.0), &[1.0; 2]);
    assert_eq!(
        sentences(vec![two, by_seed(&long("b", 2e9, 0.1), &[1.0; 2])]),
        "By two seeds, which decide nothing, b carried more: 2 Gb/s of new data, and lost 10 %; a carried less: 1 Gb/s \
         of new data, and lost nothing. But b lost 10 % of its data packets (a: nothing)."
    );
}

#[test]
fn the_price_of_a_lead_is_told_with_it() {
    let fair = |jain: f64, run: Run| Run { jain: Some(jain), ..run };
    let text = sentences(vec![
        seeds(&fair(0.47, long("copa", 9.28e8, 0.708)), 0.001),
        seeds(&fair(0.99, long("gemini", 7.7e8, 0.0009)), 0.001),
        seeds(&fair(0.99, long("vegas", 1.9e8, 0.007)), 0.001),
    ]);
    assert!(
        text.ends_with(
            "But copa lost 70.8 % of its data packets (gemini: 0.09 %), and shared the link unfairly: Jain's index \
             0.47 (vegas: 0.99). gemini lost the least: 0.09 %."
        ),
        "{text}"
    );
}

#[test]
fn completion_times_are_compared_where_flows_end() {
    let headline = told(vec![seeds(&finite("cubic", 0.040, 0), 0.02), seeds(&finite("flashpass", 0.0012, 12), 0.02)]);
    assert_eq!(
        headline.sentences,
        [
            "flashpass did better: 99 % of the flows finished within 1.2 ms.",
            "cubic did worse: 99 % of the flows finished within 40 ms."
        ]
    );
    assert_eq!(
        headline.caveat,
        "Compared, as too few flows did not finish to change these times: flashpass 36 of 12,000."
    );
    assert_eq!(headline.figures, ["fct-p99", "completion-times"]);
}

#[test]
fn a_scheme_that_leaves_flows_open_does_not_lead() {
    let fast = || seeds(&finite("fast", 0.001, 400), 0.1);
    let headline = told(vec![seeds(&finite("cubic", 0.040, 0), 0.02), fast()]);
    assert_eq!(headline.sentences[0], "cubic: 99 % of the flows finished within 40 ms.");
    assert_eq!(headline.caveat, "Not compared, as flows did not finish: fast 1,200 of 12,000.");
    assert_eq!(
        told(vec![fast()]).sentences,
        ["Completion times cannot be compared: flows did not finish (fast 1,200 of 12,000)."]
    );
}

#[test]
fn each_group_of_a_workload_has_its_clause() {
    let run = |scheme: &str, people: f64, copies: f64| {
        let group = |name: &str, p99: f64| Group { name: name.to_owned(), fct: times(p99, 0), ..Group::default() };
        let groups = vec![group("people", people), group("night copies", copies)];
        seeds(&Run { groups, ..finite(scheme, people, 0) }, 0.01)
    };
    assert_eq!(
        told(vec![run("cubic", 0.144, 1.0), run("dctcp", 0.2, 0.3)]).sentences,
        [
            "cubic did better: 99 % of the flows finished within 144 ms.",
            "dctcp did worse: 99 % of the flows finished within 200 ms.",
            "Group \"night copies\": dctcp did better: 99 % of the flows finished within 300 ms. cubic did worse: 99 % \
             of the flows finished within 1 s.",
        ],
        "people are told already"
    );
}

#[test]
fn unfinished_flows_of_runs_that_stand_for_several_points_count_once() {
    let point = |runs: Vec<Run>, mark: &str| at(runs, "switch.default.mark.above", mark);
    let cubic = || seeds(&finite("cubic", 0.040, 12), 0.02);
    let mut summary = summary(vec![
        point(cubic(), "20KB"),
        point(seeds(&finite("dctcp", 0.020, 3), 0.02), "20KB"),
        point(cubic(), "40KB"),
        point(seeds(&finite("dctcp", 0.030, 4), 0.02), "40KB"),
    ]);
    let caveat = |summary: &Summary| Headline::from_summary(summary).caveat;
    assert!(caveat(&summary).contains("cubic 72 of 24,000"), "{}", caveat(&summary));
    summary.reused = vec![Reuse {
        scheme: "cubic".to_owned(),
        run_as: "cubic".to_owned(),
        keys: vec!["switch.default.mark.above".to_owned()],
        runs: 3,
    }];
    let text = caveat(&summary);
    assert!(text.ends_with("cubic 36 of 12,000 and dctcp 21 of 24,000."), "{text}");
}

#[test]
fn points_at_which_flows_did_not_finish_are_named() {
    let pair = |mark: &str, open: u64| {
        [("cubic", 0.04), ("dctcp", 0.02)]
            .map(|(name, p99)| at(seeds(&finite(name, p99, open), 0.02), "switch.default.mark.above", mark))
    };
    let text = sentences([pair("20KB", 0), pair("40KB", 60)].concat());
    let unranked = "At above=40KB flows did not finish, and nothing is ranked.";
    assert!(text.starts_with(&format!("dctcp did better at above=20KB. {unranked}")), "{text}");
    let text = sentences([pair("20KB", 0), pair("40KB", 60), pair("80KB", 0)].concat());
    assert!(text.starts_with(&format!("dctcp did better at each of the 2 ranked points. {unranked}")), "{text}");
}

#[test]
fn a_sweep_says_where_who_leads_and_which_value_is_best() {
    let mut all = Vec::new();
    for (buffer, cubic) in [("20KB", 2e9), ("200KB", 5e9), ("3MB", 9.9e9)] {
        let point = |runs: Vec<Run>| at(runs, "switch.default.buffer", buffer);
        all.push(point(seeds(&long("cubic", cubic, 0.01), 0.001)));
        all.push(point(seeds(&long("flashpass", 9e9, 0.0), 0.001)));
    }
    assert_eq!(
        sentences(all.clone()),
        "flashpass carried more from buffer=20KB to buffer=200KB; cubic carried more at buffer=3MB. Where the \
         difference is largest, at buffer=20KB, flashpass carried 9 Gb/s and lost nothing, cubic carried 2 Gb/s and \
         lost 1 %. For cubic alone, the best value is buffer=3MB, an end of the sweep: 9.9 Gb/s, beside 2 Gb/s \
         at buffer=20KB."
    );
    all.truncate(4);
    assert!(sentences(all.clone()).starts_with("flashpass carried more at each of the 2 points."));
    let estimates: Vec<Vec<Run>> = all.iter().map(|runs| runs[..1].to_vec()).collect();
    let text = sentences(estimates);
    assert!(text.starts_with("By one seed, which decides nothing, flashpass carried more at"), "{text}");
    assert!(text.contains("largest by these estimates, at buffer=20KB"), "{text}");
    assert!(
        text.ends_with(
            "By these estimates, for cubic alone, the best value is buffer=200KB, an end of the sweep: 5 \
        Gb/s, beside 2 Gb/s at buffer=20KB."
        ),
        "{text}"
    );
    all.retain(|runs| runs[0].scheme == "cubic");
    assert_eq!(
        sentences(all),
        "For cubic alone, the best value is buffer=200KB, an end of the sweep: 5 Gb/s, beside 2 Gb/s at buffer=20KB."
    );
}

#[test]
fn a_swept_key_has_a_best_value_where_the_metric_turns() {
    let sweep = |values: &[(u64, f64)], step: f64| {
        let point = |&(above, p99): &(u64, f64)| at(seeds(&finite("gemini", p99, 0), step), "mark.above", above);
        sentences(values.iter().map(point).collect())
    };
    assert_eq!(
        sweep(&[(65, 0.86), (250, 0.3), (1000, 0.59), (4000, 0.7)], 0.02),
        "For gemini alone, the best value is above=250, worse to both sides: 300 ms, beside 860 ms at above=65 and 700 \
         ms at above=4000."
    );
    let open = vec![
        at(by_seed(&finite("x", 0.3, 0), &[0.5, 1.0, 1.5]), "mark.above", 65),
        at(by_seed(&finite("x", 0.31, 0), &[1.5, 1.0, 0.5]), "mark.above", 250),
    ];
    assert_eq!(sentences(open), "Which value is best for x is not decided: 300 ms at above=65, 310 ms at above=250.");
}

#[test]
fn thresholds_that_move_together_have_a_best_value_for_each_group() {
    let run = |point: usize, copies: f64, step: f64, scheme: &str| {
        let group = |name: &str, p99: f64| Group { name: name.to_owned(), fct: times(p99, 0), ..Group::default() };
        let run = Run { groups: vec![group("people", 0.1), group("copies", copies)], ..finite(scheme, 0.1, 0) };
        let set = [("deep.mark.above", ["1MB", "2MB", "4MB"]), ("shallow.mark.above", ["100KB", "200KB", "400KB"])];
        let set = set.map(|(key, values)| (key.to_owned(), Value::from(values[point])));
        seeds(&run, step).into_iter().map(move |run| Run { point: set.clone().into(), ..run }).collect::<Vec<_>>()
    };
    let gemini = [1.43, 1.32, 1.08].into_iter().enumerate().map(|(at, p99)| run(at, p99, 0.01, "gemini"));
    let open = [1.0, 1.07, 1.03].into_iter().enumerate().map(|(at, p99)| run(at, p99, 0.1 * at as f64, "open"));
    let text = sentences(gemini.chain(open).collect());
    assert!(text.contains("For gemini alone, the best value is deep.mark.above=4MB"), "{text}");
    assert!(text.contains(", an end of the sweep: 1.08 s, beside 1.43 s at "), "{text}");
}

#[test]
fn a_sweep_says_where_loss_begins() {
    let sweep = |all: &[(&str, &[f64])]| {
        let mut runs = Vec::new();
        for (point, above) in [65, 250, 1000].into_iter().enumerate() {
            let run = |(scheme, losses): &(&str, &[f64])| seeds(&long(scheme, 1e9, losses[point]), 0.0);
            runs.extend(all.iter().map(|of| at(run(of), "mark.above", above)));
        }
        sentences(runs)
    };
    let text = sweep(&[("dctcp", &[0.0, 9e-5, 0.007]), ("gemini", &[0.0, 0.0, 2e-4]), ("cubic", &[0.03, 0.02, 0.0])]);
    assert!(
        text.ends_with(
            "Loss begins between above=250 and above=1000: dctcp 0.7 % and gemini 0.02 %. Loss begins between \
             above=1000 and above=250: cubic 2 %."
        ),
        "{text}"
    );
    let text = sweep(&[("up and down", &[0.0, 0.1, 0.0]), ("none", &[0.0; 3]), ("all", &[0.1; 3])]);
    assert!(!text.contains("oss begins"), "{text}");
}

#[test]
fn points_that_are_no_line_are_counted() {
    let mut all = Vec::new();
    for (nic, cubic) in [("fair", 2e9), ("fifo", 5e9), ("other", 9.9e9), ("last", 9e9)] {
        all.push(at(seeds(&long("cubic", cubic, 0.01), 0.001), "nic", nic));
        all.push(at(seeds(&long("flashpass", 9e9, 0.0), 0.001), "nic", nic));
    }
    let text = sentences(all);
    assert!(
        text.starts_with(
            "flashpass carried more at 2 of 4 points and cubic at 1; the best are within 5 % of each other at 1."
        ),
        "{text}"
    );
}

#[test]
fn sentences_without_a_leader_begin_with_a_capital_letter() {
    let mut all = Vec::new();
    for (nic, factors) in
        [("fair", [1.0; 3]), ("fifo", [0.5, 1.0, 2.0]), ("other", [1.0; 3]), ("last", [0.4, 1.0, 3.0])]
    {
        all.push(at(seeds(&long("cubic", 9e9, 0.01), 0.0), "nic", nic));
        all.push(at(by_seed(&long("flashpass", 9e9, 0.0), &factors), "nic", nic));
    }
    let text = sentences(all);
    assert!(
        text.starts_with(
            "The best are within 5 % of each other at 2 of 4 points; the 3 seeds do not tell which of flashpass and \
             cubic is the best at 2. Where nothing is decided, "
        ),
        "{text}"
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
    summary["runs"] = vec![void("cubic", 1, &[]), void("cubic", 2, &["late"]), void("bbr", 1, &["late"])].into();
    let told = |summary: &Value| Headline::from_summary(&serde_json::from_value(summary.clone()).unwrap());
    let none = told(&summary);
    assert_eq!(none.sentences, ["bbr: void, no run counts (late)."]);
    let estimates = json!({ "goodput_bps": { "mean": 2e9, "ci95": null, "n": 1 } });
    summary["aggregates"] = json!([{ "scheme": "cubic", "point": {}, "n": 1, "metrics": estimates }]);
    let some = told(&summary);
    assert!(some.sentences[0].starts_with("cubic carried 2 Gb/s"), "{:?}", some.sentences);
    assert_eq!(some.sentences.last(), none.sentences.last());
    assert!(some.caveat.contains("Void runs, which count nowhere: cubic 1 of 2."), "{some:?}");
    let nothing = ["a", "b"].map(|scheme| seeds(&long(scheme, 0.0, 0.0), 0.0));
    assert_eq!(sentences(nothing.to_vec()), "a and b carried nothing.");
}
