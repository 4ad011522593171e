//! The state of each file and folder of a transfer at the receiver, shared by its threads.

use std::fs::File;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The most partial files that are kept open with their hash states.
const MAX_KEPT: usize = crate::protocol::MAX_STREAMS;

/// The most streams that are read at a time: twice the streams of a sender, because files are synced to disk after
/// their stream has ended.
const MAX_ACTIVE: usize = 2 * crate::protocol::MAX_STREAMS;

/// Locks a mutex, also after a panic of another thread, because each update of the state is a single step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A partial file, open and locked.
pub(crate) struct OpenPart {
    /// The partial file, positioned at its end.
    pub file: File,
    /// The length of the partial file, bytes.
    pub len: u64,
    /// The BLAKE3 state after the bytes of the partial file.
    pub hasher: blake3::Hasher,
}

enum State {
    New,
    /// The receiver has asked for the BLAKE3 of the sender's file.
    Asked,
    /// The receiver wants the file, whose record may continue this partial file.
    Wanted(Option<Box<OpenPart>>),
    /// A thread reads the record of the file.
    Reading,
    /// The receiver has sent `done`, `same` or `failed` about the entry.
    Answered,
}

struct Inner {
    states: Vec<State>,
    left: usize,
    kept: usize,
    active: usize,
    aborted: bool,
}

/// Whether a record of a file is accepted.
pub(crate) enum RecordStart {
    /// The record is accepted and continues this partial file.
    Begin(Option<Box<OpenPart>>),
    /// The record is ignored, because the file was answered already.
    Late,
    /// The record violates the protocol.
    Violation,
}

pub(crate) struct EntryStates {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl EntryStates {
    pub(crate) fn new(count: usize) -> EntryStates {
        let states = (0..count).map(|_| State::New).collect();
        let inner = Inner { states, left: count, kept: 0, active: 0, aborted: false };
        EntryStates { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Whether one more partial file may be kept open.
    pub(crate) fn may_keep(&self) -> bool {
        lock(&self.inner).kept < MAX_KEPT
    }

    fn set(&self, id: u32, state: State) {
        if let Some(slot) = lock(&self.inner).states.get_mut(id as usize) {
            *slot = state;
        }
    }

    /// Notes that `ask` is about to be sent.
    pub(crate) fn ask(&self, id: u32) {
        self.set(id, State::Asked);
    }

    /// Notes that `want` is about to be sent.
    pub(crate) fn want(&self, id: u32, kept: Option<Box<OpenPart>>) {
        lock(&self.inner).kept += usize::from(kept.is_some());
        self.set(id, State::Wanted(kept));
    }

    /// Processes the sender's `sum`. Returns false if it was not asked for.
    pub(crate) fn take_asked(&self, id: u32) -> bool {
        match lock(&self.inner).states.get_mut(id as usize) {
            Some(state @ State::Asked) => *state = State::New,
            _ => return false,
        }
        true
    }

    /// Whether the sender may say `abandon` about this entry.
    pub(crate) fn may_abandon(&self, id: u32) -> bool {
        let inner = lock(&self.inner);
        matches!(inner.states.get(id as usize), Some(State::Asked | State::Wanted(_) | State::Answered))
    }

    /// Processes the header of a file's record, which begins at `offset` of the file.
    pub(crate) fn start(&self, id: u32, offset: u64) -> RecordStart {
        let mut inner = lock(&self.inner);
        match inner.states.get_mut(id as usize) {
            Some(State::Answered) => RecordStart::Late,
            Some(state @ State::Wanted(_)) => {
                let State::Wanted(kept) = std::mem::replace(state, State::Reading) else {
                    return RecordStart::Violation;
                };
                inner.kept -= usize::from(kept.is_some());
                if offset != 0 && kept.as_ref().is_none_or(|kept| kept.len != offset) {
                    return RecordStart::Violation;
                }
                RecordStart::Begin(kept)
            }
            _ => RecordStart::Violation,
        }
    }

    /// Marks an entry as answered and closes its partial file. Returns false if the entry had an answer before.
    pub(crate) fn answer(&self, id: u32) -> bool {
        let mut inner = lock(&self.inner);
        let Some(slot) = inner.states.get_mut(id as usize) else { return false };
        match std::mem::replace(slot, State::Answered) {
            State::Answered => return false,
            State::Wanted(Some(_)) => inner.kept -= 1,
            _ => {}
        }
        inner.left -= 1;
        true
    }

    /// The number of entries without an answer.
    pub(crate) fn left(&self) -> usize {
        lock(&self.inner).left
    }

    /// Ends the transfer because the link is lost, and wakes the threads that wait.
    pub(crate) fn abort(&self) {
        lock(&self.inner).aborted = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_aborted(&self) -> bool {
        lock(&self.inner).aborted
    }

    /// Waits until a further stream may be read.
    pub(crate) fn enter(&self) {
        let mut inner = lock(&self.inner);
        while inner.active >= MAX_ACTIVE && !inner.aborted {
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.active += 1;
    }

    /// Notes that a stream was read to its end, so that another one may be read.
    pub(crate) fn leave(&self) {
        lock(&self.inner).active -= 1;
        self.changed.notify_all();
    }
}
