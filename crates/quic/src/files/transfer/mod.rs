//! Moving files and folders over streams.
//!
//! The protocol needs no more than a [`Link`]: streams that go one way, in order and without loss. Each side opens one
//! of them first, its control stream, and says on it one JSON object per line:
//!
//! 1. The sender says what there is: a greeting with the number of entries and of bytes, then every entry.
//! 2. For every file the receiver says what it has: a whole file and its BLAKE3, the start of one and the BLAKE3 of
//!    that start, or nothing.
//! 3. For every file the sender says that the receiver's is the same or must not be replaced, or opens a stream of the
//!    file's own: a byte that marks it, the file's number and the offset that it starts at, then the bytes. The BLAKE3
//!    of the whole file, start included, follows in the control stream.
//! 4. For every entry the receiver says whether it is in place. When all are, the sender says so, the receiver says so,
//!    and the sender closes the link.
//!
//! What has arrived of a file lies beside its place under a name that ends in `.shallop-part`, and takes its name
//! only when it is whole, verified and on the disk. So either side may die at any time: the next transfer goes on
//! from there.

mod control;
mod error;
mod folder;
mod link;
mod manifest;
mod message;
mod progress;
mod receiver;
mod sender;
mod slots;
mod sources;

pub use error::TransferError;
pub use folder::PART_SUFFIX;
pub use link::{Link, Outgoing};
pub use manifest::{Entry, Kind, MAX_ENTRIES, MAX_PATH, MAX_PATHS, Manifest};
pub use progress::{Failure, FileOutcome, Position, Progress, Summary};
pub use receiver::{ReceiveOptions, receive};
pub use sender::{SendOptions, send};
pub use sources::Sources;

/// Streams of data that one session may have open at a time, at most.
pub const MAX_STREAMS: usize = 64;

/// What is read, hashed and written at a time.
const CHUNK: usize = 256 * 1024;

/// What has arrived of a stream is gathered for so long if it is less than half of [`CHUNK`] and more than a whole one
/// is still to come: a reader that is woken for each packet costs more than the packet.
const GATHER: std::time::Duration = std::time::Duration::from_millis(1);

/// Lets more arrive behind `got` bytes, with `left` still to come.
pub(crate) fn gather(got: usize, left: u64) {
    if got < CHUNK / 2 && left > CHUNK as u64 {
        std::thread::sleep(GATHER);
    }
}

/// What a stream of a file begins with.
const FILE_STREAM: u8 = b'F';

#[cfg(test)]
mod tests;
