//! Child processes of tests: in another environment, or to be killed.

use shallop_testing::{child, processes};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The command that runs the child `name` in a new process, with temporary files in a folder.
pub fn command(name: &str, temporary: &Path) -> Command {
    with_child(Command::new(child::program()), name, temporary)
}

/// Makes a command that starts this test executable run the child `name`.
pub fn with_child(mut command: Command, name: &str, temporary: &Path) -> Command {
    let (variable, name) = child::environment(name);
    command.env(variable, name).env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The text after `word` in the output of a child.
pub fn answer(output: &Output, word: &str) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| Some(line.split_once(word)?.1.trim().to_owned()));
    line.unwrap_or_else(|| panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// The processes whose arguments or environment contain this path.
pub fn with_path(path: &Path) -> Vec<u32> {
    let path = path.to_str().unwrap().as_bytes();
    processes::find(|process| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
            bytes.windows(path.len()).any(|window| window == path)
        })
    })
}

pub fn kernels_of(parent: u32) -> Vec<u32> {
    processes::find(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        stat.contains("(linux)") && after == Some(&parent.to_string())
    })
}
