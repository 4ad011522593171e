//! `compare` as a process: which runs are paired, which inputs are refused, and what is run first.

use crate::support::{Folder, dumbbell, text};
use std::fs;

fn scenario() -> String {
    let top = r#"title = "A few flows"
duration = "30ms"
sample = "1ms"
seeds = [1, 2, 3, 4]
switch.default.buffer = "20KB""#;
    dumbbell(top, &["cubic", "newreno"], "0s..5ms")
}

/// A folder with the scenario, and `large.toml` with a larger buffer.
fn folder() -> Folder {
    let folder = Folder::with(scenario());
    fs::write(folder.path("large.toml"), scenario().replace("20KB", "200KB")).unwrap();
    folder
}

#[test]
fn folders_and_scenarios_are_compared_seed_by_seed() {
    let folder = folder();
    let both = ["compare", "scenario.toml", "large.toml"];
    folder.done(&[&both[..], &["--out", "made"]].concat());
    // Finished runs are reused, and comparing folders gives the same as comparing scenarios.
    let before = fs::read(folder.path("made/a/summary.json")).unwrap();
    folder.done(&[&both[..], &["--out", "made"]].concat());
    assert_eq!(fs::read(folder.path("made/a/summary.json")).unwrap(), before, "nothing was run");
    let comparison = folder.json(&["compare", "made/a", "made/b", "--json"]);
    assert_eq!(comparison, folder.json(&[&both[..], &["--json"]].concat()));
    let pairs = comparison["pairs"].as_array().unwrap();
    assert_eq!((pairs.len(), &pairs[0]["seeds"]), (2, &serde_json::json!([1, 2, 3, 4])));
    let throughput = &pairs[0]["metrics"]["throughput_bps"];
    let of = |out: &str| {
        let runs = folder.summary(out)["runs"].as_array().unwrap().clone();
        runs[..4].iter().map(|run| run["throughput_bps"].as_f64().unwrap()).collect::<Vec<_>>()
    };
    let (a, b) = (of("made/a"), of("made/b"));
    let mean = a.iter().zip(&b).map(|(a, b)| b - a).sum::<f64>() / 4.0;
    assert!((throughput["difference"].as_f64().unwrap() - mean).abs() < 1.0, "{throughput}");
    assert!(throughput["low"].as_f64().unwrap() < mean && mean > 0.0);
    let printed = text(&folder.shallop(&["compare", "made/a", "made/b"]).stdout);
    assert!(printed.lines().count() < 66, "one page: {printed}");
    assert!(printed.lines().all(|line| line.chars().count() <= 240), "{printed}");
    assert!(printed.contains("longest queue") && printed.contains("paired by seed"), "{printed}");
}

#[test]
fn two_points_of_a_sweep_are_compared() {
    let folder = folder();
    let vary = "switch.default.buffer=20KB,200KB";
    folder.done(&["sweep", "scenario.toml", "--vary", vary, "--out", "a"]);
    let compare = ["compare", "a", "--points", "buffer=20KB", "buffer=200KB"];
    let found = folder.json(&[&compare[..], &["--json"]].concat());
    assert_eq!(found["points"], serde_json::json!(["buffer=20KB", "buffer=200KB"]));
    folder.done(&["run", "scenario.toml", "--out", "b"]);
    folder.done(&["run", "large.toml", "--out", "c"]);
    let alone = folder.json(&["compare", "b", "c", "--json"]);
    assert_eq!(found["pairs"], alone["pairs"], "as if each point were a scenario of its own");
    let printed = text(&folder.shallop(&compare).stdout);
    assert!(printed.starts_with("A: a at buffer=20KB\nB: a at buffer=200KB\n"), "{printed}");
}
