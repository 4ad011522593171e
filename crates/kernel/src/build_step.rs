//! Steps of building a kernel or a module, and their errors.

use crate::error::KernelError;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The reason why a kernel or module was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A package must be installed first; the text has the command.
    #[error("{0}")]
    Missing(String),
    #[error("the source of {0} is not as expected: {1}")]
    Source(String, String),
    #[error("{step} failed; its last lines:\n{log}")]
    Step {
        step: &'static str,
        /// The last lines of the step's output.
        log: String,
    },
    /// The working folder of the build could not be made.
    #[error(transparent)]
    Folder(#[from] KernelError),
    /// A file could not be read or written.
    #[error("{0}: {1}")]
    File(PathBuf, #[source] std::io::Error),
}

pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> BuildError {
    let path = path.to_owned();
    move |why| BuildError::File(path, why)
}

/// The number of lines of a log that an error shows.
const LAST_LINES: usize = 15;

/// Runs a command, and keeps its output for the error.
pub(crate) fn step(name: &'static str, command: &mut Command) -> Result<(), BuildError> {
    let failed = |log: String| BuildError::Step { step: name, log };
    let of = |why: std::io::Error| failed(why.to_string());
    let mut log = tempfile::tempfile().map_err(of)?;
    let [out, errors] = [log.try_clone().map_err(of)?, log.try_clone().map_err(of)?];
    let done = command.stdin(Stdio::null()).stdout(out).stderr(errors).status().map_err(of)?;
    if done.success() {
        return Ok(());
    }
    let mut said = Vec::new();
    log.rewind().and_then(|()| log.read_to_end(&mut said)).map_err(of)?;
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    Err(failed(lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")))
}
