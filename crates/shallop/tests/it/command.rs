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
fn the_same_inputs_give_the_same_bytes_on_any_number_of_jobs() {
    let folder = Folder::with(scenario());
    for (out, jobs) in [("a", "1"), ("b", "1"), ("c", "2"), ("d", "5")] {
        folder.done(&["run", "scenario.toml", "--out", out, "--jobs", jobs]);
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

#[test]
fn a_claim_that_fails_is_exit_code_1() {
    let folder = Folder::with(format!("{}{CLAIMS}", scenario()));
    let output = folder.shallop(&["run", "scenario.toml", "--out", "results", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verdicts: Vec<&str> =
        summary["claims"].as_array().unwrap().iter().map(|claim| claim["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["holds", "fails"]);
    assert!(folder.path("results/summary.json").exists());
    let honest = CLAIMS.split("\n\n").next().unwrap();
    let output = Folder::with(format!("{}{honest}", scenario())).shallop(&["run", "scenario.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("1 claim: 1 holds"));
}

#[test]
fn piped_output_is_plain_text_of_120_columns() {
    let folder = Folder::with(format!("{}{CLAIMS}", scenario()));
    for arguments in
        [&["run", "scenario.toml"][..], &["check", "scenario.toml", "--explain"], &["reproduce"], &["chips"]]
    {
        let output = folder.shallop(arguments);
        let printed = text(&output.stdout);
        assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
        assert!(!printed.contains('\u{1b}') && !printed.contains('\r'), "{printed}");
        assert!(printed.lines().all(|line| line.chars().count() <= 120), "{printed}");
        assert!(!printed.is_empty());
    }
}

#[test]
fn check_counts_the_runs_and_explains_the_numbers() {
    let folder = Folder::with(scenario());
    let output = folder.shallop(&["check", "scenario.toml"]);
    let line = "ok: 1 point × 2 schemes × 2 seeds = 4 runs of 200ms each\n";
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), line));
    let explained = text(&folder.shallop(&["check", "scenario.toml", "--explain"]).stdout);
    for words in ["20.000 KB", "metered rate / 84 B", "largest base round trip +"] {
        assert!(explained.contains(words), "{words} is not in: {explained}");
    }
    assert!(!explained.contains("parameters of scheme") && explained.lines().count() < 20, "{explained}");
    assert!(explained.trim_end().ends_with("--explain --all has them"), "{explained}");
    let all = text(&folder.shallop(&["check", "scenario.toml", "--explain", "--all"]).stdout);
    assert!(all.contains("84 / (84 + 1538)") && all.contains("r0>left "), "{all}");
    assert!(all.contains("parameters of scheme"), "{all}");
}

#[test]
fn long_studies_say_how_long_they_take_here() {
    let folder = Folder::with(scenario().replacen("200ms", "86400s", 1));
    let output = folder.shallop(&["check", "scenario.toml"]);
    let said = text(&output.stdout);
    let (_, how_long) = said.trim_end().split_once(" each, about ").unwrap_or_else(|| panic!("{said}"));
    assert!(how_long.ends_with(" on this machine"), "{said}");
}

#[test]
fn check_explains_each_link_with_its_switch_and_chip() {
    let folder =
        Folder::with(scenario().replacen("[[scheme]]", "[switch.default]\nchip = \"trident2\"\n[[scheme]]", 1));
    let explained = text(&folder.shallop(&["check", "scenario.toml", "--explain", "--all"]).stdout);
    let row = |start: &str| {
        let line = explained.lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("{start} is not in: {explained}"))
    };
    for words in ["rate", "delay", "switch", "chip", "buffer", "offered"] {
        assert!(row("link ").contains(words), "{words}: {explained}");
    }
    let bottleneck = row("left>r0 ");
    assert!(bottleneck.contains("default") && bottleneck.contains("trident2"), "{bottleneck}");
    assert!(row("r0>left ").contains("host"), "{explained}");
    let links = &folder.json(&["check", "scenario.toml", "--explain", "--json"])["sections"][0]["links"];
    assert!(links.as_array().unwrap().iter().any(|link| link["link"] == "left>r0"), "{links}");
    let many = ["check", "scenario.toml", "--explain", "--all", "--set", "topology.senders=30"];
    let short = text(&folder.shallop(&many).stdout);
    assert!(short.contains(" more: --wide and --json have all"), "{short}");
    let whole = text(&folder.shallop(&[&many[..], &["--wide"]].concat()).stdout);
    assert!(!whole.contains(" more: --wide") && whole.contains("s29>left"), "{whole}");
}

#[test]
fn schema_chips_and_the_list_of_experiments_are_json() {
    let folder = Folder::with("");
    assert!(folder.json(&["schema"]).get("properties").is_some());
    let chips = folder.json(&["chips", "--json"]);
    assert!(chips["chips"][0]["buffer_bytes"].as_u64().unwrap() > 0);
    let list = folder.json(&["reproduce", "--json"]);
    let experiments = list["experiments"].as_array().unwrap();
    assert!(experiments.iter().any(|experiment| experiment["id"] == "fp-fig10a"));
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
    let measured = folder.json(&["bench", "--quick", "--only", "20 flows cubic", "--json"]);
    let case = &measured["cases"][0];
    assert_eq!((&case["case"], &case["transport"]), (&"20 flows".into(), &"cubic".into()));
    for field in ["packet_hops", "delivered_data_packets", "wall_s", "hops_per_s"] {
        assert!(case[field].as_f64().unwrap() > 0.0, "{field}");
    }
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
