//! Errors of loading and using BPF programs.

use std::{io, path::Path};

/// Why a BPF program cannot be loaded or used.
#[derive(Debug, thiserror::Error)]
pub enum BpfError {
    #[error("this shallop was built without programs for the kernel: 'make linux' builds one that has them")]
    NotBuilt,
    /// This process lacks the capabilities to load programs.
    #[error("programs for the kernel are for root only (CAP_BPF and CAP_NET_ADMIN): run it as root")]
    NotAllowed,
    /// This machine or its kernel lacks a requirement; the text names it.
    #[error("{0}")]
    Lacks(String),
    /// The kernel or libbpf refused an operation.
    #[error("{what}: {why}")]
    Refused {
        what: String,
        /// The error, followed by the last messages of libbpf.
        why: String,
    },
    /// A file of a pinned program could not be used.
    #[error("{what}: {why}")]
    File {
        /// The operation that failed, and the file.
        what: String,
        why: io::Error,
    },
    /// The name of a controller is invalid or in use already.
    #[error("{0}")]
    Name(String),
}

/// Makes an error about a file: `what` is the operation.
pub(crate) fn file(what: &str, path: &Path) -> impl Fn(io::Error) -> BpfError {
    let what = format!("{what} {}", path.display());
    move |why| BpfError::File { what: what.clone(), why }
}
