//! The progress and the result of a transfer.

use crate::protocol::manifest::Entry;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};

/// Observes the progress of a transfer. Several threads call it at a time.
///
/// The sum of the bytes in [`file_started`](Progress::file_started) and [`bytes`](Progress::bytes), and of the sizes of
/// skipped files, reaches the total.
pub trait Progress: Send + Sync {
    /// Called once, when the number of all files and the sum of their lengths are known.
    fn total(&self, _files: u64, _bytes: u64) {}

    /// Called when the stream of a file starts; `_there` bytes are at the receiver already.
    fn file_started(&self, _id: u32, _file: &Entry, _there: u64) {}

    /// Called after further bytes of a file were sent or received.
    fn bytes(&self, _id: u32, _count: u64) {}

    /// Called when the outcome of a file is known.
    fn file_done(&self, _id: u32, _file: &Entry, _outcome: &FileOutcome) {}
}

impl Progress for () {}

/// How far a transfer is, for a progress bar: the bytes at the receiver, and the bytes of all files.
#[derive(Debug, Default)]
pub struct Position {
    done: AtomicU64,
    total: AtomicU64,
}

impl Position {
    /// The bytes of files that are at the receiver.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// The sum of the lengths of all files, bytes; 0 until it is known.
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileOutcome {
    /// The file was sent, verified and put in place.
    Moved,
    /// The receiver had the file already.
    Skipped,
    /// The file is not in place at the receiver. The text is the reason.
    Failed(String),
}

/// The result of a transfer, equal on both sides except for the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Files that were sent and verified.
    pub files: u64,
    /// Folders that are in place.
    pub folders: u64,
    /// Bytes of files that were sent, including files that failed.
    pub bytes: u64,
    /// Files that the receiver had before the transfer.
    pub skipped: u64,
    /// Bytes of partial files that the receiver had before the transfer, so that they were not sent again.
    pub resumed_bytes: u64,
    /// The duration of the transfer, seconds.
    pub seconds: f64,
    pub failed: Vec<Failure>,
}

impl Summary {
    /// Whether the sender's list was empty.
    pub fn is_empty(&self) -> bool {
        self.files + self.folders + self.skipped == 0 && self.failed.is_empty()
    }
}

/// The failures of a transfer whose reasons are kept whole. A peer may give a million of them.
pub(crate) const WHOLE_REASONS: usize = 1_000;
/// The longest reason of further ones, bytes of ASCII text.
const SHORT_REASON: usize = 80;

impl Summary {
    pub(crate) fn fail(&mut self, path: &str, reason: &str) {
        let most = if self.failed.len() < WHOLE_REASONS { usize::MAX } else { SHORT_REASON };
        let reason = reason.chars().take(most).collect();
        self.failed.push(Failure { path: path.to_owned(), reason });
    }
}

/// A file or folder that is not in place at the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub path: String,
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::manifest::Kind;

    #[test]
    fn after_a_thousand_failures_reasons_are_short() {
        let mut summary = Summary::default();
        (0..=WHOLE_REASONS).for_each(|_| summary.fail("a", &"x".repeat(1_000)));
        let lengths = [0, WHOLE_REASONS - 1, WHOLE_REASONS].map(|at| summary.failed[at].reason.len());
        assert_eq!(lengths, [1_000, 1_000, SHORT_REASON]);
    }

    #[test]
    fn a_position_counts_resumed_sent_and_skipped_bytes() {
        let file = |size| Entry { path: "a".to_owned(), kind: Kind::File, size, mode: 0o644 };
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
