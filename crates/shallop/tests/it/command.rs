//! The command as a process: exit codes, output and files of small scenarios.

use crate::support::{Folder, dumbbell, text, timeless, unwrapped};
use serde_json::Value;
use std::fs;

fn scenario() -> String {
    let top = r#"title = "Four flows"
seeds = [1, 2]
duration = "200ms"
windows = ["100ms..200ms"]
stack = "ns2""#;
    dumbbell(top, &["cubic", "flashpass"], "0s..20ms")
}

const CLAIMS: &str = include_str!("command/claims.toml");

#[cfg(unix)]
#[test]
fn programs_of_files_that_others_may_write_to_run_only_if_asked() {
    use std::os::unix::fs::PermissionsExt;
    let group = "name = \"all\"\ncommand = [\"touch\", \"made\"]\nfrom = \"s0\"\nto = \"r0\"";
    let top = "title = \"a program\"\nduration = \"200ms\"\nstack = \"kernel\"";
    let folder = Folder::with(dumbbell(top, &["cubic"], "0s").replace("name = \"all\"", group));
    // Without a kernel, the commands fail for another reason.
    let is_refused = |mode, words: &str| {
        fs::set_permissions(folder.path("scenario.toml"), PermissionsExt::from_mode(mode)).unwrap();
        let words: Vec<&str> = words.split(' ').collect();
        let said = unwrapped(&text(&folder.command(&words).env("SHALLOP_KERNELS", "none").output().unwrap().stderr));
        said.contains("otherusersmaywritetoscenario.toml") && said.contains("add--allow-programs")
    };
    let run = [
        "run scenario.toml",
        "sweep scenario.toml --vary duration=1s,2s --out out",
        "compare scenario.toml scenario.toml",
    ];
    for command in run.into_iter().chain(["rehearse scenario.toml", "agree scenario.toml", "shell scenario.toml"]) {
        assert!(is_refused(0o664, command) && is_refused(0o646, command), "{command}");
    }
    for command in run {
        assert!(!is_refused(0o644, command) && !is_refused(0o646, &format!("{command} --allow-programs")), "{command}");
    }
    let checked = unwrapped(&text(&folder.shallop(&["check", "scenario.toml"]).stderr));
    assert!(checked.contains("runsprogramswithallrightsofitsuser:touch"), "{checked}");
}

#[test]
fn json_has_the_promised_fields() {
    let summary = Folder::with(scenario()).json(&["run", "scenario.toml", "--json"]);
    assert_eq!(summary["scenario"], "Four flows");
    assert_eq!(summary["version"], env!("CARGO_PKG_VERSION"));
    let runs = summary["runs"].as_array().unwrap();
    let made: Vec<(&str, u64)> =
        runs.iter().map(|run| (run["scheme"].as_str().unwrap(), run["seed"].as_u64().unwrap())).collect();
    assert_eq!(made, [("cubic", 1), ("cubic", 2), ("flashpass", 1), ("flashpass", 2)]);
    for run in runs {
        for field in [
            "scheme", "seed", "point", "throughput_bps", "wire_bps", "goodput_bps", "windows", "loss_rate", "drops",
            "loss_by_place", "marks", "queues", "max_queue_bytes", "rtt", "jain", "utilization", "retransmits",
            "timeouts", "credit", "fct", "packet_hops", "delivered_data_packets", "wall_s",
        ] {
            assert!(run.get(field).is_some(), "{field}");
        }
        assert!(run["throughput_bps"].as_f64().unwrap() > 1e8);
        assert!(run["delivered_data_packets"].as_u64().unwrap() > 1000);
        assert_eq!(run["windows"][0]["from_s"], 0.1);
        assert_eq!(run["credit"].is_null(), run["scheme"] == "cubic");
    }
}

#[test]
fn the_same_inputs_give_the_same_bytes_on_any_number_of_jobs_and_cores() {
    let folder = Folder::with(scenario());
    for (out, option, number) in
        [("a", "--jobs", "1"), ("b", "--cores", "1"), ("c", "--cores", "2"), ("d", "--jobs", "5")]
    {
        folder.done(&["run", "scenario.toml", "--out", out, option, number]);
    }
    let at = |out: &str, name: &str| folder.path(out).join(name);
    for other in ["b", "c", "d"] {
        assert_eq!(timeless(&at("a", "summary.json")), timeless(&at(other, "summary.json")));
        for name in ["flows.parquet", "series.parquet"] {
            let same = fs::read(at("a", name)).unwrap() == fs::read(at(other, name)).unwrap();
            assert!(same, "{name} of {other}");
        }
    }
    folder.done(&["run", "scenario.toml", "--out", "e", "--seed", "3"]);
    assert_ne!(timeless(&at("a", "summary.json")), timeless(&at("e", "summary.json")));
}

#[test]
fn result_files_can_be_read_back() {
    let folder = Folder::with(scenario());
    let printed = folder.json(&["run", "scenario.toml", "--out", "deep/results", "--json"]);
    let path = |name: &str| folder.path("deep/results").join(name);
    assert_eq!(printed, folder.summary("deep/results"));
    let flows = shallop_store::read_table(path("flows.parquet")).unwrap();
    assert_eq!((flows.name.as_str(), flows.rows()), ("flows", 16));
    let series = shallop_store::read_table(path("series.parquet")).unwrap();
    assert!(series.rows() > 100);
    for (table, columns) in [
        (&flows, ["point", "scheme", "seed", "flow", "group", "fct_s"]),
        (&series, ["point", "scheme", "seed", "time_s", "what", "value"]),
    ] {
        for column in columns {
            assert!(table.column(column).is_some(), "{column}");
        }
    }
    let names: Vec<_> = fs::read_dir(folder.path("deep/results")).unwrap().collect();
    assert_eq!(names.len(), 5, "the page, three files, and the runs");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_is_finished() {
    use std::process::{Command, Stdio};
    let long = format!("{}{CLAIMS}", scenario()).replace("seeds = [1, 2]", "seeds = [1]");
    let folder = Folder::with(long.replace("\"200ms\"", "\"3600s\""));
    let mut command = folder.command(&["run", "scenario.toml", "--json", "--jobs", "1"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["interrupted"], true);
    assert_eq!(summary["claims"][0]["verdict"], "not run");
}

#[test]
fn a_benchmark_reports_what_it_counted() {
    let folder = Folder::with("");
    let this = env!("CARGO_BIN_EXE_shallop");
    let measured = folder.json(&["bench", "--quick", "--only", "20 flows cubic", "--against", this, "--json"]);
    let case = &measured["cases"][0];
    assert_eq!((&case["case"], &case["transport"]), (&"20 flows".into(), &"cubic".into()));
    for field in ["packet_hops", "delivered_data_packets", "wall_s", "user_s", "ns_per_packet", "hops_per_s"] {
        assert!(case[field].as_f64().unwrap() > 0.0, "{field}");
    }
    assert!(case["ratio"][1].as_f64().unwrap() > 0.0);
    assert!(measured["calibration_events_per_s"].as_f64().unwrap() > 1e5);
}

#[test]
fn a_missing_kernel_is_exit_code_3_with_advice() {
    let folder = Folder::with(scenario().replace("stack = \"ns2\"", "stack = \"kernel\""));
    for arguments in [&["run", "scenario.toml", "--out", "results"][..], &["kernel", "test"]] {
        let mut command = folder.command(arguments);
        let output = command.env("SHALLOP_KERNELS", folder.path("none")).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
        assert!(unwrapped(&said).contains("'shallopkernelbuild'"), "{said}");
    }
    assert!(!folder.path("results").join("summary.json").exists(), "nothing was run");
    // Checking a scenario needs no kernel.
    folder.done(&["check", "scenario.toml"]);
}
