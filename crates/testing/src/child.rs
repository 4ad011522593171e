//! Child processes of tests: functions of the test executable that run in a process of their own.

use crate::needs::{Stop, Why};
use crate::runner::Test;
use std::io::Write as _;
use std::process::{Command, ExitCode};

/// The environment variable that names the child to run.
const CHILD: &str = "SHALLOP_TEST_CHILD";

/// The path of the test executable. A process with the variable [`environment`] runs a child instead of tests.
///
/// # Panics
/// If the system does not know the path of this process.
pub fn program() -> std::path::PathBuf {
    std::env::current_exe().expect("the path of this executable")
}

/// The variable that makes a process of the test executable run a child.
pub fn environment(name: &str) -> (&'static str, &str) {
    (CHILD, name)
}

/// A command that runs the child of this name, as `children` of [`tests!`](crate::tests) lists it.
pub fn command(name: &str) -> Command {
    let mut command = Command::new(program());
    let (variable, name) = environment(name);
    command.env(variable, name);
    command
}

pub(crate) fn wanted() -> Option<String> {
    std::env::var(CHILD).ok()
}

/// Runs a child, and prints its error on standard error.
pub(crate) fn run(name: &str, children: &[Test]) -> ExitCode {
    let Some(child) = children.iter().find(|child| child.name == name) else {
        complain(&format!("{CHILD}: there is no child {name:?}"));
        return ExitCode::from(2);
    };
    match (child.run)() {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop(Why::Failed(why) | Why::Skipped(_, why))) => {
            complain(&why);
            ExitCode::FAILURE
        }
    }
}

pub(crate) fn complain(what: &str) {
    // If standard error is closed, the exit code still reports the error.
    let _ = writeln!(std::io::stderr(), "{what}");
}
