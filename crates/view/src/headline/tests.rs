//! The sentences of invented results, word for word. The results and the sentences are in `headlines.toml`.

use super::Headline;
use serde_json::{Value, json};
use shallop_results::aggregate::aggregate;
use shallop_results::summary::{Completion, Fct, Group, RehearsalOfRun, Statistic};
use shallop_results::{Job, Point, Run, Summary};

/// Completion times of 4,000 flows.
fn times(p99: f64, unfinished: u64) -> Fct {
    let lower_bounds = if unfinished > 40 { vec![Statistic::P99S] } else { Vec::new() };
    let (p99_s, mean_s) = (Some(p99), Some(p99 / 9.0));
    let all = Completion { count: 4000, unfinished, p99_s, mean_s, lower_bounds, ..Completion::default() };
    Fct { all: Some(all), ..Fct::default() }
}

/// The runs of a row, one for each seed.
fn runs(row: &Value) -> Vec<Run> {
    let known = ["scheme", "at", "goodput", "loss", "jain", "p99", "open", "groups", "step", "factors"];
    assert!(row.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{row}");
    let number = |key: &str, default| row.get(key).map_or(default, |value| value.as_f64().unwrap());
    let fct = |p99: f64| times(p99, number("open", 0.0) as u64);
    let groups = row.get("groups").and_then(Value::as_object).into_iter().flatten();
    let group = |(name, p99): (&String, &Value)| (name.clone(), fct(p99.as_f64().unwrap()));
    let group = |named| Some(group(named)).map(|(name, fct)| Group { name, fct, ..Group::default() });
    let run = Run {
        scheme: row["scheme"].as_str().unwrap().to_owned(),
        point: row.get("at").map_or_else(Default::default, |at| serde_json::from_value(at.clone()).unwrap()),
        goodput_bps: number("goodput", 1e9),
        loss_rate: number("loss", 0.0),
        jain: Some(number("jain", 0.95)),
        fct: row.get("p99").map_or_else(Fct::default, |p99| fct(p99.as_f64().unwrap())),
        groups: groups.filter_map(group).collect(),
        utilization: 0.978,
        max_queue_bytes: 200_000,
        ..Run::default()
    };
    let step = number("step", 0.0);
    let written = row.get("factors").map(|all| serde_json::from_value(all.clone()).unwrap());
    let factors: Vec<f64> = written.unwrap_or_else(|| vec![1.0 - step, 1.0, 1.0 + step]);
    let one = |(seed, factor): (u64, &f64)| {
        let mut run = Run { seed, ..run.clone() };
        run.goodput_bps *= factor;
        let groups = run.groups.iter_mut().map(|group| &mut group.fct);
        for all in groups.chain([&mut run.fct]).filter_map(|fct| fct.all.as_mut()) {
            all.p99_s = all.p99_s.map(|p99| p99 * factor);
        }
        run
    };
    (1..).zip(&factors).map(one).collect()
}

fn summary(case: &Value) -> Summary {
    let runs: Vec<Run> = case["runs"].as_array().unwrap().iter().flat_map(runs).collect();
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
    let reused = case.get("reused").map_or_else(Vec::new, |all| serde_json::from_value(all.clone()).unwrap());
    Summary { runs, points, aggregates, reused, ..Summary::default() }
}

fn told(summary: &Value) -> Headline {
    Headline::from_summary(&serde_json::from_value(summary.clone()).unwrap())
}

#[test]
fn headlines_of_invented_results_are_these() {
    let cases: Value = toml::from_str(include_str!("headlines.toml")).unwrap();
    for case in cases["case"].as_array().unwrap() {
        let Headline { sentences, caveat, figures } = Headline::from_summary(&summary(case));
        let said = sentences.join(" ");
        let mut checks = 0;
        for (key, expected) in case.as_object().unwrap() {
            let texts: Vec<&str> = expected.as_array().map_or_else(
                || expected.as_str().into_iter().collect(),
                |all| all.iter().filter_map(Value::as_str).collect(),
            );
            let all = |right: &dyn Fn(&str) -> bool| texts.iter().all(|text| right(text));
            let is_right = match key.as_str() {
                "name" | "runs" | "reused" => continue,
                "says" if expected.is_array() => sentences == texts,
                "says" => all(&|text| said == text),
                "starts" => all(&|text| said.starts_with(text)),
                "ends" => all(&|text| said.ends_with(text)),
                "has" => all(&|text| said.contains(text)),
                "lacks" => all(&|text| !said.contains(text)),
                "caveat" => all(&|text| caveat == text),
                "caveat_has" => all(&|text| caveat.contains(text)),
                "figures" => figures == texts,
                _ => panic!("unknown key {key} in {}", case["name"]),
            };
            checks += 1;
            assert!(is_right, "{}: {key}: {expected}\n{said}\n{caveat}\n{figures:?}", case["name"]);
        }
        assert!(checks > 0, "{} checks nothing", case["name"]);
    }
}

#[test]
fn a_scheme_of_which_no_run_counts_is_named() {
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
    let none = told(&summary);
    assert_eq!(none.sentences, ["bbr: void, no run counts (late)."]);
    let estimates = json!({ "goodput_bps": { "mean": 2e9, "ci95": null, "n": 1 } });
    summary["aggregates"] = json!([{ "scheme": "cubic", "point": {}, "n": 1, "metrics": estimates }]);
    let some = told(&summary);
    assert!(some.sentences[0].starts_with("cubic carried 2 Gb/s"), "{:?}", some.sentences);
    assert_eq!(some.sentences.last(), none.sentences.last());
    assert!(some.caveat.contains("Void runs, which count nowhere: cubic 1 of 2."), "{some:?}");
}
