//! Why a transfer ends early.

use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why a transfer ended before every entry had its answer. What has arrived is kept for the next.
#[derive(Debug, Error)]
pub enum TransferError {
    /// A file or folder on this side cannot be used.
    #[error("{}: {source}", path.display())]
    Local {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What was asked to be sent cannot be.
    #[error("{}: {reason}", path.display())]
    Unsendable {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The list of entries breaks a rule; nothing of it is touched.
    #[error("refused what was offered: {0}")]
    Manifest(String),
    /// The link was closed or lost.
    #[error("the link is lost: {0}")]
    Link(#[from] io::Error),
    /// The peer does not keep to the protocol.
    #[error("the peer does not keep to the protocol: {0}")]
    Protocol(String),
    /// The peer has refused the transfer.
    #[error("the peer refuses: {0}")]
    Refused(String),
}
