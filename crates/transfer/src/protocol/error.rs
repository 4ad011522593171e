//! Errors of a transfer.

use std::{io, path::PathBuf};
use thiserror::Error;

/// Why a transfer ended early. The receiver keeps partial files for the next transfer.
#[derive(Debug, Error)]
pub enum TransferError {
    /// A file or folder on this side cannot be used.
    #[error("{}: {source}", path.display())]
    Local { path: PathBuf, source: io::Error },
    /// A file or folder cannot be sent, for example because it is a symbolic link.
    #[error("{}: {reason}", path.display())]
    Unsendable { path: PathBuf, reason: String },
    /// The list of entries breaks a rule of [`Manifest`](super::Manifest). The receiver has written nothing.
    #[error("refused what was offered: {0}")]
    Manifest(String),
    #[error("the link is lost: {0}")]
    Link(#[from] io::Error),
    #[error("the peer does not keep to the protocol: {0}")]
    Protocol(String),
    #[error("the peer refuses: {0}")]
    Refused(String),
}
