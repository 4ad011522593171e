//! Why a program cannot be loaded or used.

use std::io;
use std::path::Path;

/// Why a program cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    /// There are no programs in this build.
    #[error(
        "this shallop was built without programs for the kernel: 'make linux' builds one that has them"
    )]
    NotBuilt,
    /// This process may not load programs.
    #[error(
        "programs for the kernel are for root only (CAP_BPF and CAP_NET_ADMIN): run it as root"
    )]
    NotAllowed,
    /// This machine or its kernel lacks something.
    #[error("{0}")]
    Lacks(String),
    /// The kernel refused something, with what it said last.
    #[error("{what}: {why}")]
    Refused {
        /// What was tried.
        what: String,
        /// What the kernel or libbpf said.
        why: String,
    },
    /// A file of programs that stay.
    #[error("{what}: {why}")]
    File {
        /// The file, and what was tried.
        what: String,
        /// The error of the system.
        why: io::Error,
    },
    /// There is nothing of this name, or it is there already.
    #[error("{0}")]
    Name(String),
}

/// Says which file could not be used.
pub(crate) fn file(what: &str, path: &Path) -> impl Fn(io::Error) -> BpfError {
    let what = format!("{what} {}", path.display());
    move |why| BpfError::File { what: what.clone(), why }
}
