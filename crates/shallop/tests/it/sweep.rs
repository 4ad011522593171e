//! Sweeps and resumed runs as processes: what is run, kept, reported and merged.

use crate::support::{Folder, dumbbell, text, timeless};
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path, process::Stdio};

fn scenario() -> String {
    let top = "title = \"A few flows\"\nseed = 3\nduration = \"30ms\"\nsample = \"1ms\"\nstack = \"ns2\"";
    dumbbell(top, &["cubic"], "0s..5ms")
}

const VARY: [&str; 6] =
    ["sweep", "scenario.toml", "--vary", "switch.default.buffer=8pkt,20KB", "--vary", "topology.senders=2,3"];

/// The files of finished runs with their contents.
fn runs(folder: &Folder, out: &str) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder.path(out).join("runs")).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap())
    });
    files.collect()
}

fn check_same_results(folder: &Folder, one: &str, other: &str) {
    let at = |out: &str, name: &str| folder.path(out).join(name);
    assert_eq!(timeless(&at(one, "summary.json")), timeless(&at(other, "summary.json")));
    for name in ["flows.parquet", "series.parquet"] {
        let same = fs::read(at(one, name)).unwrap() == fs::read(at(other, name)).unwrap();
        assert!(same, "{name} in {one} and {other}");
    }
}

/// Whether a file is a finished run, not a draft.
fn is_run(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "json")
}

fn whole(runs: &BTreeMap<String, Vec<u8>>) -> usize {
    runs.keys().filter(|name| is_run(name)).count()
}

#[test]
fn a_sweep_runs_every_combination_with_every_seed_and_never_twice() {
    let folder = Folder::with(scenario());
    folder.done(&[&VARY[..], &["--seeds", "2", "--out", "a"]].concat());
    let summary = folder.summary("a");
    assert_eq!(summary["runs"].as_array().unwrap().len(), 8);
    let last = &summary["runs"][7];
    assert_eq!((&last["seed"], &last["point"]["topology.senders"]), (&4.into(), &3.into()));
    assert_eq!(last["point"]["switch.default.buffer"], "20KB");
    let aggregates = summary["aggregates"].as_array().unwrap();
    assert_eq!((aggregates.len(), &aggregates[0]["n"]), (4, &2.into()));
    let rate = &aggregates[3]["metrics"]["throughput_bps"];
    let of = |run: usize| summary["runs"][run]["throughput_bps"].as_f64().unwrap();
    assert!((rate["mean"].as_f64().unwrap() - of(6).midpoint(of(7))).abs() < 1.0);
    // Two values have a range, but no interval.
    assert!(rate["ci95"].is_null() && rate["low"].is_null(), "{rate}");
    assert!((rate["max"].as_f64().unwrap() - of(6).max(of(7))).abs() < 1.0, "{rate}");
    let first = runs(&folder, "a");
    assert_eq!((first.len(), whole(&first)), (24, 8));
    // Adding values and changing their order reuses the finished runs.
    let more = ["sweep", "scenario.toml", "--vary", "topology.senders=5,3,2"];
    let more = [&more[..], &["--vary", "switch.default.buffer=20000B,8pkt"]].concat();
    folder.done(&[&more[..], &["--seeds", "2", "--out", "a"]].concat());
    let second = runs(&folder, "a");
    assert_eq!(whole(&second), 12);
    assert!(first.iter().all(|(name, bytes)| second.get(name) == Some(bytes)));
    folder.done(&[&more[..], &["--seeds", "2", "--out", "b", "--jobs", "2"]].concat());
    check_same_results(&folder, "a", "b");
}

#[test]
fn a_key_that_does_not_change_a_scheme_does_not_run_it_again() {
    let schemes = "[[scheme]]\ntransport = \"dctcp\"\n[[scheme]]\ntransport = \"cubic\"";
    let folder = Folder::with(scenario().replace("[[scheme]]\ntransport = \"cubic\"", schemes));
    let mark = ["sweep", "scenario.toml", "--vary", "switch.default.mark.above=5KB,10KB,15KB"];
    let arguments = [&mark[..], &["--seeds", "2", "--out", "a"]].concat();
    let printed = text(&folder.shallop(&arguments).stdout);
    let line = "4 runs reused: `switch.default.mark.above` does not change cubic.";
    assert!(printed.contains(line), "{printed}");
    assert_eq!(whole(&runs(&folder, "a")), 8, "6 of DCTCP, 2 of CUBIC");
    let summary = folder.summary("a");
    assert_eq!((&summary["reused"][0]["scheme"], &summary["reused"][0]["runs"]), (&"cubic".into(), &4.into()));
    assert_eq!(summary["runs"].as_array().unwrap().len(), 12);
    // Each reused run equals the run of its point alone.
    let alone = ["sweep", "scenario.toml", "--vary", "switch.default.mark.above=15KB", "--seeds", "2", "--out", "b"];
    folder.done(&alone);
    let of = |out: &str| {
        let runs = folder.summary(out)["runs"].as_array().unwrap().clone();
        runs.into_iter()
            .filter(|run| run["point"]["switch.default.mark.above"] == "15KB")
            .map(|mut run| {
                run["wall_s"] = Value::Null;
                run
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(of("a").len(), 4);
    assert_eq!(of("a"), of("b"));
}

#[cfg(unix)]
#[test]
fn a_killed_sweep_resumes() {
    let folder = Folder::with(scenario().replace("\"30ms\"", "\"600ms\""));
    let vary = ["sweep", "scenario.toml", "--vary", "topology.senders=2,3,4,5,6,7"];
    let sweep = |out: &'static str| [&vary[..], &["--jobs", "1", "--out", out]].concat();
    let mut child = folder.command(&sweep("a")).stdout(Stdio::null()).spawn().unwrap();
    let kept = folder.path("a/runs");
    let ended = || {
        let files = fs::read_dir(&kept).into_iter().flatten().flatten();
        files.filter(|file| is_run(file.file_name().to_str().unwrap()))
    };
    while ended().count() < 2 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = runs(&folder, "a");
    assert!((2..6).contains(&whole(&before)), "{:?}", before.keys());
    assert!(!folder.path("a/summary.json").exists());
    // A kill may leave a draft; this one is certain.
    let name = before.keys().find(|name| is_run(name)).unwrap();
    fs::write(kept.join(format!(".{name}.Ab3.tmp")), "{ half").unwrap();
    // On a busy machine the rest of the runs may be said to take more than ten seconds.
    let said = folder.done(&sweep("a"));
    assert!(said.lines().all(|line| line.ends_with(" on this machine")), "{said}");
    let after = runs(&folder, "a");
    assert_eq!((after.len(), whole(&after)), (18, 6), "{:?}", after.keys());
    for (name, bytes) in before.iter().filter(|(name, _)| is_run(name)) {
        assert!(after[name] == *bytes, "{name} was made again");
    }
    folder.done(&sweep("b"));
    check_same_results(&folder, "a", "b");
}

#[test]
fn merged_shards_equal_the_whole_sweep() {
    let folder = Folder::with(scenario());
    folder.done(&[&VARY[..], &["--out", "all"]].concat());
    for (shard, out) in [("1/2", "a"), ("2/2", "b")] {
        let arguments = [&VARY[..], &["--shard", shard, "--out", out, "--json"]].concat();
        let output = folder.shallop(&arguments);
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((summary["shard"].as_str(), output.status.code()), (Some(shard), Some(0)));
        assert_eq!(summary["runs"].as_array().unwrap().len(), 2);
        let names: Vec<_> = fs::read_dir(folder.path(out)).unwrap().collect();
        assert_eq!(names.len(), 1, "the runs alone");
    }
    for (name, bytes) in runs(&folder, "b") {
        fs::write(folder.path("a/runs").join(name), bytes).unwrap();
    }
    let before = runs(&folder, "a");
    folder.done(&[&VARY[..], &["--out", "a"]].concat());
    assert!(before == runs(&folder, "a"), "nothing was run");
    check_same_results(&folder, "all", "a");
    assert!(folder.summary("a").get("shard").is_none());
}

#[test]
fn a_run_with_damaged_files_is_reported_and_repeated() {
    let folder = Folder::with(scenario());
    let sweep = [&VARY[..], &["--out", "a"]].concat();
    folder.done(&[&VARY[..], &["--out", "b"]].concat());
    folder.done(&sweep);
    let whole = runs(&folder, "a");
    let names: Vec<&str> = whole.keys().map(String::as_str).collect();
    let damage = |name: &str, bytes: &[u8]| {
        fs::write(folder.path("a/runs").join(name), bytes).unwrap();
    };
    let ending = |ending: &str| *names.iter().find(|name| name.ends_with(ending)).unwrap();
    let [json, flows, series] = [".json", ".flows.parquet", ".series.parquet"].map(ending);
    let told = text(&whole[json]);
    let other = told.replacen("\"timeouts\": 0", "\"timeouts\": 9", 1);
    assert_ne!(told, other);
    let mut flipped = whole[flows].clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    for (name, bytes) in [
        (json, &whole[json][..whole[json].len() / 2]),
        (json, b""),
        (json, b"\xff\xfe"),
        (json, other.as_bytes()),
        (flows, &flipped),
        (series, &whole[series][..10]),
    ] {
        damage(name, bytes);
        let said = folder.done(&sweep);
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains(name) && said.contains("made again"), "{said}");
        check_same_results(&folder, "a", "b");
    }
    fs::remove_file(folder.path("a/runs").join(flows)).unwrap();
    assert!(folder.done(&sweep).contains("made again"));
    assert_eq!(folder.done(&sweep), "");
}

#[test]
fn run_resumes_when_it_is_asked_to() {
    let folder = Folder::with(scenario());
    let run = ["run", "scenario.toml", "--out", "a"];
    folder.done(&run);
    let first = runs(&folder, "a");
    folder.done(&[&run[..], &["--resume"]].concat());
    assert!(first == runs(&folder, "a"));
    folder.done(&run);
    assert!(first != runs(&folder, "a"), "the time it took is another");
    folder.done(&["run", "scenario.toml", "--out", "a", "--resume", "--set", "duration=31ms"]);
    assert_eq!(whole(&runs(&folder, "a")), 2);
    let reproduce = ["reproduce", "fp-crush", "--quick", "--out", "r", "--resume", "--json"];
    let [one, two] = [(); 2].map(|()| folder.shallop(&reproduce));
    assert!(one.stdout == two.stdout && !one.stdout.is_empty(), "the very same runs");
}
