//! The runs whose records pages show: shipped scenarios, in full and in a quick form. A record keeps the digest of the
//! quick form's results; it is stale when the quick form of today has another digest.

use crate::gate::{say, without_cargos_variables};
use crate::records::{digest, read};
use crate::tree::root;
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// The folder of the records of example scenarios.
pub const FOLDER: &str = "docs/recorded";

/// The metrics that a record keeps, by their paths in `summary.json`.
const KEPT: [&str; 13] = [
    "fct.large.count", "fct.large.mean_s", "fct.small.count", "fct.small.mean_s", "fct.small.p99_s", "goodput_bps",
    "jain", "loss_rate", "max_queue_bytes", "mean_queue_bytes", "retransmits", "throughput_bps", "timeouts",
];

/// Name, arguments, and further arguments with which the run is short.
const RUNS: [[&str; 3]; 7] = [
    ["edge", "run examples/edge.toml", "--set duration=300ms"],
    ["kernels", "run examples/kernels.toml --seeds 3", "--set duration=300ms"],
    ["compare-wan", "run examples/compare-wan.toml", "--quick"],
    ["compare-dc", "run examples/compare-dc.toml", "--quick"],
    ["flashpass-2000", "run examples/flashpass-2000.toml", "--quick"],
    ["web-search-128", "run examples/web-search-128.toml", "--quick"],
    ["sites", SITES, "--set duration=300ms"],
];

const SITES: &str = "sweep examples/sites.toml --seeds 3 --vary switch.default.buffer=20KB/Gbps,40KB/Gbps,2MB/Gbps";

/// The exit code of a command that needs what this machine lacks, such as a kernel in virtual time.
const LACKS: i32 = 3;

/// Runs the command in the root of the repository, with results in a new folder. False if this machine lacks what the
/// run needs.
fn run(shallop: &Path, arguments: &str, out: &Path) -> Result<bool, String> {
    let fault = |why: &str| format!("shallop {arguments}: {why}");
    if out.exists() {
        fs::remove_dir_all(out).map_err(|why| format!("{}: {why}", out.display()))?;
    }
    let mut command = Command::new(shallop);
    command.args(arguments.split(' ')).arg("--out").arg(out).current_dir(root());
    let output = without_cargos_variables(&mut command).output();
    let output = output.map_err(|why| fault(&why.to_string()))?;
    if output.status.success() || output.status.code() == Some(LACKS) {
        return Ok(output.status.success());
    }
    Err(fault(&String::from_utf8_lossy(&output.stderr)))
}

/// Makes all quick forms. Returns the names of the records that have other results, or are missing.
pub fn stale(shallop: &Path, out: &Path) -> Result<Vec<&'static str>, String> {
    let mut stale = Vec::new();
    for [name, full, quick] in RUNS {
        let folder = out.join(name);
        if !run(shallop, &format!("{full} {quick}"), &folder)? {
            say(&format!("{name}: not run, this machine lacks what it needs"));
        } else if !is_of(&root().join(FOLDER), name, &digest(&folder)?)? {
            stale.push(name);
        }
    }
    Ok(stale)
}

/// Whether a record has this digest of the quick form.
fn is_of(records: &Path, name: &str, digest: &str) -> Result<bool, String> {
    let path = records.join(format!("{name}.json"));
    Ok(path.exists() && read(&path)?["quick_digest"] == digest)
}

/// Runs in full what is stale, and records it. `revision` names the code of the command.
#[cfg(feature = "records")]
pub fn record_stale(shallop: &Path, revision: &str, out: &Path) -> Result<(), String> {
    let quick = out.join("quick-pages");
    for name in stale(shallop, &quick)? {
        let full = out.join("pages").join(name);
        let [_, arguments, _] = RUNS.iter().find(|of| of[0] == name).ok_or("no such run")?;
        run(shallop, arguments, &full)?;
        record(revision, name, &full, &quick.join(name))?;
    }
    Ok(())
}

/// Records a full run with the digest of its quick form, from the folders of both.
pub fn record(revision: &str, name: &str, full: &Path, quick: &Path) -> Result<(), String> {
    let text = to_text(&read(&full.join("summary.json"))?, revision, &digest(quick)?)?;
    let path = root().join(FOLDER).join(format!("{name}.json"));
    fs::write(&path, text).map_err(|why| format!("{}: {why}", path.display()))?;
    say(&format!("recorded {name}"));
    Ok(())
}

/// The record of the summary of a full run, with a line for each figure, so that a changed figure changes one line.
/// `digest` is that of the results of the quick form, made by the same revision.
fn to_text(summary: &Value, revision: &str, digest: &str) -> Result<String, String> {
    if summary["quick"] == true {
        return Err("the summary is of a quick run: only full runs are recorded".to_owned());
    }
    let list = |name: &str| summary[name].as_array().cloned().unwrap_or_default();
    let points = list("points");
    let mut lines = Vec::new();
    for aggregate in list("aggregates") {
        let point = points.iter().find(|point| point["set"] == aggregate["point"]);
        let point = point.map_or(json!(""), |point| point["name"].clone());
        for metric in KEPT {
            let of = &aggregate["metrics"][metric];
            if of["mean"].is_number() {
                let (scheme, ci95) = (&aggregate["scheme"], &of["ci95"]);
                // Written by hand, as serde_json sorts keys.
                lines.push(format!(
                    "{{\"scheme\":{scheme},\"point\":{point},\"metric\":\"{metric}\",\"mean\":{},\"ci95\":{ci95},\
                     \"min\":{},\"max\":{}}}",
                    of["mean"], of["min"], of["max"]
                ));
            }
        }
    }
    if lines.is_empty() {
        return Err("the summary has no estimates".to_owned());
    }
    Ok(format!(
        "{{\n\"version\": {},\n\"revision\": {},\n\"quick_digest\": {},\n\"seeds\": {},\n\"figures\": [\n{}\n]\n}}\n",
        summary["version"],
        json!(revision),
        json!(digest),
        summary["seeds"],
        lines.join(",\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_another_quick_form_is_stale() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("wan.json"), r#"{"quick_digest": "0a1b"}"#).unwrap();
        let is_of = |name, digest| is_of(folder.path(), name, digest).unwrap();
        assert!(is_of("wan", "0a1b"));
        assert!(!is_of("wan", "0a1c"), "the quick form has other results");
        assert!(!is_of("dc", "0a1b"), "there is no record");
    }

    #[test]
    fn every_record_is_of_a_run_whose_scenario_is_shipped() {
        for [_, full, _] in RUNS {
            let file = full.split(' ').nth(1).unwrap();
            assert!(root().join(file).exists(), "{file}");
        }
        for entry in fs::read_dir(root().join(FOLDER)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_record = path.extension().is_some_and(|ending| ending == "json");
            assert!(!is_record || RUNS.iter().any(|of| of[0] == name), "{name} is of no run");
        }
    }

    #[test]
    fn a_record_has_the_kept_metrics_by_scheme_and_point() {
        let goodput = json!({"mean": 4.5, "ci95": 1.0, "min": 4.25, "max": 5.0, "n": 3});
        let metrics = json!({"goodput_bps": goodput, "packet_hops": goodput});
        let mut summary = json!({
            "version": "1.2.3", "quick": false, "seeds": [1, 2, 3],
            "points": [{"name": "20 KB", "set": {"b": "20KB"}}],
            "aggregates": [{"scheme": "cubic", "point": {"b": "20KB"}, "metrics": metrics}],
        });
        let expected = r#"{
"version": "1.2.3",
"revision": "abc",
"quick_digest": "0a1b",
"seeds": [1,2,3],
"figures": [
{"scheme":"cubic","point":"20 KB","metric":"goodput_bps","mean":4.5,"ci95":1.0,"min":4.25,"max":5.0}
]
}
"#;
        assert_eq!(to_text(&summary, "abc", "0a1b").unwrap(), expected);
        summary["quick"] = json!(true);
        assert!(to_text(&summary, "abc", "0a1b").unwrap_err().contains("quick"));
        assert!(to_text(&json!({}), "abc", "0a1b").unwrap_err().contains("no estimates"));
    }
}
