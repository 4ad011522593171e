//! Output on terminals and in formats for programs, escaped names, and folders that another process or person uses.

use crate::support::{Folder, text};
use serde_json::Value;
use std::{fs, process::Stdio};

const SCENARIO: &str = include_str!("hostile/scenario.toml");

#[test]
fn formats_are_read_back_by_programs() {
    let folder = Folder::with(SCENARIO);
    let output = folder.shallop(&["run", "scenario.toml", "--out", "out", "--format", "csv"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("The report is out/report.html."));
    let printed = text(&output.stdout);
    let rows: Vec<Vec<&str>> = printed.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0].len()), (2, rows[1].len()), "{printed}");
    assert_eq!((rows[0][..3].to_vec(), rows[1][0]), (vec!["scheme", "runs", "throughput_bps"], "cubic"));
    let rate = folder.summary("out")["runs"][0]["throughput_bps"].as_f64().unwrap();
    assert!((rows[1][2].parse::<f64>().unwrap() - rate).abs() < 1e-3);
    let swept = ["sweep", "scenario.toml", "--vary", "topology.senders=1,2", "--seeds", "3"];
    let printed = text(&folder.shallop(&[&swept[..], &["--format", "csv"]].concat()).stdout);
    let header = "topology.senders,scheme,runs,throughput_bps,throughput_bps ci95,";
    assert!(printed.starts_with(header) && printed.lines().count() == 3, "{printed}");
    let printed = text(&folder.shallop(&["run", "scenario.toml", "--format", "markdown"]).stdout);
    assert!(printed.starts_with("## Two flows\n\nCompletion times cannot be compared"), "{printed}");
    assert!(printed.contains("\n\n| scheme | FCT ms |"), "{printed}");
    assert!(printed.contains("| --- | ---: |") && printed.contains("| cubic |"), "{printed}");
    let json = folder.json(&["run", "scenario.toml", "--format", "json"]);
    assert_eq!(json["scenario"], "Two flows");
    for arguments in [&["chips"][..], &["check", "scenario.toml", "--explain"], &["reproduce"]] {
        let printed = |format: &str| {
            let output = folder.shallop(&[arguments, &["--format", format]].concat());
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            text(&output.stdout)
        };
        assert!(serde_json::from_str::<Value>(&printed("json")).unwrap().is_object());
        assert!(printed("markdown").contains("| --- |"), "{arguments:?}");
        let line = printed("csv");
        assert!(line.lines().count() > 5 && line.lines().all(|it| it.contains(',')), "{line}");
    }
}

#[test]
fn control_characters_in_names_are_escaped_in_every_output() {
    let hostile = r"\u001b[2J\u009b31m\u202eevil\u2066\r\n\u007f";
    let named = SCENARIO
        .replace("Two flows", &format!("Two {hostile} flows"))
        .replace("transport = \"cubic\"", &format!("transport = \"cubic\"\nname = \"c{hostile}\""))
        .replace("name = \"all\"", &format!("name = \"g{hostile}\""));
    let folder = Folder::with(named);
    let plain = |printed: &str| {
        let obeyed =
            |letter: char| (letter.is_control() && letter != '\n') || matches!(letter, '\u{202e}' | '\u{2066}');
        assert!(!printed.contains(obeyed), "{printed:?}");
    };
    for format in ["table", "csv", "markdown", "json"] {
        let output = folder.shallop(&["run", "scenario.toml", "--format", format, "--out", "out"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let printed = text(&output.stdout);
        plain(&printed);
        plain(&text(&output.stderr));
        assert!(printed.contains("\\u001b[2J") || printed.contains("\\u001b\\[2J"), "{printed}");
    }
    plain(&text(&folder.shallop(&["check", "scenario.toml", "--explain"]).stdout));
    let output = folder.shallop(&["run", "scenario.toml", "--set", "topology.rate=fast"]);
    plain(&text(&output.stderr));
    // A page contains no control characters, and names cannot close an element.
    let page = fs::read_to_string(folder.path("out/report.html")).unwrap();
    let body = page.split("<script").next().unwrap();
    assert!(!body.contains(['\u{1b}', '\u{7f}']) && body.contains("evil"), "the page");
}

#[test]
fn a_second_writer_of_a_folder_is_refused_until_the_first_is_gone() {
    let folder = Folder::with(SCENARIO);
    let endless = ["run", "scenario.toml", "--out", "out", "--jobs", "1", "--set", "group.all.size=1TB"];
    let mut first = folder.command(&[&endless[..], &["--set", "duration=3600s"]].concat());
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = || fs::read_dir(folder.path("out/runs")).is_ok_and(|mut it| it.next().is_some());
    while !begun() {
        assert!(first.try_wait().unwrap().is_none(), "it should still run");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for arguments in
        [&["run", "scenario.toml", "--out", "out"][..], &["sweep", "scenario.toml", "--out", "out", "--shard", "1/2"]]
    {
        folder.refused(arguments, &["out: another shallop is writing to this folder"]);
    }
    first.kill().unwrap();
    first.wait().unwrap();
    folder.done(&["run", "scenario.toml", "--out", "out"]);
    let names = fs::read_dir(folder.path("out")).unwrap().map(|it| it.unwrap().file_name());
    let names: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with('.')).collect();
    assert!(names.is_empty(), "{names:?}");
}
