//! Tables that are made of `summary.json`, as CSV: `exports/summary.json` has invented runs, without the fields that
//! have their defaults.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, to_value};
use shallop_results::summary::{Completion, Fct, Group, Run};
use shallop_results::{Link, summary::DropCount};
use shallop_workbench::export::{Export, TableName};
use std::fmt::Write as _;

/// Adds the fields that a value lacks.
fn fill(value: &mut Value, defaults: impl serde::Serialize) {
    let Ok(Value::Object(defaults)) = to_value(defaults) else { panic!("an object") };
    for (name, default) in defaults {
        let fields = value.as_object_mut().unwrap();
        fields.entry(name).or_insert(default);
    }
}

fn fill_times(of: &mut Value) {
    fill(&mut of["fct"], Fct::default());
    if !of["fct"]["all"].is_null() {
        fill(&mut of["fct"]["all"], Completion::default());
    }
}

fn fill_run(run: &mut Value) {
    fill(run, Run::default());
    fill_times(run);
    run["links"].as_array_mut().unwrap().iter_mut().for_each(|link| fill(link, Link::default()));
    run["drops_by_cause"].as_array_mut().unwrap().iter_mut().for_each(|drops| fill(drops, DropCount::default()));
    for group in run["groups"].as_array_mut().unwrap() {
        fill(group, Group::default());
        fill_times(group);
    }
}

#[test]
fn tables_of_invented_runs_are_those_of_the_snapshot() {
    let mut summary: Value = serde_json::from_str(include_str!("exports/summary.json")).unwrap();
    summary["runs"].as_array_mut().unwrap().iter_mut().for_each(fill_run);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("summary.json"), summary.to_string()).unwrap();
    let mut told = String::new();
    for (name, word) in &TableName::ALL[3..8] {
        let mut csv = Vec::new();
        Export::open(folder.path(), *name).unwrap().to_csv(&mut csv).unwrap();
        write!(told, "# {word}\n{}", String::from_utf8(csv).unwrap()).unwrap();
    }
    insta::assert_snapshot!(told);
}
