//! The protocol of transfers of files and folders.
//!
//! The protocol runs over a [`Link`] with reliable unidirectional streams. Each side first opens its control stream and
//! sends on it one JSON object per line:
//!
//! 1. The sender sends a `hello` with the number of entries and bytes, then an `entry` for each file and folder.
//! 2. For each file the receiver sends `have`: the BLAKE3 of a complete file of that name and size, the length and
//!    BLAKE3 of a partial file, or nothing.
//! 3. For each file the sender either answers that the receiver's file is the same, or different and not to be
//!    replaced, or opens a stream with a marker byte, the entry's number, an offset and the bytes from there. The
//!    BLAKE3 of the whole file follows on the control stream.
//! 4. For each entry the receiver sends `done` or `failed`. After the last one, both sides send `end` and the sender
//!    closes the link.
//!
//! The receiver writes a file under a name that ends in `.shallop-part`, and renames it when it is complete, verified
//! and on disk. Either side may be killed at any time, and the next transfer resumes partial files.

mod control;
mod entry_states;
mod error;
mod folder;
mod link;
mod manifest;
mod message;
mod progress;
mod receiver;
mod sender;
mod sources;

pub use error::TransferError;
pub use folder::PART_SUFFIX;
pub use link::{Link, Outgoing};
pub use manifest::{Entry, Kind, MAX_ENTRIES, MAX_PATH, MAX_PATHS, Manifest};
pub use progress::{Failure, FileOutcome, Position, Progress, Summary};
pub use receiver::{ReceiveOptions, receive};
pub use sender::{SendOptions, send};
pub use sources::SourcePaths;

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

/// The first byte of a file stream.
const FILE_STREAM: u8 = b'F';
