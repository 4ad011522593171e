//! Rehearsals of scenarios with programs.

use std::path::PathBuf;

use serde_json::Value;

use super::{Folder, text};

/// Whether this machine can rehearse; says why if it cannot.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub fn can_rehearse(folder: &Folder) -> bool {
    let found = folder.json(&["doctor", "--format", "json"]);
    let all = found["abilities"].as_array().unwrap();
    let hosts = all.iter().find(|of| of["what"] == "hosts").unwrap();
    if hosts["can"] != Value::Bool(true) {
        println!("skipped: {}", hosts["found"].as_str().unwrap());
    }
    hosts["can"] == Value::Bool(true)
}

/// Rehearses the scenario with these options and variables, and returns the folder with those of its programs, which
/// find `shallop` by its name. A run that is too late on this machine has programs as well.
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
