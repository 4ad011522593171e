//! The sending side of a transfer.

use crate::protocol::control::{ControlReader, ControlWriter};
use crate::protocol::link::{Link, Outgoing, closed};
use crate::protocol::manifest::Entry;
use crate::protocol::message::{Digest, Message, PROTOCOL, Part};
use crate::protocol::progress::{Failure, FileOutcome, Progress, Summary};
use crate::protocol::sources::SourcePaths;
use crate::protocol::{CHUNK, FILE_STREAM, MAX_STREAMS};
use crate::{protocol::entry_states::lock, protocol::error::TransferError};
use shallop_quic::tidy;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

#[derive(Clone, Copy, Debug)]
pub struct SendOptions {
    /// The number of files that are sent at a time, each on its own stream, 1 to [`MAX_STREAMS`].
    pub streams: usize,
}

impl Default for SendOptions {
    fn default() -> SendOptions {
        SendOptions { streams: 4 }
    }
}

/// Sends files and folders, and closes the link. Entries that could not be put in place are in [`Summary::failed`].
///
/// # Errors
/// The link is lost, or the peer refuses or violates the protocol. A second transfer resumes this one.
pub fn send(
    link: &dyn Link, sources: &SourcePaths, options: SendOptions, progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let started = Instant::now();
    let sent = write_manifest(link, sources).and_then(|control| {
        let sender = Sender::new(link, sources, control, progress);
        sender.run(options.streams.clamp(1, MAX_STREAMS))
    });
    link.close(if sent.is_ok() { "done" } else { "the transfer has failed" });
    sent.map(|summary| Summary { seconds: started.elapsed().as_secs_f64(), ..summary })
}

/// Opens the control stream and sends the list of files and folders.
fn write_manifest(link: &dyn Link, sources: &SourcePaths) -> Result<ControlWriter, TransferError> {
    let manifest = &sources.manifest;
    let mut control = ControlWriter::new(link.open_uni()?);
    let entries = manifest.entries();
    control.write(&Message::Hello {
        protocol: PROTOCOL.to_owned(),
        entries: entries.len() as u32,
        bytes: manifest.bytes(),
    })?;
    for (id, entry) in (0..).zip(entries) {
        control.write(&Message::entry(id, entry))?;
    }
    control.flush()?;
    Ok(control)
}

/// A file that the receiver asks for in a `have` message.
struct FileRequest {
    id: u32,
    whole: Option<Digest>,
    replace: bool,
    part: Option<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The sender has offered the entry.
    Announced,
    /// The receiver has sent `have`.
    Requested,
    /// The receiver has an identical file.
    Same,
    /// The sender has sent all bytes of the file.
    Sent,
    /// The sender will not send the file.
    GivenUp,
    /// The receiver has sent `done` or `failed` about the entry.
    Answered,
}

/// The states of all entries, shared by the sender's threads.
struct Entries {
    states: Vec<State>,
    /// The number of entries without an answer.
    left: usize,
    summary: Summary,
}

struct Sender<'a> {
    link: &'a dyn Link,
    sources: &'a SourcePaths,
    progress: &'a dyn Progress,
    control: Mutex<ControlWriter>,
    entries: Mutex<Entries>,
    stop: AtomicBool,
}

impl<'a> Sender<'a> {
    fn new(
        link: &'a dyn Link, sources: &'a SourcePaths, control: ControlWriter, progress: &'a dyn Progress,
    ) -> Sender<'a> {
        let entries = sources.manifest.entries().len();
        let states = vec![State::Announced; entries];
        let entries = Entries { states, left: entries, summary: Summary::default() };
        let (control, entries) = (Mutex::new(control), Mutex::new(entries));
        Sender { link, sources, progress, control, entries, stop: AtomicBool::new(false) }
    }

    fn run(self, streams: usize) -> Result<Summary, TransferError> {
        let manifest = &self.sources.manifest;
        self.progress.total(manifest.files(), manifest.bytes());
        let stream = self.link.accept_uni()?.ok_or_else(closed)?;
        let mut control = ControlReader::new(stream);
        let (give, requests) = mpsc::channel();
        let requests = Mutex::new(requests);
        std::thread::scope(|scope| {
            for _ in 0..streams {
                scope.spawn(|| self.run_worker(&requests));
            }
            let heard = self.listen(&mut control, &give);
            // Workers end when the channel is closed.
            drop(give);
            if heard.is_err() {
                self.give_up();
            }
            heard
        })?;
        let ended = (|| {
            let mut writer = self.control.into_inner().unwrap_or_else(PoisonError::into_inner);
            writer.write(&Message::End)?;
            writer.finish()?;
            control.read()
        })();
        match ended {
            // All entries are answered, so errors of the link do not matter any more.
            Ok(Message::End) | Err(TransferError::Link(_)) => {}
            Ok(Message::Refuse { reason }) => return Err(TransferError::Refused(tidy(&reason))),
            Ok(other) => return Err(out_of_place(&other)),
            Err(why) => return Err(why),
        }
        let entries = self.entries.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(entries.summary)
    }

    /// Processes the receiver's messages until all entries are answered.
    fn listen(&self, control: &mut ControlReader, give: &mpsc::Sender<FileRequest>) -> Result<(), TransferError> {
        while lock(&self.entries).left > 0 {
            match control.read()? {
                Message::Have { id, whole, replace, part } => {
                    let size = self.sources.manifest.entry(id).filter(|entry| entry.kind.is_file());
                    let fits = size.is_some_and(|entry| part.is_none_or(|part| part.len <= entry.size));
                    if !fits || !self.mark(id, State::Announced, State::Requested) {
                        return Err(TransferError::Protocol(format!("what it says to have of entry {id}")));
                    }
                    // If all workers have ended, the link is lost, and the next read reports it.
                    let _ = give.send(FileRequest { id, whole, replace, part });
                }
                Message::Done { id } => self.answered(id, None)?,
                Message::Failed { id, reason } => self.answered(id, Some(tidy(&reason)))?,
                Message::Refuse { reason } => return Err(TransferError::Refused(tidy(&reason))),
                other => return Err(out_of_place(&other)),
            }
        }
        Ok(())
    }

    /// Processes the receiver's answer to an entry: `done`, or `failed` with its reason.
    fn answered(&self, id: u32, failure: Option<String>) -> Result<(), TransferError> {
        let what = if failure.is_some() { "has failed" } else { "is done" };
        let unexpected = || TransferError::Protocol(format!("it says that entry {id} {what}"));
        let entry = self.sources.manifest.entry(id).ok_or_else(unexpected)?;
        let mut entries = lock(&self.entries);
        let state = std::mem::replace(&mut entries.states[id as usize], State::Answered);
        let summary = &mut entries.summary;
        let outcome = match (failure, state, entry.kind.is_file()) {
            (Some(reason), _, _) if state != State::Answered => {
                summary.failed.push(Failure { path: entry.path.clone(), reason: reason.clone() });
                FileOutcome::Failed(reason)
            }
            (None, State::Announced, false) => {
                summary.folders += 1;
                FileOutcome::Moved
            }
            (None, State::Same, true) => {
                summary.skipped += 1;
                FileOutcome::Skipped
            }
            (None, State::Sent, true) => {
                summary.files += 1;
                FileOutcome::Moved
            }
            _ => return Err(unexpected()),
        };
        entries.left -= 1;
        drop(entries);
        if entry.kind.is_file() {
            self.progress.file_done(id, entry, &outcome);
        }
        Ok(())
    }

    /// Changes the state of an entry from `from` to `to`. Returns false if the state is not `from`.
    fn mark(&self, id: u32, from: State, to: State) -> bool {
        let mut entries = lock(&self.entries);
        match entries.states.get_mut(id as usize) {
            Some(state) if *state == from => {
                *state = to;
                true
            }
            _ => false,
        }
    }

    /// Stops all workers and closes the link.
    fn give_up(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.link.close("the transfer has failed");
    }

    /// Sends requested files one after the other, as one of several threads.
    fn run_worker(&self, requests: &Mutex<mpsc::Receiver<FileRequest>>) {
        loop {
            // One worker waits for the channel, and the others wait for the lock.
            let request = lock(requests).recv();
            let Ok(request) = request else { return };
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            let id = request.id;
            let (state, message) = match self.send_missing(&request) {
                Ok(message @ Message::Same { .. }) => (State::Same, message),
                Ok(message @ Message::Sent { .. }) => (State::Sent, message),
                Ok(message) => (State::GivenUp, message),
                Err(why) => (State::GivenUp, Message::Abandon { id, reason: tidy(&why.to_string()) }),
            };
            // If the receiver has answered the entry already, it ignores this message.
            self.mark(id, State::Requested, state);
            if lock(&self.control).write_now(&message).is_err() {
                self.give_up();
                return;
            }
        }
    }

    /// Sends the bytes that the receiver lacks, and returns the message about the file.
    fn send_missing(&self, request: &FileRequest) -> io::Result<Message> {
        let id = request.id;
        let mut file = self.sources.open(id)?;
        let before = stamp(&file)?;
        let entry = self.sources.manifest.entry(id).ok_or(io::ErrorKind::NotFound)?;
        if let Some(whole) = request.whole {
            let mut hasher = blake3::Hasher::new();
            self.hash(&mut file, entry.size, &mut hasher)?;
            if hasher.finalize() == whole.0 {
                return Ok(Message::Same { id });
            }
            if !request.replace {
                return Ok(Message::Different { id });
            }
            file.rewind()?;
        }
        let mut hasher = blake3::Hasher::new();
        let mut offset = 0;
        if let Some(part) = request.part {
            self.hash(&mut file, part.len, &mut hasher)?;
            if hasher.finalize() == part.sum.0 {
                offset = part.len;
            } else {
                hasher.reset();
                file.rewind()?;
            }
        }
        self.progress.file_started(id, entry, offset);
        lock(&self.entries).summary.resumed_bytes += offset;
        let stream = self.send_stream(id, &mut file, entry, offset, &mut hasher)?;
        if stamp(&file)? != before {
            return Err(changed());
        }
        stream.finish()?;
        Ok(Message::Sent { id, sum: Digest(hasher.finalize()) })
    }

    /// Sends a file from `offset` on over a new stream, and adds the bytes to the hash. Returns the stream, which the
    /// caller ends.
    fn send_stream(
        &self, id: u32, file: &mut File, entry: &Entry, offset: u64, hasher: &mut blake3::Hasher,
    ) -> io::Result<Box<dyn Outgoing>> {
        let mut stream = self.link.open_uni()?;
        let mut header = vec![FILE_STREAM];
        header.extend(id.to_le_bytes());
        header.extend(offset.to_le_bytes());
        stream.write_all(&header)?;
        let left = entry.size - offset;
        self.read(file, left, |chunk| {
            hasher.update(chunk);
            stream.write_all(chunk)?;
            lock(&self.entries).summary.bytes += chunk.len() as u64;
            self.progress.bytes(id, chunk.len() as u64);
            Ok(())
        })?;
        Ok(stream)
    }

    fn hash(&self, file: &mut File, count: u64, hasher: &mut blake3::Hasher) -> io::Result<()> {
        self.read(file, count, |chunk| {
            hasher.update(chunk);
            Ok(())
        })
    }

    /// Reads `count` bytes of a file in chunks.
    fn read(&self, file: &mut File, count: u64, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK.min(count as usize)];
        let mut left = count;
        while left > 0 {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let want = left.min(CHUNK as u64) as usize;
            let got = file.read(&mut buffer[..want])?;
            if got == 0 {
                return Err(changed());
            }
            take(&buffer[..got])?;
            left -= got as u64;
        }
        Ok(())
    }
}

/// What changes when somebody writes to a file: its length, and the times of the last write and of the last change of
/// its inode (which programs cannot set).
fn stamp(file: &File) -> io::Result<[i64; 5]> {
    let of = file.metadata()?;
    Ok([of.size().cast_signed(), of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()])
}

fn changed() -> io::Error {
    io::Error::other("it has changed since the transfer began")
}

fn out_of_place(message: &Message) -> TransferError {
    TransferError::Protocol(format!("it says \"{}\" out of place", message.name()))
}
