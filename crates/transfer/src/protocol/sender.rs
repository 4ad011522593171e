//! The sending side of a transfer.

use crate::activity::{Activity, STALL_TIMEOUT, stalled};
use crate::protocol::control::{ControlReader, ControlWriter};
use crate::protocol::link::{Link, Outgoing, closed};
use crate::protocol::list::write_list;
use crate::protocol::manifest::Entry;
use crate::protocol::message::{Digest, Message, Part};
use crate::protocol::progress::{FileOutcome, Progress, Summary};
use crate::protocol::record::{write_chunk, write_end, write_header};
use crate::protocol::sources::SourcePaths;
use crate::protocol::token::Token;
use crate::protocol::{CHUNK, MAX_PUSHED, MAX_STREAMS};
use crate::{protocol::entry_states::lock, protocol::error::TransferError};
use shallop_quic::tidy;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub struct SendOptions {
    /// The number of files that are sent at a time, 1 to [`MAX_STREAMS`].
    pub streams: usize,
    /// The sender's secret, by which a receiver resumes its unfinished files. `None` stands for a new one.
    pub token: Option<Token>,
    /// If all files together have at most this many bytes, up to 64 KiB, they are sent before the receiver asks for
    /// them, which saves a round trip. Nothing of them is resumed.
    pub push: u64,
    /// The time in which something has to come from the receiver. It is longer by 1 s for each 10 MB that are sent,
    /// because the receiver may have to hash or sync them.
    pub stall_timeout: Duration,
}

impl Default for SendOptions {
    fn default() -> SendOptions {
        SendOptions { streams: 4, token: None, push: 8 * 1024, stall_timeout: STALL_TIMEOUT }
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
    let is_pushed = sources.manifest.bytes() <= options.push.min(MAX_PUSHED);
    let (activity, limit) = (Activity::default(), options.stall_timeout);
    activity.peer_reads(sources.manifest.bytes());
    let run = || {
        let control = write_list(link, &sources.manifest, options.token, is_pushed)?;
        let sender = Sender::new(link, sources, control, progress, is_pushed, &activity);
        sender.run(options.streams.clamp(1, MAX_STREAMS))
    };
    let watched = activity.watched(limit, || link.close(&stalled(limit).to_string()), run);
    let sent = watched.map_err(TransferError::from).and_then(|sent| sent.ok_or_else(|| stalled(limit))?);
    link.close(if sent.is_ok() { "done" } else { "the transfer has failed" });
    sent.map(|summary| Summary { seconds: started.elapsed().as_secs_f64(), ..summary })
}

/// What a worker has to do for the receiver.
enum Request {
    /// Hash a file.
    Sum(u32),
    /// Send a file, of which the receiver has this part.
    File(u32, Option<Part>),
}

/// The stream of a worker for small files, which is opened for the first one.
type SharedStream = Option<BufWriter<Box<dyn Outgoing>>>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The sender has offered the entry.
    Announced,
    /// The receiver has sent `ask`.
    Asked,
    /// The sender has sent `sum`.
    Summed,
    /// The receiver has sent `want`, or the file is sent unasked.
    Wanted,
    /// The sender has sent all bytes of the file.
    Sent,
    /// The sender will not send the file.
    GivenUp,
    /// The receiver has sent `done`, `same` or `failed` about the entry.
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
    is_pushed: bool,
    activity: &'a Activity,
    control: Mutex<ControlWriter>,
    entries: Mutex<Entries>,
    stop: AtomicBool,
}

impl<'a> Sender<'a> {
    fn new(
        link: &'a dyn Link, sources: &'a SourcePaths, control: ControlWriter, progress: &'a dyn Progress,
        is_pushed: bool, activity: &'a Activity,
    ) -> Sender<'a> {
        let of = |entry: &Entry| if is_pushed && entry.kind.is_file() { State::Wanted } else { State::Announced };
        let states: Vec<State> = sources.manifest.entries().iter().map(of).collect();
        let entries = Entries { left: states.len(), states, summary: Summary::default() };
        let (control, entries) = (Mutex::new(control), Mutex::new(entries));
        Sender { link, sources, progress, is_pushed, activity, control, entries, stop: AtomicBool::new(false) }
    }

    fn run(self, streams: usize) -> Result<Summary, TransferError> {
        let manifest = &self.sources.manifest;
        self.progress.total(manifest.files(), manifest.bytes());
        let (give, requests) = mpsc::channel();
        if self.is_pushed {
            let files = (0..).zip(manifest.entries()).filter(|(_, entry)| entry.kind.is_file());
            files.for_each(|(id, _)| _ = give.send(Request::File(id, None)));
        }
        let requests = Mutex::new(requests);
        std::thread::scope(|scope| {
            let start = || Builder::new().spawn_scoped(scope, || self.run_worker(&requests)).map(drop);
            let mut started = start();
            for _ in 1..streams.min(manifest.files() as usize) {
                // Without a further thread fewer files are sent at a time.
                started = started.and_then(|()| start().or(Ok(())));
            }
            let heard = started.map_err(TransferError::from).and_then(|()| self.listen(&give));
            // Workers end when the channel is closed.
            drop(give);
            if heard.is_err() {
                self.give_up();
            }
            heard
        })?;
        let entries = self.entries.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(entries.summary)
    }

    /// Processes the receiver's messages until all entries are answered.
    fn listen(&self, give: &mpsc::Sender<Request>) -> Result<(), TransferError> {
        let mut control = ControlReader::new(self.link.accept_uni()?.ok_or_else(closed)?);
        let wrong = |id| TransferError::Protocol(format!("what it says to have of entry {id}"));
        loop {
            let message = control.read()?;
            self.activity.note();
            match message {
                Message::Ask { id } => {
                    if !self.is_file(id) || !self.mark(id, State::Announced, State::Asked) {
                        return Err(wrong(id));
                    }
                    // If all workers have ended, the link is lost, and the next read reports it.
                    let _ = give.send(Request::Sum(id));
                }
                Message::Want { id, part } => {
                    let entry = self.sources.manifest.entry(id).filter(|entry| entry.kind.is_file());
                    let fits = entry.is_some_and(|entry| part.is_none_or(|part| part.len <= entry.size));
                    let may = |from| self.mark(id, from, State::Wanted);
                    if !fits || !(may(State::Announced) || may(State::Summed)) {
                        return Err(wrong(id));
                    }
                    let _ = give.send(Request::File(id, part));
                }
                Message::Done { id } => self.answered(id, &FileOutcome::Moved)?,
                Message::Same { id } => self.answered(id, &FileOutcome::Skipped)?,
                Message::Failed { id, reason } => self.answered(id, &FileOutcome::Failed(tidy(&reason)))?,
                Message::Refuse { reason } => return Err(TransferError::Refused(tidy(&reason))),
                Message::End if lock(&self.entries).left == 0 => return Ok(()),
                other => {
                    let what = format!("it says \"{}\" out of place", other.name());
                    return Err(TransferError::Protocol(what));
                }
            }
        }
    }

    fn is_file(&self, id: u32) -> bool {
        self.sources.manifest.entry(id).is_some_and(|entry| entry.kind.is_file())
    }

    /// Processes the receiver's answer to an entry: `done`, `same`, or `failed` with its reason.
    fn answered(&self, id: u32, outcome: &FileOutcome) -> Result<(), TransferError> {
        let unexpected = || TransferError::Protocol(format!("it answers entry {id} out of place"));
        let entry = self.sources.manifest.entry(id).ok_or_else(unexpected)?;
        let mut entries = lock(&self.entries);
        let state = std::mem::replace(&mut entries.states[id as usize], State::Answered);
        let summary = &mut entries.summary;
        match (outcome, state, entry.kind.is_file()) {
            (FileOutcome::Failed(reason), _, _) if state != State::Answered => {
                summary.fail(&entry.path, reason);
            }
            (FileOutcome::Moved, State::Announced, false) => summary.folders += 1,
            (FileOutcome::Moved, State::Sent, true) => {
                summary.files += 1;
                if self.is_pushed {
                    summary.bytes += entry.size;
                    self.progress.file_started(id, entry, 0);
                    self.progress.bytes(id, entry.size);
                }
            }
            (FileOutcome::Skipped, State::Summed, true) => summary.skipped += 1,
            (FileOutcome::Skipped, State::Sent, true) if self.is_pushed => summary.skipped += 1,
            _ => return Err(unexpected()),
        }
        entries.left -= 1;
        drop(entries);
        if entry.kind.is_file() {
            self.progress.file_done(id, entry, outcome);
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

    /// Does what the receiver asks for, as one of several threads.
    fn run_worker(&self, requests: &Mutex<mpsc::Receiver<Request>>) {
        let mut shared = None;
        while let Some(request) = next_request(requests, &mut shared) {
            if self.is_long(&request) {
                // Small files need not wait for a large one. If the link is lost, the next use reports it.
                let _ = shared.as_mut().map(Write::flush);
            }
            let done = match request {
                Request::Sum(id) => match self.sum(id) {
                    Ok(sum) => {
                        self.mark(id, State::Asked, State::Summed);
                        self.say(&Message::Sum { id, sum })
                    }
                    Err(why) => self.abandon(id, &why),
                },
                Request::File(id, part) => self.send_file(id, part, &mut shared),
            };
            if done.is_err() || self.stop.load(Ordering::Relaxed) {
                return self.give_up();
            }
        }
        // All files are answered, so an error does not matter.
        let _ = shared.and_then(|stream| stream.into_inner().ok()).map(Outgoing::finish);
    }

    /// Whether a request takes longer than a small file.
    fn is_long(&self, request: &Request) -> bool {
        let (Request::Sum(id) | Request::File(id, _)) = request;
        self.sources.manifest.entry(*id).is_some_and(|entry| entry.size > CHUNK as u64)
    }

    fn say(&self, message: &Message) -> io::Result<()> {
        lock(&self.control).write_now(message)
    }

    /// Tells the receiver why a file is not sent. If it has answered the entry already, it ignores that.
    fn abandon(&self, id: u32, why: &io::Error) -> io::Result<()> {
        self.say(&Message::Abandon { id, reason: tidy(&why.to_string()) })
    }

    fn sum(&self, id: u32) -> io::Result<Digest> {
        let entry = self.sources.manifest.entry(id).ok_or(io::ErrorKind::NotFound)?;
        let mut file = self.open(id, entry, None)?;
        self.hash(&mut file.file, entry.size, &mut file.hasher)?;
        file.check()?;
        Ok(Digest(file.hasher.finalize()))
    }

    /// Sends the bytes of a file that the receiver lacks.
    ///
    /// # Errors
    /// The link is lost.
    fn send_file(&self, id: u32, part: Option<Part>, shared: &mut SharedStream) -> io::Result<()> {
        let Some(entry) = self.sources.manifest.entry(id) else { return Ok(()) };
        let mut file = match self.open(id, entry, part) {
            Ok(file) => file,
            Err(why) => return self.abandon(id, &why),
        };
        if file.left > CHUNK as u64 {
            self.begin(id, entry, file.offset);
            let mut stream = self.link.open_uni()?;
            write_header(&mut stream, id, file.offset)?;
            if self.send_large(id, &mut file, &mut stream).is_ok() {
                let _ = stream.finish();
            }
            // Otherwise the receiver has stopped the stream, and says why.
            return Ok(());
        }
        let mut bytes = Vec::new();
        let read = self.read(&mut file.file, file.left, |chunk| {
            bytes.extend_from_slice(chunk);
            Ok(())
        });
        if let Err(why) = read.and_then(|()| file.check()) {
            return self.abandon(id, &why);
        }
        self.begin(id, entry, file.offset);
        let stream = match shared {
            Some(stream) => stream,
            none => none.insert(BufWriter::new(self.link.open_uni()?)),
        };
        write_header(stream, id, file.offset)?;
        if !bytes.is_empty() {
            write_chunk(stream, &bytes)?;
            self.count(id, bytes.len() as u64);
        }
        self.mark(id, State::Wanted, State::Sent);
        write_end(stream, &Ok(Digest(file.hasher.update(&bytes).finalize())))
    }

    /// Sends the rest of a file over a stream of its own.
    ///
    /// # Errors
    /// The receiver has stopped the stream, or the link is lost.
    fn send_large(&self, id: u32, file: &mut OpenFile, stream: &mut dyn Write) -> io::Result<()> {
        let mut lost = None;
        let OpenFile { file: bytes, left, hasher, .. } = file;
        let read = self.read(bytes, *left, |chunk| {
            hasher.update(chunk);
            write_chunk(stream, chunk).inspect_err(|why| lost = Some(why.kind()))?;
            self.count(id, chunk.len() as u64);
            Ok(())
        });
        if let Some(kind) = lost {
            return Err(kind.into());
        }
        let end = read.and_then(|()| file.check()).map(|()| Digest(file.hasher.finalize()));
        self.mark(id, State::Wanted, if end.is_ok() { State::Sent } else { State::GivenUp });
        write_end(stream, &end.map_err(|why| tidy(&why.to_string())))
    }

    /// Opens a file where the receiver's part ends, if that is the begin of the file; else at its begin.
    fn open(&self, id: u32, entry: &Entry, part: Option<Part>) -> io::Result<OpenFile> {
        let mut file = self.sources.open(id)?;
        let before = stamp(&file)?;
        let (mut hasher, mut offset) = (blake3::Hasher::new(), 0);
        if let Some(part) = part {
            self.hash(&mut file, part.len, &mut hasher)?;
            if hasher.finalize() == part.sum.0 {
                offset = part.len;
            } else {
                hasher.reset();
                file.rewind()?;
            }
        }
        Ok(OpenFile { file, before, offset, left: entry.size - offset, hasher })
    }

    fn begin(&self, id: u32, entry: &Entry, offset: u64) {
        if !self.is_pushed {
            self.progress.file_started(id, entry, offset);
            lock(&self.entries).summary.resumed_bytes += offset;
        }
    }

    fn count(&self, id: u32, bytes: u64) {
        if !self.is_pushed {
            lock(&self.entries).summary.bytes += bytes;
            self.progress.bytes(id, bytes);
        }
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
            let got = self.activity.own_work(|| file.read(&mut buffer[..want]))?;
            if got == 0 {
                return Err(changed());
            }
            take(&buffer[..got])?;
            self.activity.note();
            left -= got as u64;
        }
        Ok(())
    }
}

/// Waits for the next request; `None` once there are no more. The stream of small files is written before the thread
/// blocks.
fn next_request(requests: &Mutex<mpsc::Receiver<Request>>, shared: &mut SharedStream) -> Option<Request> {
    if let Ok(requests) = requests.try_lock()
        && let Ok(request) = requests.try_recv()
    {
        return Some(request);
    }
    // If the link is lost, the next use reports it.
    let _ = shared.as_mut().map(Write::flush);
    // One worker waits for the channel, and the others wait for the lock.
    lock(requests).recv().ok()
}

/// A file of which the bytes from `offset` on are to be sent.
struct OpenFile {
    file: File,
    /// Its stamp when it was opened.
    before: [i64; 5],
    offset: u64,
    /// The number of bytes to send.
    left: u64,
    /// The BLAKE3 state after the bytes before `offset`.
    hasher: blake3::Hasher,
}

impl OpenFile {
    /// Checks that the file was not written to, and that it ends after the bytes that were read.
    fn check(&mut self) -> io::Result<()> {
        if stamp(&self.file)? != self.before {
            return Err(changed());
        }
        match self.file.read(&mut [0])? {
            0 => Ok(()),
            _ => Err(io::Error::other("it has more bytes than its length says, as files in /proc")),
        }
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
