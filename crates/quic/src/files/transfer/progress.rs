//! How far a transfer is, and what came of it.

use crate::files::transfer::manifest::Entry;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// How much of a transfer is done, for a bar of the whole.
#[derive(Debug, Default)]
pub struct Position {
    done: AtomicU64,
    total: AtomicU64,
}

impl Position {
    /// Bytes of files that are at the receiver.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Bytes of all files; zero until it is known.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Progress for Position {
    fn total(&self, _files: u64, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
    }

    fn file_started(&self, _id: u32, _file: &Entry, there: u64) {
        self.add(there);
    }

    fn bytes(&self, _id: u32, count: u64) {
        self.add(count);
    }

    fn file_done(&self, _id: u32, file: &Entry, outcome: &FileOutcome) {
        if *outcome == FileOutcome::Skipped {
            self.add(file.size);
        }
    }
}

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
    /// How long it took, seconds.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::transfer::manifest::Kind;

    #[test]
    fn a_position_reaches_the_total_by_what_was_there_and_what_came() {
        let file = |size| Entry { path: "a".to_owned(), kind: Kind::File, size };
        let position = Position::default();
        Progress::total(&position, 3, 100);
        position.file_started(0, &file(60), 20);
        position.bytes(0, 40);
        position.file_done(0, &file(60), &FileOutcome::Moved);
        position.file_done(1, &file(30), &FileOutcome::Skipped);
        position.file_done(2, &file(10), &FileOutcome::Failed("full".to_owned()));
        assert_eq!((position.done(), position.total()), (90, 100));
    }
}
