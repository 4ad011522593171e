//! Reports: which pages and figures are made, with equal bytes whichever command makes them.

use crate::support::{Folder, dumbbell};
use serde_json::Value;
use shallop_results::summary::RehearsalOfRun;
use std::{collections::BTreeSet, fs};

const CLAIM: &str = include_str!("report/claim.toml");

fn long_flows() -> String {
    let top = "title = \"A title <b>of ours</b> & theirs\"\nseeds = [1, 2]\nduration = \"60ms\"\nsample = \"1ms\"";
    dumbbell(top, &["cubic", "flashpass"], "0s..5ms")
}

fn with_claim() -> Folder {
    Folder::with(long_flows() + CLAIM)
}

/// Flows that start and end.
const DYNAMIC: &str = include_str!("report/dynamic.toml");

fn figures(folder: &Folder, out: &str) -> Vec<(String, Value)> {
    let told = folder.json(&["report", out, "--json"]);
    let figures = told["figures"].as_array().unwrap().iter();
    figures.map(|of| (of["id"].as_str().unwrap().to_owned(), of["spec"].clone())).collect()
}

/// Checks the names of the figures, and that each has rows of data. `python/tests` and `checks/report` draw them.
fn check_figures(folder: &Folder, out: &str, wanted: &str) {
    let figures = figures(folder, out);
    let ids: Vec<&str> = figures.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids.join(" "), wanted);
    for (id, spec) in &figures {
        assert!(!spec["data"]["values"].as_array().unwrap().is_empty(), "{id}");
    }
}

#[test]
fn a_run_leaves_the_page_that_report_makes_on_any_number_of_jobs() {
    let folder = with_claim();
    folder.done(&["run", "scenario.toml", "--out", "a", "--jobs", "1"]);
    folder.done(&["run", "scenario.toml", "--out", "b", "--jobs", "2"]);
    let page = |out: &str| fs::read_to_string(folder.path(out).join("report.html")).unwrap();
    let first = page("a");
    assert!(first == page("b"), "the number of jobs makes a difference");
    fs::remove_file(folder.path("a/report.html")).unwrap();
    folder.done(&["report", "a"]);
    assert!(first == page("a"), "report makes another page");
    assert!(first.contains("<h1>A title &lt;b&gt;of ours&lt;/b&gt; &amp; theirs</h1>"));
    for said in [
        "dumbbell", "seeds</dt><dd>1 and 2", "1 claim: 1 holds", "<p class=\"headline\">",
        "least and most of two seeds",
    ] {
        assert!(first.contains(said), "{said}");
    }
    assert!(!first.contains("wall s"), "the time it took differs from one time to the next");
    check_figures(
        &folder,
        "a",
        "paper-and-measured goodput loss longest-queue fairness queue-over-time throughput-over-time links \
         flow-rates-over-time",
    );
}

#[test]
fn finite_flows_have_completion_times_and_unfinished_flows_are_counted() {
    let folder = Folder::with(DYNAMIC);
    folder.done(&["run", "scenario.toml", "--out", "a"]);
    check_figures(
        &folder,
        "a",
        "goodput loss longest-queue completion-percentiles completion-times slowdown-by-size queue-over-time \
         throughput-over-time links",
    );
    let open = folder.summary("a")["runs"][0]["fct"]["all"]["unfinished"].as_u64().unwrap();
    let page = fs::read_to_string(folder.path("a/report.html")).unwrap();
    assert!(open > 0 && page.contains(&format!("curves end below 100\u{a0}%: cubic {open};")), "{open}");
    let figures = figures(&folder, "a");
    let (_, spec) = figures.iter().find(|(id, _)| id == "throughput-over-time").unwrap();
    let rows = spec["data"]["values"].as_array().unwrap();
    let groups: BTreeSet<&str> = rows.iter().filter_map(|row| row["group"].as_str()).collect();
    assert_eq!(groups, BTreeSet::from(["bulk", "web"]));
}

#[test]
fn a_sweep_has_figures_over_the_swept_key() {
    let folder = Folder::with(long_flows());
    folder.done(&[
        "sweep", "scenario.toml", "--vary", "topology.senders=2,4", "--vary", "switch.default.buffer=8pkt,20KB",
        "--out", "a",
    ]);
    check_figures(
        &folder,
        "a",
        "goodput loss longest-queue fairness queue-over-time throughput-over-time flow-rates-over-time",
    );
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
