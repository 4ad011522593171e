//! Why a receiver ends a transfer, or refuses a file.

use crate::protocol::error::TransferError;
use shallop_quic::tidy;
use std::io;

/// Why a link is closed whose transfer gets no thread.
pub(crate) const NO_THREAD: &str = "the receiver has no thread for this transfer";

/// Why a link is closed whose sender is late.
pub(crate) const NO_LIST: &str = "its list of files takes too long";

pub(crate) fn no_thread(why: &io::Error) -> TransferError {
    TransferError::Link(io::Error::other(format!("{NO_THREAD}: {why}")))
}

pub(crate) fn different() -> io::Error {
    io::Error::other(
        "a file of that name is there, with other bytes, and the receiver was not started with --overwrite",
    )
}

pub(crate) fn hidden() -> io::Error {
    io::Error::other("a name in its path begins with a dot, and the receiver was not started with --hidden")
}

pub(crate) fn abandoned(reason: &str) -> io::Error {
    io::Error::other(format!("the sender cannot send it: {}", tidy(reason)))
}
