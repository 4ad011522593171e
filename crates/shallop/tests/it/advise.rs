//! Races that are killed or interrupted.

use crate::support::{Folder, dumbbell, text};
use serde_json::Value;
use std::process::{Child, Command, Stdio};
use std::{fs, thread::sleep, time::Duration};

const TOP: &str = "title = \"A few flows\"\nduration = \"100ms\"\nsample = \"1ms\"\nstack = \"ns2\"";

fn arguments<'a>(out: &'a str, runs: &'a str) -> Vec<&'a str> {
    let question = ["--minimise", "rtt.mean_s", "--vary", "switch.default.mark.above=3KB,10KB,30KB,100KB"];
    [&["advise", "scenario.toml", "--jobs", "1", "--out", out, "--runs", runs][..], &question].concat()
}

/// Starts a race, and waits until some runs have ended.
fn started(folder: &Folder, out: &str, runs: &str, ended: usize) -> Child {
    let mut child = folder.command(&arguments(out, runs)).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let is_run = |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "json");
    let kept = || fs::read_dir(folder.path(out).join("runs")).into_iter().flatten().flatten().filter(is_run).count();
    while kept() < ended {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
        sleep(Duration::from_millis(2));
    }
    child
}

fn advice(folder: &Folder, out: &str) -> Vec<u8> {
    fs::read(folder.path(out).join("advise.json")).unwrap()
}

#[test]
fn a_race_that_was_killed_or_interrupted_ends_with_the_same_ranking() {
    let folder = Folder::with(dumbbell(TOP, &["dctcp"], "0s..5ms"));
    folder.done(&arguments("whole", "24"));
    for ended in [2, 9] {
        let mut child = started(&folder, "killed", "24", ended);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    folder.done(&arguments("killed", "24"));
    assert_eq!(text(&advice(&folder, "whole")), text(&advice(&folder, "killed")));
    let child = started(&folder, "interrupted", "500", 5);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let so_far: Value = serde_json::from_slice(&advice(&folder, "interrupted")).unwrap();
    assert_eq!((&so_far["interrupted"], &so_far["candidates"][0]["standing"]), (&true.into(), &"best".into()));
    folder.done(&arguments("interrupted", "24"));
    assert_eq!(text(&advice(&folder, "whole")), text(&advice(&folder, "interrupted")));
}
