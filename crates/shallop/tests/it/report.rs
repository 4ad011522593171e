//! Pages of results with void runs.

use crate::support::{Folder, dumbbell};
use serde_json::Value;
use shallop_results::summary::RehearsalOfRun;
use std::fs;

const CLAIM: &str = include_str!("report/claim.toml");

fn with_claim() -> Folder {
    let top = "title = \"Long flows\"\nseeds = [1, 2]\nduration = \"60ms\"\nsample = \"1ms\"";
    Folder::with(dumbbell(top, &["cubic", "flashpass"], "0s..5ms") + CLAIM)
}

fn figures(folder: &Folder, out: &str) -> Vec<(String, Value)> {
    let told = folder.json(&["report", out, "--json"]);
    let figures = told["figures"].as_array().unwrap().iter();
    figures.map(|of| (of["id"].as_str().unwrap().to_owned(), of["spec"].clone())).collect()
}

/// Results in a folder `out`, of which these runs, by scheme and seed, are made void, with the means that are left.
fn make_void(folder: &Folder, is_void: impl Fn(&str, u64) -> bool) {
    let mut summary = folder.summary("out");
    let late =
        serde_json::to_value(RehearsalOfRun { void: vec!["it was late".to_owned()], ..RehearsalOfRun::default() });
    for run in summary["runs"].as_array_mut().unwrap() {
        if is_void(run["scheme"].as_str().unwrap(), run["seed"].as_u64().unwrap()) {
            run["rehearsal"] = late.as_ref().unwrap().clone();
            run["groups"][0]["throughput_bps"] = 777.7e9.into();
        }
    }
    let means = summary["aggregates"].as_array_mut().unwrap();
    means.retain(|of| !is_void(of["scheme"].as_str().unwrap(), 1));
    fs::write(folder.path("out/summary.json"), summary.to_string()).unwrap();
}

#[test]
fn void_runs_are_in_no_table_and_no_figure_of_a_page() {
    let folder = with_claim();
    folder.done(&["run", "scenario.toml", "--out", "out"]);
    let schemes: Vec<String> = folder.summary("out")["points"][0]["schemes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect();
    let last = schemes.last().unwrap().clone();
    let before = figures(&folder, "out").len();
    make_void(&folder, |scheme, seed| scheme == last || seed == 2);
    folder.done(&["report", "out"]);
    let page = fs::read_to_string(folder.path("out/report.html")).unwrap();
    assert!(page.contains(&format!("{last}: void, no run counts (it was late).")), "{last}");
    assert!(page.contains("Void runs, which count nowhere: ") && page.contains(">VOID<"));
    assert!(page.contains("Rehearsals") && !page.contains("777.7"));
    let all = figures(&folder, "out");
    assert_eq!(all.len(), before);
    let shown = |figure: &Value| figure.to_string().contains(&format!("\"{last}\""));
    let data: Vec<&String> = all.iter().filter(|(_, of)| shown(of)).map(|(id, _)| id).collect();
    assert!(data.is_empty(), "{last} is in {data:?}");
}
