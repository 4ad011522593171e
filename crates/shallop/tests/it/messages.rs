//! The interface for programs, such as the Python package: JSON messages, scenarios on standard input, tables, and the
//! end with the parent process.

use crate::support::{Folder, text};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

const SCENARIO: &str = r#"
title = "Two flows"
duration = "20ms"
topology = { kind = "dumbbell", senders = 2, rate = "100Mbps", delay = "1ms" }
scheme = [{ transport = "cubic" }, { transport = "flashpass" }]
group = [{ name = "all", size = "20KB" }]
"#;

/// The messages on standard error, each of which must be a line of JSON.
fn messages(output: &Output) -> Vec<Value> {
    text(&output.stderr).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_type(messages: &[Value], kind: &str) -> Vec<Value> {
    messages.iter().filter(|message| message["type"] == kind).cloned().collect()
}

/// Runs the command with JSON messages and this standard input.
fn told(folder: &Folder, arguments: &[&str], input: &str) -> Output {
    let mut child = started(folder, arguments);
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn started(folder: &Folder, arguments: &[&str]) -> Child {
    let all: Vec<&str> = ["--message-format", "json"].iter().chain(arguments).copied().collect();
    let mut command = folder.command(&all);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_run_sends_its_version_its_progress_and_its_results() {
    let folder = Folder::with(SCENARIO);
    let output = told(&folder, &["run", "scenario.toml", "--out", "out"], "");
    assert_eq!(output.status.code(), Some(0));
    let all = messages(&output);
    assert_eq!(all[0], json!({ "type": "version", "version": env!("CARGO_PKG_VERSION") }));
    let progress = of_type(&all, "progress");
    assert_eq!((&progress[0]["part"], &progress[0]["runs"]), (&json!(0.0), &json!(2)));
    let last = progress.last().unwrap();
    assert_eq!((&last["part"], &last["ended"]), (&json!(1.0), &json!(2)));
    assert_eq!(all.last().unwrap()["type"], "results", "it comes after all progress");
    let results = of_type(&all, "results");
    assert_eq!((results.len(), &results[0]["folder"]), (1, &json!("out")));
    assert!(results[0]["tables"].as_str().unwrap().contains("flashpass"));
    assert!(!results[0]["tables"].as_str().unwrap().contains("report.html"));
    assert!(results[0]["notes"].as_str().unwrap().contains("out/report.html"));
    assert!(results[0]["legend"].as_str().unwrap().contains("loss"));
}

#[test]
fn every_table_of_a_sweep_is_exported_with_a_column_for_each_swept_key() {
    let folder = Folder::with(SCENARIO);
    folder.done(&["sweep", "scenario.toml", "--vary", "topology.senders=2,3", "--out", "out"]);
    let listed = folder.json(&["export", "out", "--json"]);
    let tables = listed.as_object().unwrap();
    assert_eq!(tables.len(), 9);
    for (name, table) in tables {
        let csv = text(&folder.shallop(&["export", "out", "--table", name]).stdout);
        let mut lines = csv.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        let columns = table["columns"].as_array().unwrap();
        let names: Vec<&str> = columns.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(header, names, "{name}");
        assert_eq!(lines.count() as u64, table["rows"].as_u64().unwrap(), "{name}");
        assert!(columns.iter().all(|it| !it["description"].as_str().unwrap().is_empty()), "{name}");
        assert_eq!(names.contains(&"topology.senders"), name != "warnings", "{names:?}");
        let file = format!("{name}.parquet");
        let parquet = ["export", "out", "--table", name, "--format", "parquet", "--out", &file];
        folder.done(&parquet);
        let table = shallop_store::read_table(folder.path(&file)).unwrap();
        let read: Vec<&str> = table.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(read, names, "{name}");
    }
    // Two schemes, a flow for each sender.
    assert_eq!(listed["flows"]["rows"], 2 * (2 + 3));
    assert_eq!(folder.shallop(&["export", "out", "--table", "flows", "--format", "parquet"]).status.code(), Some(2));
}

#[test]
fn a_sweep_runs_only_the_run_with_the_given_identity() {
    let folder = Folder::with(SCENARIO);
    let vary = ["scenario.toml", "--vary", "topology.senders=2,3"];
    let listed = folder.json(&[&["check"], &vary[..], &["--runs", "--json"]].concat());
    let identity = listed["runs"][2]["identity"].as_str().unwrap().to_owned();
    folder.done(&[&["sweep"], &vary[..], &["--identity", &identity, "--out", "out"]].concat());
    let runs = std::fs::read_dir(folder.path("out/runs")).unwrap();
    let names: Vec<String> = runs.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.contains(&format!("{identity}.json")), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with(&identity)), "{names:?}");
    let asked = [&["sweep"], &vary[..], &["--identity", "0123", "--out", "out"]].concat();
    folder.refused(&asked, &["identities depend on"]);
}

/// Starts a run that takes minutes, and waits until it is under way.
fn long_run(folder: &Folder, more: &[&str]) -> (Child, BufReader<std::process::ChildStderr>) {
    let request = json!({
        "text": SCENARIO,
        "set": [["duration", "10000s"], ["group.all.size", "1TB"]],
    });
    let mut child = started(folder, &[more, &["run", "-", "--jobs", "1", "--out", "out"]].concat());
    child.stdin.as_mut().unwrap().write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("\"last\":\"cubic\"") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended");
    }
    (child, said)
}

#[test]
fn a_run_ends_when_standard_input_ends_and_leaves_its_folder_free() {
    let folder = Folder::with(SCENARIO);
    let (mut child, mut said) = long_run(&folder, &["--end-with-stdin"]);
    drop(child.stdin.take());
    let begun = Instant::now();
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(5));
    folder.done(&["run", "scenario.toml", "--out", "out"]);
}

#[test]
fn a_run_goes_on_after_the_end_of_standard_input_unless_it_is_to_end() {
    let folder = Folder::with(SCENARIO);
    let (mut child, _said) = long_run(&folder, &[]);
    drop(child.stdin.take());
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(child.try_wait().unwrap(), None);
    child.kill().unwrap();
    child.wait().unwrap();
}
