//! A test binary that runs itself as another process: with other surroundings, or to be killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Set in a process that was started by [`command`].
const IN_CHILD: &str = "SHALLOP_KERNEL_TEST_CHILD";

/// Whether this process was started by [`command`], to do what the test of that name does then.
pub fn is_child() -> bool {
    std::env::var_os(IN_CHILD).is_some()
}

/// The command that runs the test of this name in another process, with `first` before the program and its arguments.
pub fn command(first: &[&str], test: &str, temporary: &Path) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut command = match first {
        [] => Command::new(&program),
        [wrapper, arguments @ ..] => {
            let mut command = Command::new(wrapper);
            command.args(arguments).arg(&program);
            command
        }
    };
    command.args(["--exact", test, "--include-ignored", "--nocapture", "--test-threads", "1"]);
    command.env(IN_CHILD, "1").env("TMPDIR", temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What follows this word in what the child prints.
pub fn answer(child: Child, word: &str) -> String {
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| Some(line.split_once(word)?.1.trim().to_owned()));
    line.unwrap_or_else(|| panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr)))
}

/// All processes for which this holds.
pub fn processes(wanted: impl Fn(u32) -> bool) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(|&process| wanted(process)).collect()
}

/// The processes whose arguments or environment have this path. A process that has ended has neither.
pub fn with_path(path: &Path) -> Vec<u32> {
    let path = path.to_str().unwrap().as_bytes();
    processes(|process| {
        ["cmdline", "environ"].iter().any(|file| {
            let bytes = std::fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
            bytes.windows(path.len()).any(|window| window == path)
        })
    })
}

/// The kernels that this process has started.
pub fn kernels_of(parent: u32) -> Vec<u32> {
    processes(|process| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        stat.contains("(linux)") && after == Some(&parent.to_string())
    })
}
