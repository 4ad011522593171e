//! The state of each file and folder of a transfer at the receiver, shared by its threads.

use crate::protocol::message::Digest;
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

/// The files that the receiver had for an entry before the transfer.
#[derive(Default)]
pub(crate) struct ExistingFile {
    /// Whether a complete file of the entry's size exists.
    pub whole: bool,
    /// Whether a complete file exists that may not be replaced, so that no stream is accepted.
    pub closed: bool,
    /// The partial file of an earlier transfer, if there is one.
    pub kept: Option<Box<OpenPart>>,
}

/// The sender's last message about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SenderVerdict {
    /// All bytes of the file were sent; the value is the file's BLAKE3.
    Sent(Digest),
    /// The file cannot be sent; the text is the reason.
    Abandoned(String),
}

enum State {
    New,
    /// The receiver has sent `have` about the file.
    Requested(ExistingFile),
    /// A thread reads the stream of the file.
    Streaming,
    /// The receiver has sent `done` or `failed` about the entry.
    Answered,
}

struct EntryState {
    state: State,
    verdict: Option<SenderVerdict>,
}

struct Inner {
    slots: Vec<EntryState>,
    left: usize,
    kept: usize,
    active: usize,
    aborted: bool,
}

/// Whether a stream of a file is accepted.
pub(crate) enum StreamStart {
    /// The stream is accepted and continues this partial file.
    Begin(Option<Box<OpenPart>>),
    /// The stream is ignored, because the file was answered already.
    Late,
    /// The stream violates the protocol.
    Violation,
}

/// What the receiver has to do after a message of the sender.
pub(crate) enum MessageEffect {
    /// The message is stored for the thread that reads the stream of the file.
    Stored,
    /// The file has no stream, so the message has to be answered at once.
    AnswerNow,
    /// The message violates the protocol.
    Violation,
}

pub(crate) struct EntryStates {
    inner: Mutex<Inner>,
    changed: Condvar,
}

impl EntryStates {
    pub(crate) fn new(count: usize) -> EntryStates {
        let slots = (0..count).map(|_| EntryState { state: State::New, verdict: None }).collect();
        let inner = Inner { slots, left: count, kept: 0, active: 0, aborted: false };
        EntryStates { inner: Mutex::new(inner), changed: Condvar::new() }
    }

    /// Whether one more partial file may be kept open.
    pub(crate) fn may_keep(&self) -> bool {
        lock(&self.inner).kept < MAX_KEPT
    }

    /// Records the existing files of an entry, before the message `have` is sent.
    pub(crate) fn request(&self, id: u32, found: ExistingFile) {
        let mut inner = lock(&self.inner);
        inner.kept += usize::from(found.kept.is_some());
        if let Some(slot) = inner.slots.get_mut(id as usize) {
            slot.state = State::Requested(found);
        }
    }

    /// Processes the header of a file's stream, which begins at `offset` of the file.
    pub(crate) fn start(&self, id: u32, offset: u64) -> StreamStart {
        let mut inner = lock(&self.inner);
        let Some(slot) = inner.slots.get_mut(id as usize) else { return StreamStart::Violation };
        match &mut slot.state {
            State::Answered => StreamStart::Late,
            State::Requested(found) if !found.closed => {
                let kept = found.kept.take();
                if offset != 0 && kept.as_ref().is_none_or(|kept| kept.len != offset) {
                    return StreamStart::Violation;
                }
                slot.state = State::Streaming;
                inner.kept -= usize::from(kept.is_some());
                StreamStart::Begin(kept)
            }
            _ => StreamStart::Violation,
        }
    }

    /// Processes the sender's last message about a file.
    pub(crate) fn verdict(&self, id: u32, verdict: SenderVerdict) -> MessageEffect {
        let mut inner = lock(&self.inner);
        let Some(slot) = inner.slots.get_mut(id as usize) else { return MessageEffect::Violation };
        if slot.verdict.is_some() {
            return MessageEffect::Violation;
        }
        match &slot.state {
            State::New => return MessageEffect::Violation,
            State::Answered => return MessageEffect::Stored,
            State::Requested(found) if found.closed && matches!(verdict, SenderVerdict::Sent(_)) => {
                return MessageEffect::Violation;
            }
            State::Requested(_) if matches!(verdict, SenderVerdict::Abandoned(_)) => {
                slot.verdict = Some(verdict);
                return MessageEffect::AnswerNow;
            }
            State::Requested(_) | State::Streaming => slot.verdict = Some(verdict),
        }
        self.changed.notify_all();
        MessageEffect::Stored
    }

    /// Processes the sender's message `same` or `different` about a file.
    pub(crate) fn compared(&self, id: u32) -> MessageEffect {
        let inner = lock(&self.inner);
        match inner.slots.get(id as usize).map(|slot| &slot.state) {
            Some(State::Requested(found)) if found.whole => MessageEffect::AnswerNow,
            _ => MessageEffect::Violation,
        }
    }

    /// Waits for the sender's last message about a file; `None` if it will not arrive.
    pub(crate) fn wait(&self, id: u32) -> Option<SenderVerdict> {
        let mut inner = lock(&self.inner);
        loop {
            let slot = inner.slots.get(id as usize)?;
            if let Some(verdict) = slot.verdict.clone() {
                return Some(verdict);
            }
            if inner.aborted || matches!(slot.state, State::Answered) {
                return None;
            }
            inner = self.changed.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Marks an entry as answered and closes its partial file. Returns false if the entry had an answer before.
    pub(crate) fn answer(&self, id: u32) -> bool {
        let mut inner = lock(&self.inner);
        let Some(slot) = inner.slots.get_mut(id as usize) else { return false };
        let before = std::mem::replace(&mut slot.state, State::Answered);
        slot.verdict = None;
        match before {
            State::Answered => return false,
            State::Requested(ExistingFile { kept: Some(_), .. }) => inner.kept -= 1,
            _ => {}
        }
        inner.left -= 1;
        self.changed.notify_all();
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
