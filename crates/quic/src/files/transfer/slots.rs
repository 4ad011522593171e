//! What the receiver knows of every entry, shared by its threads.

use crate::files::transfer::message::Sum;
use std::fs::File;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Starts of files that are kept open with their hashes, at most: a sender has no more streams.
const MAX_KEPT: usize = crate::files::transfer::MAX_STREAMS;

/// Streams that are read at a time, at most: as many as a sender may have, and as many again whose file is being put
/// in place.
const MAX_ACTIVE: usize = 2 * crate::files::transfer::MAX_STREAMS;

/// Locks what a panicking thread may have left locked: no update here is made in more than one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The start of a file, open and locked.
pub(crate) struct Kept {
    /// The file, read to its end.
    pub file: File,
    /// Its bytes.
    pub len: u64,
    /// Its hash so far.
    pub hasher: blake3::Hasher,
}

/// What there is of a file.
#[derive(Default)]
pub(crate) struct Found {
    /// A file of that name and size.
    pub whole: bool,
    /// A stream would not be taken.
    pub closed: bool,
    /// The start of it.
    pub kept: Option<Box<Kept>>,
}

/// What the sender says when it is through with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All of it has gone.
    Sent(Sum),
    /// It will not go.
    Abandoned(String),
}

/// Where an entry is.
enum State {
    /// The sender has not been told what there is of it.
    New,
    /// The sender has.
    Asked(Found),
    /// Its stream is being read.
    Streaming,
    /// The sender has been told what came of it.
    Answered,
}

struct Slot {
    state: State,
    verdict: Option<Verdict>,
}

struct Inner {
    slots: Vec<Slot>,
    left: usize,
    kept: usize,
    active: usize,
    broken: bool,
}

/// How a stream begins.
pub(crate) enum Start {
    /// With what there was of the file.
    Begin(Option<Box<Kept>>),
    /// Not: the file has its answer.
    Late,
    /// The sender must not.
    Wrong,
}

/// What to do with what the sender says.
pub(crate) enum Heard {
    /// Whoever reads the stream sees to it.
    Kept,
    /// Nobody reads a stream of this file: answer.
    Answer,
    /// It must not be said now.
    Wrong,
}

/// All entries.
pub(crate) struct Slots {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl Slots {
    /// As many entries.
    pub(crate) fn new(count: usize) -> Slots {
        let slots = (0..count).map(|_| Slot { state: State::New, verdict: None }).collect();
        let inner = Inner { slots, left: count, kept: 0, active: 0, broken: false };
        Slots { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Whether one more start of a file may be kept open.
    pub(crate) fn may_keep(&self) -> bool {
        lock(&self.inner).kept < MAX_KEPT
    }

    /// Notes what there is of a file, before the sender is told.
    pub(crate) fn ask(&self, id: u32, found: Found) {
        let mut inner = lock(&self.inner);
        inner.kept += usize::from(found.kept.is_some());
        if let Some(slot) = inner.slots.get_mut(id as usize) {
            slot.state = State::Asked(found);
        }
    }

    /// A stream of a file has come.
    pub(crate) fn start(&self, id: u32, offset: u64) -> Start {
        let mut inner = lock(&self.inner);
        let Some(slot) = inner.slots.get_mut(id as usize) else { return Start::Wrong };
        match &mut slot.state {
            State::Answered => Start::Late,
            State::Asked(found) if !found.closed => {
                let kept = found.kept.take();
                if offset != 0 && kept.as_ref().is_none_or(|kept| kept.len != offset) {
                    return Start::Wrong;
                }
                slot.state = State::Streaming;
                inner.kept -= usize::from(kept.is_some());
                Start::Begin(kept)
            }
            _ => Start::Wrong,
        }
    }

    /// The sender says that it is through with a file.
    pub(crate) fn verdict(&self, id: u32, verdict: Verdict) -> Heard {
        let mut inner = lock(&self.inner);
        let Some(slot) = inner.slots.get_mut(id as usize) else { return Heard::Wrong };
        if slot.verdict.is_some() {
            return Heard::Wrong;
        }
        match &slot.state {
            State::New => return Heard::Wrong,
            State::Answered => return Heard::Kept,
            State::Asked(found) if found.closed && matches!(verdict, Verdict::Sent(_)) => {
                return Heard::Wrong;
            }
            State::Asked(_) if matches!(verdict, Verdict::Abandoned(_)) => {
                slot.verdict = Some(verdict);
                return Heard::Answer;
            }
            State::Asked(_) | State::Streaming => slot.verdict = Some(verdict),
        }
        self.changed.notify_all();
        Heard::Kept
    }

    /// The sender says that a file of that name and size is the same, or is not and may not be replaced.
    pub(crate) fn compared(&self, id: u32) -> Heard {
        let inner = lock(&self.inner);
        match inner.slots.get(id as usize).map(|slot| &slot.state) {
            Some(State::Asked(found)) if found.whole => Heard::Answer,
            _ => Heard::Wrong,
        }
    }

    /// Waits until the sender is through with a file; none when it never will be.
    pub(crate) fn wait(&self, id: u32) -> Option<Verdict> {
        let mut inner = lock(&self.inner);
        loop {
            let slot = inner.slots.get(id as usize)?;
            if let Some(verdict) = slot.verdict.clone() {
                return Some(verdict);
            }
            if inner.broken || matches!(slot.state, State::Answered) {
                return None;
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// An entry gets its answer; false when it has one. What was kept of it is let go.
    pub(crate) fn answer(&self, id: u32) -> bool {
        let mut inner = lock(&self.inner);
        let Some(slot) = inner.slots.get_mut(id as usize) else { return false };
        let before = std::mem::replace(&mut slot.state, State::Answered);
        slot.verdict = None;
        match before {
            State::Answered => return false,
            State::Asked(Found { kept: Some(_), .. }) => inner.kept -= 1,
            _ => {}
        }
        inner.left -= 1;
        self.changed.notify_all();
        true
    }

    /// Entries that have no answer.
    pub(crate) fn left(&self) -> usize {
        lock(&self.inner).left
    }

    /// Nothing more is heard of the sender.
    pub(crate) fn break_off(&self) {
        lock(&self.inner).broken = true;
        self.changed.notify_all();
    }

    /// Whether nothing more is heard of the sender.
    pub(crate) fn is_broken(&self) -> bool {
        lock(&self.inner).broken
    }

    /// Waits until one more stream may be read.
    pub(crate) fn enter(&self) {
        let mut inner = lock(&self.inner);
        while inner.active >= MAX_ACTIVE && !inner.broken {
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
        inner.active += 1;
    }

    /// A stream has been read.
    pub(crate) fn leave(&self) {
        lock(&self.inner).active -= 1;
        self.changed.notify_all();
    }
}
