//! Skips for missing kernels and namespaces, and rehearsals of scenarios with programs.

use crate::support::{Folder, text};
use serde_json::Value;
use shallop_testing::{Cause, Outcome, need};
use std::path::PathBuf;

/// Skips the test unless this machine can create the hosts of rehearsals.
pub fn hosts(folder: &Folder) -> Outcome {
    let found = folder.json(&["doctor", "--format", "json"]);
    let all = found["abilities"].as_array().unwrap();
    let hosts = all.iter().find(|of| of["what"] == "hosts").unwrap();
    let can = hosts["can"] == Value::Bool(true);
    need(Cause::Namespaces, can.then_some(()).ok_or_else(|| hosts["found"].as_str().unwrap()))
}

/// Skips the test unless a kernel for virtual time is installed.
pub fn kernel(folder: &Folder) -> Outcome {
    let kernels = folder.json(&["kernel", "list", "--format", "json"]);
    let has_one = kernels.as_array().is_some_and(|all| !all.is_empty());
    let missing = "no kernel is installed: 'shallop kernel build' makes one";
    need(Cause::Kernel, has_one.then_some(()).ok_or(missing))
}

/// Rehearses the scenario and returns the folder with the files of its programs, which find `shallop` in PATH. A void
/// run has such a folder, too.
pub fn programs(folder: &Folder, options: &[&str], variables: &[(&str, &str)]) -> PathBuf {
    let here = std::path::Path::new(env!("CARGO_BIN_EXE_shallop")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = folder.command(&["rehearse", "scenario.toml", "--out", "out"]);
    command.args(options).envs(variables.iter().copied());
    command.env("PATH", format!("{}:{path}", here.display()));
    command.env("XDG_DATA_HOME", folder.path("data"));
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{}", text(&output.stderr));
    let mut runs = std::fs::read_dir(folder.path("out/runs")).unwrap().map(|of| of.unwrap().path());
    runs.find(|path| path.is_dir()).unwrap()
}
