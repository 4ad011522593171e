//! The protocol of transfers of files and folders.
//!
//! The protocol runs over a [`Link`] with reliable unidirectional streams. Each side first opens its control stream and
//! sends on it one JSON object per line:
//!
//! 1. The sender sends a `hello` with its [`Token`] and the number of entries and bytes, then an `entry` for each file
//!    and folder.
//! 2. For each file the receiver sends `want`, with the length and BLAKE3 of the partial file that a sender with this
//!    token began, if there is one. If it has a complete file of that name, it sends `ask` first. The sender answers
//!    `sum`, the BLAKE3 of its file, and the receiver compares: it never tells a digest of a complete file. A sender
//!    that cannot send a file says `abandon`.
//! 3. The sender sends each wanted file as a record on a stream (`record.rs`): from the end of the partial file if that
//!    is the begin of the file, else from 0. Files of up to 256 KiB share the streams of their senders' threads, larger
//!    ones have a stream each.
//! 4. For each entry the receiver sends `done`, `same` or `failed`. After the last one it sends `end`, and the sender
//!    closes the link.
//!
//! If all files together are short ([`SendOptions::push`]), the sender says `pushed` in its `hello` and sends the
//! records right after the list, and step 2 is left out.
//!
//! The receiver writes a file under a name with a tag of the token that ends in `.shallop-part`, and renames it when it
//! is complete, verified and on disk. Small files are synced together. Either side may be killed at any time, and the
//! next transfer with this token resumes partial files. Senders with another token learn nothing of them, and cannot
//! change or lock them.

mod control;
mod entry_states;
mod error;
mod folder;
mod link;
mod list;
mod manifest;
mod message;
mod progress;
mod reasons;
mod receive_options;
mod receiver;
mod record;
mod sender;
mod sources;
mod token;

pub use error::TransferError;
pub use folder::{PART_SUFFIX, part_name};
pub use link::{Link, Outgoing};
pub use manifest::{Entry, Kind, MAX_ENTRIES, MAX_PATH, MAX_PATHS, Manifest};
pub use progress::{Failure, FileOutcome, Position, Progress, Summary};
pub use receive_options::ReceiveOptions;
pub use receiver::receive;
pub use sender::{SendOptions, send};
pub use sources::SourcePaths;
pub use token::Token;

/// The most file streams of a sender at a time.
pub const MAX_STREAMS: usize = 64;

/// The length of a read, hash or write, bytes.
const CHUNK: usize = 256 * 1024;

/// The pause after a short read, so that a reader is not woken for each packet.
const READ_PAUSE: std::time::Duration = std::time::Duration::from_millis(1);

/// Pauses after a read of less than half a [`CHUNK`], if more than a whole one is still to come.
pub(crate) fn pause_if_short(got: usize, left: u64) {
    if got < CHUNK / 2 && left > CHUNK as u64 {
        std::thread::sleep(READ_PAUSE);
    }
}

/// The upper bound of the bytes of all files that a sender may send unasked.
const MAX_PUSHED: u64 = 64 * 1024;
