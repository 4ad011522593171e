//! How far a transfer is, and what came of it.

use crate::transfer::manifest::Entry;
use serde::Serialize;

/// Hears how far a transfer is, from several threads at a time.
///
/// A bar of the whole advances by what [`file_started`](Progress::file_started) says was there, by
/// [`bytes`](Progress::bytes), and by the size of files whose outcome is [`FileOutcome::Skipped`].
pub trait Progress: Send + Sync {
    /// What is to be moved is known.
    fn total(&self, files: u64, bytes: u64) {
        let _ = (files, bytes);
    }

    /// A file's stream starts, `there` bytes of it being at the receiver already.
    fn file_started(&self, id: u32, file: &Entry, there: u64) {
        let _ = (id, file, there);
    }

    /// More bytes of a file have gone, or come.
    fn bytes(&self, id: u32, count: u64) {
        let _ = (id, count);
    }

    /// Nothing more will happen to a file in this transfer.
    fn file_done(&self, id: u32, file: &Entry, outcome: &FileOutcome) {
        let _ = (id, file, outcome);
    }
}

/// Nobody listens.
impl Progress for () {}

/// What came of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// It has been moved, verified and put in place.
    Moved,
    /// The receiver had it.
    Skipped,
    /// It is not in place, for this reason.
    Failed(String),
}

/// What came of a transfer, on either side.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Files that were moved and verified.
    pub files: u64,
    /// Folders that are in place.
    pub folders: u64,
    /// Bytes of files that went over the link, whatever came of the file.
    pub bytes: u64,
    /// Files that the receiver had.
    pub skipped: u64,
    /// Bytes of files that the receiver had the start of, which did not go over the link again.
    pub resumed_bytes: u64,
    /// How long it took.
    pub seconds: f64,
    /// Files and folders that are not in place.
    pub failed: Vec<Failure>,
}

/// Why an entry is not in place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The entry's path at the receiver.
    pub path: String,
    /// Why.
    pub reason: String,
}
