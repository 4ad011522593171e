//! What tests need from the machine, and how a test ends if the machine lacks it.

use crate::cause::Cause;
use std::fmt;
use std::path::{Path, PathBuf};

/// The return type of a test that may be skipped.
pub type Outcome = Result<(), Stop>;

/// Why a test stopped before its end: the machine lacks something, or the test failed. Every error converts into a
/// failure by `?`.
#[derive(Debug)]
pub struct Stop(pub(crate) Why);

#[derive(Debug)]
pub(crate) enum Why {
    Skipped(Cause, String),
    Failed(String),
}

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Self {
        Self(Why::Failed(error.to_string()))
    }
}

/// A skip for a cause. The reason says what is missing, and where possible how to get it.
pub fn skip(cause: Cause, reason: impl fmt::Display) -> Stop {
    // A test is reported on one line.
    let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    Stop(Why::Skipped(cause, reason))
}

/// The value that a test needs; an error is a skip for this cause.
///
/// # Errors
/// A skip.
pub fn need<T>(cause: Cause, found: Result<T, impl fmt::Display>) -> Result<T, Stop> {
    found.map_err(|reason| skip(cause, reason))
}

/// Looks for programs that a test starts, in PATH and in /usr/sbin.
///
/// # Errors
/// A skip that names all missing programs.
pub fn programs(names: &[&str]) -> Outcome {
    let missing: Vec<&str> = names.iter().filter(|name| find(name).is_none()).copied().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(skip(Cause::Programs, format!("not installed: {}", missing.join(", "))))
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // PATH of an ordinary user lacks /usr/sbin, the folder of servers such as sshd.
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Checks that the tests run as root.
///
/// # Errors
/// A skip for other users.
pub fn root() -> Outcome {
    match effective_user(&std::fs::read_to_string("/proc/self/status").unwrap_or_default()) {
        Some(0) => Ok(()),
        Some(user) => Err(skip(Cause::Root, format!("the tests run as user {user}, not as root"))),
        None => Err(skip(Cause::Root, "/proc/self/status names no user")),
    }
}

/// The second number of the line `Uid:` of /proc/PID/status.
fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_user_is_the_second_number() {
        let status = "Name:\tx\nUid:\t1000\t0\t1000\t1000\nGid:\t5\t6\t5\t5\n";
        assert_eq!(effective_user(status), Some(0));
        assert_eq!(effective_user("Name:\tx\n"), None);
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        programs(&["sh"]).unwrap();
        let Err(Stop(Why::Skipped(Cause::Programs, reason))) = programs(&["sh", "no-such-program", "nor-this"]) else {
            panic!("a program that does not exist was found");
        };
        assert_eq!(reason, "not installed: no-such-program, nor-this");
    }

    #[test]
    fn a_reason_is_one_line() {
        let Stop(Why::Skipped(_, reason)) = skip(Cause::Bpf, "one\n  two") else { panic!() };
        assert_eq!(reason, "one two");
    }
}
