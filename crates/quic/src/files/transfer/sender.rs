//! The sending side.

use crate::files::transfer::control::{ControlReader, ControlWriter};
use crate::files::transfer::error::TransferError;
use crate::files::transfer::link::{Link, closed};
use crate::files::transfer::manifest::Entry;
use crate::files::transfer::message::{Message, PROTOCOL, Part, Sum, tidy};
use crate::files::transfer::progress::{Failure, FileOutcome, Progress, Summary};
use crate::files::transfer::slots::lock;
use crate::files::transfer::sources::Sources;
use crate::files::transfer::{CHUNK, FILE_STREAM, MAX_STREAMS};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How to send.
#[derive(Clone, Copy, Debug)]
pub struct SendOptions {
    /// Files under way at a time, each on a stream of its own; from 1 to [`MAX_STREAMS`].
    pub streams: usize,
}

impl Default for SendOptions {
    fn default() -> SendOptions {
        SendOptions { streams: 4 }
    }
}

/// Sends files and folders to a peer that [receives](crate::transfer::receive) them, and closes the link.
///
/// What cannot be put in place is in [`Summary::failed`].
///
/// # Errors
///
/// When the link is lost, the peer refuses, or does not keep to the protocol. A second transfer goes on from where
/// this one has come to.
pub fn send(
    link: &dyn Link,
    sources: &Sources,
    options: SendOptions,
    progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let started = Instant::now();
    let sent = say_all(link, sources).and_then(|control| {
        let sender = Sender::new(link, sources, control, progress);
        sender.run(options.streams.clamp(1, MAX_STREAMS))
    });
    link.close(if sent.is_ok() { "done" } else { "the transfer has failed" });
    sent.map(|summary| Summary { seconds: started.elapsed().as_secs_f64(), ..summary })
}

/// Says what there is.
fn say_all(link: &dyn Link, sources: &Sources) -> Result<ControlWriter, TransferError> {
    let manifest = sources.manifest();
    let mut control = ControlWriter::new(link.open_uni()?);
    let entries = manifest.entries();
    control.say(&Message::Hello {
        protocol: PROTOCOL.to_owned(),
        entries: entries.len() as u32,
        bytes: manifest.bytes(),
    })?;
    for (id, entry) in (0..).zip(entries) {
        control.say(&Message::entry(id, entry))?;
    }
    control.flush()?;
    Ok(control)
}

/// What the receiver has of a file.
struct Task {
    id: u32,
    whole: Option<Sum>,
    replace: bool,
    part: Option<Part>,
}

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The receiver has said nothing of it.
    Told,
    /// The receiver has said what it has of it.
    Asked,
    /// The receiver has the same.
    Same,
    /// All of it has gone.
    Sent,
    /// It will not go.
    GivenUp,
    /// The receiver has said what came of it.
    Answered,
}

/// What is known of every entry.
struct Ledger {
    states: Vec<State>,
    left: usize,
    summary: Summary,
}

struct Sender<'a> {
    link: &'a dyn Link,
    sources: &'a Sources,
    progress: &'a dyn Progress,
    control: Mutex<ControlWriter>,
    ledger: Mutex<Ledger>,
    stop: AtomicBool,
}

impl<'a> Sender<'a> {
    fn new(
        link: &'a dyn Link,
        sources: &'a Sources,
        control: ControlWriter,
        progress: &'a dyn Progress,
    ) -> Sender<'a> {
        let entries = sources.manifest().entries().len();
        let states = vec![State::Told; entries];
        let ledger = Ledger { states, left: entries, summary: Summary::default() };
        let (control, ledger) = (Mutex::new(control), Mutex::new(ledger));
        Sender { link, sources, progress, control, ledger, stop: AtomicBool::new(false) }
    }

    fn run(self, streams: usize) -> Result<Summary, TransferError> {
        let manifest = self.sources.manifest();
        self.progress.total(manifest.files(), manifest.bytes());
        let stream = self.link.accept_uni()?.ok_or_else(closed)?;
        let mut control = ControlReader::new(stream);
        let (give, tasks) = mpsc::channel();
        let tasks = Mutex::new(tasks);
        std::thread::scope(|scope| {
            for _ in 0..streams {
                scope.spawn(|| self.work(&tasks));
            }
            let heard = self.listen(&mut control, &give);
            // Whoever waits for more to send ends.
            drop(give);
            if heard.is_err() {
                self.give_up();
            }
            heard
        })?;
        let ended = (|| {
            let mut writer = self.control.into_inner().unwrap_or_else(PoisonError::into_inner);
            writer.say(&Message::End)?;
            writer.finish()?;
            control.hear()
        })();
        match ended {
            // Every entry has its answer: what becomes of the link does not matter any more.
            Ok(Message::End) | Err(TransferError::Link(_)) => {}
            Ok(Message::Refuse { reason }) => return Err(TransferError::Refused(tidy(&reason))),
            Ok(other) => return Err(out_of_place(&other)),
            Err(why) => return Err(why),
        }
        let ledger = self.ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(ledger.summary)
    }

    /// Hears the receiver out, until every entry has its answer.
    fn listen(
        &self,
        control: &mut ControlReader,
        give: &mpsc::Sender<Task>,
    ) -> Result<(), TransferError> {
        while lock(&self.ledger).left > 0 {
            match control.hear()? {
                Message::Have { id, whole, replace, part } => {
                    let size =
                        self.sources.manifest().entry(id).filter(|entry| entry.kind.is_file());
                    let fits =
                        size.is_some_and(|entry| part.is_none_or(|part| part.len <= entry.size));
                    if !fits || !self.mark(id, &[State::Told], State::Asked) {
                        return Err(TransferError::Protocol(format!(
                            "what it says to have of entry {id}"
                        )));
                    }
                    // Without anyone to take it, the link is lost, and hearing on says so.
                    let _ = give.send(Task { id, whole, replace, part });
                }
                Message::Done { id } => self.done(id)?,
                Message::Failed { id, reason } => self.failed(id, tidy(&reason))?,
                Message::Refuse { reason } => return Err(TransferError::Refused(tidy(&reason))),
                other => return Err(out_of_place(&other)),
            }
        }
        Ok(())
    }

    /// An entry is in place.
    fn done(&self, id: u32) -> Result<(), TransferError> {
        let unasked = || TransferError::Protocol(format!("it says that entry {id} is done"));
        let entry = self.sources.manifest().entry(id).ok_or_else(unasked)?;
        let mut ledger = lock(&self.ledger);
        let outcome = match (ledger.states[id as usize], entry.kind.is_file()) {
            (State::Told, false) => {
                ledger.summary.folders += 1;
                FileOutcome::Moved
            }
            (State::Same, true) => {
                ledger.summary.skipped += 1;
                FileOutcome::Skipped
            }
            (State::Sent, true) => {
                ledger.summary.files += 1;
                FileOutcome::Moved
            }
            _ => return Err(unasked()),
        };
        ledger.states[id as usize] = State::Answered;
        ledger.left -= 1;
        drop(ledger);
        if entry.kind.is_file() {
            self.progress.file_done(id, entry, &outcome);
        }
        Ok(())
    }

    /// An entry will not be in place.
    fn failed(&self, id: u32, reason: String) -> Result<(), TransferError> {
        let unasked = || TransferError::Protocol(format!("it says that entry {id} has failed"));
        let entry = self.sources.manifest().entry(id).ok_or_else(unasked)?;
        let mut ledger = lock(&self.ledger);
        if ledger.states[id as usize] == State::Answered {
            return Err(unasked());
        }
        ledger.states[id as usize] = State::Answered;
        ledger.left -= 1;
        ledger.summary.failed.push(Failure { path: entry.path.clone(), reason: reason.clone() });
        drop(ledger);
        if entry.kind.is_file() {
            self.progress.file_done(id, entry, &FileOutcome::Failed(reason));
        }
        Ok(())
    }

    /// Moves an entry on, if it is in one of some states.
    fn mark(&self, id: u32, from: &[State], to: State) -> bool {
        let mut ledger = lock(&self.ledger);
        match ledger.states.get_mut(id as usize) {
            Some(state) if from.contains(state) => {
                *state = to;
                true
            }
            _ => false,
        }
    }

    /// Ends what this side is doing.
    fn give_up(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.link.close("the transfer has failed");
    }

    /// Sends one file after the other.
    fn work(&self, tasks: &Mutex<mpsc::Receiver<Task>>) {
        loop {
            // The lock is held while waiting: the others wait for it instead.
            let task = lock(tasks).recv();
            let Ok(task) = task else { return };
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let id = task.id;
            let (state, message) = match self.offer(&task) {
                Ok(message @ Message::Same { .. }) => (State::Same, message),
                Ok(message @ Message::Sent { .. }) => (State::Sent, message),
                Ok(message) => (State::GivenUp, message),
                Err(why) => {
                    (State::GivenUp, Message::Abandon { id, reason: tidy(&why.to_string()) })
                }
            };
            // When the receiver has answered already, it ignores what is said here.
            self.mark(id, &[State::Asked], state);
            if lock(&self.control).say_now(&message).is_err() {
                self.give_up();
                return;
            }
        }
    }

    /// Sends what the receiver lacks of a file, and gives what to say of it.
    fn offer(&self, task: &Task) -> io::Result<Message> {
        let id = task.id;
        let mut file = self.sources.open(id)?;
        let entry = self.sources.manifest().entry(id).ok_or(io::ErrorKind::NotFound)?;
        if let Some(whole) = task.whole {
            let mut hasher = blake3::Hasher::new();
            self.hash(&mut file, entry.size, &mut hasher)?;
            if hasher.finalize() == whole.0 {
                return Ok(Message::Same { id });
            }
            if !task.replace {
                return Ok(Message::Different { id });
            }
            file.rewind()?;
        }
        let mut hasher = blake3::Hasher::new();
        let mut offset = 0;
        if let Some(part) = task.part {
            self.hash(&mut file, part.len, &mut hasher)?;
            if hasher.finalize() == part.sum.0 {
                offset = part.len;
            } else {
                hasher.reset();
                file.rewind()?;
            }
        }
        self.progress.file_started(id, entry, offset);
        lock(&self.ledger).summary.resumed_bytes += offset;
        self.stream(id, &mut file, entry, (offset, &mut hasher))?;
        Ok(Message::Sent { id, sum: Sum(hasher.finalize()) })
    }

    /// Sends a file from an offset on, hashing it.
    fn stream(
        &self,
        id: u32,
        file: &mut File,
        entry: &Entry,
        (offset, hasher): (u64, &mut blake3::Hasher),
    ) -> io::Result<()> {
        let mut stream = self.link.open_uni()?;
        let mut header = vec![FILE_STREAM];
        header.extend(id.to_le_bytes());
        header.extend(offset.to_le_bytes());
        stream.write_all(&header)?;
        let left = entry.size - offset;
        self.read(file, left, |chunk| {
            hasher.update(chunk);
            stream.write_all(chunk)?;
            lock(&self.ledger).summary.bytes += chunk.len() as u64;
            self.progress.bytes(id, chunk.len() as u64);
            Ok(())
        })?;
        if file.metadata()?.len() != entry.size {
            return Err(io::Error::other("it has changed since the transfer began"));
        }
        stream.finish()
    }

    fn hash(&self, file: &mut File, count: u64, hasher: &mut blake3::Hasher) -> io::Result<()> {
        self.read(file, count, |chunk| {
            hasher.update(chunk);
            Ok(())
        })
    }

    /// Reads so many bytes of a file.
    fn read(
        &self,
        file: &mut File,
        count: u64,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK.min(count as usize)];
        let mut left = count;
        while left > 0 {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let want = left.min(CHUNK as u64) as usize;
            let got = file.read(&mut buffer[..want])?;
            if got == 0 {
                return Err(io::Error::other("it has changed since the transfer began"));
            }
            take(&buffer[..got])?;
            left -= got as u64;
        }
        Ok(())
    }
}

fn out_of_place(message: &Message) -> TransferError {
    TransferError::Protocol(format!("it says \"{}\" out of place", message.name()))
}
