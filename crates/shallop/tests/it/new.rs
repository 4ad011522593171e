//! `new`, `completions` and `man` as processes. Tests of crates/scenario/src/template.rs check every choice of `new`.

use crate::support::{Folder, text};
use std::fs;

#[test]
fn without_a_terminal_defaults_are_used_and_named() {
    let folder = Folder::with("");
    let said = folder.done(&["new", "--out", "first.toml"]);
    for flag in ["--topology", "--traffic", "--transport"] {
        assert!(said.contains(flag), "{said}");
    }
    let written = fs::read_to_string(folder.path("first.toml")).unwrap();
    assert!(written.contains("\"dumbbell\"") && written.contains("\"flashpass\""), "{written}");
    let comments = written.lines().filter(|line| line.contains("# ")).count();
    assert!(comments >= 10, "{written}");
    folder.done(&["check", "first.toml"]);
    let run = folder.json(&["run", "first.toml", "--quick", "--set", "duration=300ms", "--json"]);
    assert_eq!(run["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn nothing_is_overwritten_without_force() {
    let folder = Folder::with("mine");
    folder.refused(&["new", "--out", "scenario.toml"], &["scenario.toml", "--force"]);
    assert_eq!(fs::read_to_string(folder.path("scenario.toml")).unwrap(), "mine");
    folder.done(&["new", "--force"]);
    assert_ne!(fs::read_to_string(folder.path("scenario.toml")).unwrap(), "mine");
}

#[test]
fn unread_columns_are_noted_and_the_longest_round_trip_sets_the_duration() {
    let folder = Folder::with("");
    fs::write(folder.path("far.csv"), "from,to,rate,delay,owner\na,b,1Gbps,900ms,us\n").unwrap();
    let said = folder.done(&["new", "--network", "far.csv", "--out", "far.toml"]);
    assert!(said.contains("note: far.csv: not read: owner"), "{said}");
    let written = fs::read_to_string(folder.path("far.toml")).unwrap();
    assert!(written.contains("duration = \"91s\"") && written.contains("duration = \"18.1s\""), "{written}");
    let said = folder.done(&["check", "far.toml"]);
    assert_eq!(said.matches("note: far.csv: not read: owner").count(), 1, "{said}");
}

#[test]
fn flags_choose_and_nothing_is_asked() {
    let folder = Folder::with("");
    let flags = ["--topology", "leaf-spine", "--transport", "dctcp,bbr", "--transport", "dctcp"];
    let said = folder.done(&[&["new", "--out", "f.toml", "--traffic", "incast"][..], &flags].concat());
    assert_eq!(said, "");
    let written = fs::read_to_string(folder.path("f.toml")).unwrap();
    assert_eq!(written.matches("[[scheme]]").count(), 2, "{written}");
    assert!(written.contains("mark = "), "{written}");
    folder.done(&["check", "f.toml"]);
}

#[test]
fn a_network_file_is_found_from_the_folder_of_the_scenario() {
    let folder = Folder::with("");
    let sites = "from,to,rate,delay\nLyon,Geneva,1Gbps,2ms\nGeneva,Zurich,1Gbps,3ms\n";
    fs::create_dir(folder.path("nets")).unwrap();
    fs::write(folder.path("nets/sites.csv"), sites).unwrap();
    let network = ["new", "--transport", "cubic", "--network", "nets/sites.csv", "--traffic", "long"];
    for out in ["nets/a.toml", "b.toml"] {
        folder.done(&[&network[..], &["--out", out]].concat());
        folder.done(&["check", out]);
    }
    fs::create_dir(folder.path("other")).unwrap();
    folder.done(&[&network[..], &["--out", "other/c.toml"]].concat());
    folder.done(&["check", "other/c.toml"]);
    folder.refused(&["new", "--topology", "file", "--out", "d.toml"], &["--network"]);
    let chip = ["new", "--transport", "dctcp", "--chip", "trident3", "--out", "chip.toml"];
    folder.done(&chip);
    let explained = text(&folder.shallop(&["check", "chip.toml", "--explain"]).stdout);
    assert!(explained.contains("Dynamic Thresholds, alpha = 8"), "{explained}");
    folder.refused(&["new", "--chip", "trident33", "--out", "d.toml"], &["trident3"]);
    let both = ["new", "--topology", "campus", "--network", "nets/sites.csv", "--out", "d.toml"];
    folder.refused(&both, &["--topology campus"]);
    fs::write(folder.path("bad.csv"), "from,to\nA,B,C\n").unwrap();
    folder.refused(&["new", "--network", "bad.csv", "--out", "d.toml"], &["bad.csv"]);
    assert!(!folder.path("d.toml").exists());
}

#[test]
fn a_network_file_with_sections_and_a_thin_link_gives_a_scenario_that_is_read() {
    let folder = Folder::with("");
    let sites = "from,to,rate,delay,switch\nA,B,100Gbps,2ms,\nB,C,100Gbps,2ms,\nC,D,100Mbps,2ms,\nA,,,,deep\n";
    fs::write(folder.path("sites.csv"), sites).unwrap();
    let new = ["new", "--transport", "dctcp", "--network", "sites.csv", "--traffic", "mixed", "--out", "n.toml"];
    folder.done(&new);
    let written = fs::read_to_string(folder.path("n.toml")).unwrap();
    assert!(written.contains("[switch.\"deep\"]\nbuffer = "), "{written}");
    let load = written.split("load = ").nth(1).and_then(|rest| rest.split(',').next()?.parse::<f64>().ok());
    assert!(load.is_some_and(|load| load > 0.0 && load < 0.01), "{written}");
    let said = folder.done(&["check", "n.toml"]);
    assert!(!said.contains("the arrivals offer the link"), "{said}");
}

#[test]
fn completion_scripts_have_commands_options_and_values() {
    let folder = Folder::with("");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = folder.shallop(&["completions", shell]);
        assert_eq!(output.status.code(), Some(0));
        let script = text(&output.stdout);
        for word in ["reproduce", "completions", "transport"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // The other two complete no values.
        let values = ["bash", "zsh", "fish"].contains(&shell);
        assert_eq!(script.contains("expresspass"), values, "{shell}");
    }
}

#[test]
fn every_command_gets_a_manual_page() {
    let folder = Folder::with("");
    fs::create_dir(folder.path("man")).unwrap();
    let output = folder.shallop(&["man", "man"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for (page, word) in [("shallop.1", "reproduce"), ("shallop-run.1", "quick"), ("shallop-host-load.1", "capacity")] {
        let text = fs::read_to_string(folder.path("man").join(page)).unwrap();
        assert!(text.contains(".TH shallop") && text.contains(word), "{page}: {text}");
    }
    folder.refused(&["man", "nowhere"], &["nowhere: ", "No such file"]);
}
