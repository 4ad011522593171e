//! Child processes of tests: with other surroundings, or to be killed.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use shallop_testing::{child, processes};

/// The command that runs the child `name` in a process of its own, with `first` before the program.
pub fn command(first: &[&str], name: &str, temporary: &Path) -> Command {
    started(first, &child::program(), name, temporary)
}

/// The command that runs the child `name` of this copy of the test executable.
pub fn started(first: &[&str], program: &Path, name: &str, temporary: &Path) -> Command {
    let mut command = match first {
        [] => Command::new(program),
        [wrapper, arguments @ ..] => {
            let mut command = Command::new(wrapper);
            command.args(arguments).arg(program);
            command
        }
    };
    let (variable, name) = child::environment(name);
    command.env(variable, name).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What follows this word in what a child has printed.
pub fn answer(output: &Output, word: &str) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| Some(line.split_once(word)?.1.trim().to_owned()));
    line.unwrap_or_else(|| panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// The processes whose arguments or environment have this path. A process that has ended has neither.
pub fn with_path(path: &Path) -> Vec<u32> {
    let path = path.to_str().unwrap().as_bytes();
    processes::find(|process| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
            bytes.windows(path.len()).any(|window| window == path)
        })
    })
}

/// The kernels that this process has started.
pub fn kernels_of(parent: u32) -> Vec<u32> {
    processes::find(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        stat.contains("(linux)") && after == Some(&parent.to_string())
    })
}
