//! The receiving side of a transfer.

use crate::protocol::control::{ControlReader, ControlWriter};
use crate::protocol::entry_states::{
    EntryStates, ExistingFile, MessageEffect, OpenPart, SenderVerdict, StreamStart, lock,
};
use crate::protocol::error::TransferError;
use crate::protocol::folder::{TargetFolder, TargetPath};
use crate::protocol::link::{Link, closed};
use crate::protocol::manifest::{Entry, Kind, MAX_ENTRIES, Manifest};
use crate::protocol::message::{Digest, Message, PROTOCOL, Part};
use crate::protocol::progress::{Failure, FileOutcome, Progress, Summary};
use crate::protocol::{CHUNK, FILE_STREAM, pause_if_short};
use crate::timeout::with_timeout;
use shallop_quic::tidy;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// The number of `have` messages that are buffered while no file has to be read for them.
const BUFFERED: u32 = 256;

/// The default of [`ReceiveOptions::list_timeout`]: a million paths of 256 bytes take 205 s at 10 Mb/s.
const LIST_TIMEOUT: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug)]
pub struct ReceiveOptions {
    /// Whether existing files with other content are replaced, each after the new file is complete.
    pub overwrite: bool,
    /// Whether entries are accepted whose path has a name that begins with a dot. Programs read such files without
    /// being asked (`.ssh/authorized_keys`, `.bash_profile`), so a sender could make the receiver run any program.
    pub hidden: bool,
    /// The time that the sender has for its list of files, after which the link is closed.
    pub list_timeout: Duration,
}

impl Default for ReceiveOptions {
    fn default() -> Self {
        Self { overwrite: false, hidden: false, list_timeout: LIST_TIMEOUT }
    }
}

/// Why a link is closed whose sender is late.
const NO_LIST: &str = "its list of files takes too long";

/// Receives files and folders into a folder, until the sender closes the link. Entries that could not be put in place
/// are in [`Summary::failed`].
///
/// # Errors
/// The folder cannot be opened, the link is lost, the list of entries breaks a rule, or the peer violates the protocol.
/// Partial files are kept, and a second transfer resumes them.
pub fn receive(
    link: &dyn Link, folder: &Path, options: ReceiveOptions, progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let started = Instant::now();
    let received = receive_entries(link, folder, options, progress);
    link.close(if received.is_ok() { "done" } else { "the transfer has failed" });
    received.map(|summary| Summary { seconds: started.elapsed().as_secs_f64(), ..summary })
}

fn receive_entries(
    link: &dyn Link, folder: &Path, options: ReceiveOptions, progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let begun = with_timeout(
        options.list_timeout,
        || link.close(NO_LIST),
        || {
            let mut heard = ControlReader::new(link.accept_uni()?.ok_or_else(closed)?);
            let control = ControlWriter::new(link.open_uni()?);
            let opened = TargetFolder::open(folder)
                .map_err(|source| TransferError::Local { path: folder.to_owned(), source })
                .and_then(|folder| Ok((folder, read_manifest(&mut heard)?)));
            Ok::<_, TransferError>((heard, control, opened))
        },
    );
    let (heard, mut control, opened) = begun.ok_or_else(|| TransferError::Protocol(NO_LIST.to_owned()))??;
    let (folder, manifest) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            // The path of the folder is not told to the sender.
            let reason = match &why {
                TransferError::Local { .. } => "its folder cannot be opened".to_owned(),
                other => tidy(&other.to_string()),
            };
            if control.write(&Message::Refuse { reason }).and_then(|()| control.finish()).is_ok() {
                heard.drain();
            }
            return Err(why);
        }
    };
    progress.total(manifest.files(), manifest.bytes());
    let states = EntryStates::new(manifest.entries().len());
    let receiver = Receiver {
        link,
        folder,
        manifest,
        options,
        progress,
        control: Mutex::new(control),
        states,
        summary: Mutex::default(),
        failure: Mutex::default(),
    };
    receiver.run(heard)
}

/// Reads the sender's list of files and folders, and checks their paths and sizes.
fn read_manifest(control: &mut ControlReader) -> Result<Manifest, TransferError> {
    let wrong = |what: &str| Err(TransferError::Manifest(what.to_owned()));
    let Message::Hello { protocol, entries, bytes } = control.read()? else {
        return Err(TransferError::Protocol("it does not greet".to_owned()));
    };
    if protocol != PROTOCOL {
        return Err(TransferError::Protocol(format!("it speaks {:?}, not {PROTOCOL:?}", tidy(&protocol))));
    }
    if entries as usize > MAX_ENTRIES {
        return wrong("it has too many entries");
    }
    let mut manifest = Manifest::default();
    for number in 0..entries {
        let Message::Entry { id, path, kind, size, mode } = control.read()? else {
            return wrong("it has fewer entries than said");
        };
        if id != number {
            return wrong("its entries do not count up from 0");
        }
        manifest.push(Entry { path, kind, size, mode })?;
    }
    if manifest.bytes() != bytes {
        return wrong("its sizes do not add up");
    }
    manifest.check()?;
    Ok(manifest)
}

struct Receiver<'a> {
    link: &'a dyn Link,
    folder: TargetFolder,
    manifest: Manifest,
    options: ReceiveOptions,
    progress: &'a dyn Progress,
    control: Mutex<ControlWriter>,
    states: EntryStates,
    summary: Mutex<Summary>,
    failure: Mutex<Option<TransferError>>,
}

impl Receiver<'_> {
    fn run(self, mut heard: ControlReader) -> Result<Summary, TransferError> {
        let receiver = &self;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if let Err(why) = receiver.survey() {
                    receiver.fail(why.into());
                }
            });
            scope.spawn(|| receiver.accept(scope));
            match receiver.listen(&mut heard) {
                // All entries are answered, so errors of the link do not matter any more.
                Ok(()) => _ = lock(&receiver.control).write_now(&Message::End),
                Err(why) => receiver.fail(why),
            }
        });
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(why) => Err(why),
            None => Ok(self.summary.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Ends the transfer with an error. Only the first error is reported.
    fn fail(&self, why: TransferError) {
        lock(&self.failure).get_or_insert(why);
        self.states.abort();
        self.link.close("the transfer has failed");
    }

    /// Creates folders, and tells the sender which files exist.
    fn survey(&self) -> io::Result<()> {
        for (id, entry) in (0..).zip(self.manifest.entries()) {
            if self.states.is_aborted() {
                return Ok(());
            }
            if entry.is_hidden() && !self.options.hidden {
                self.answer(id, entry, Err(hidden()));
                continue;
            }
            if entry.kind == Kind::Folder {
                self.answer(id, entry, self.folder.create_folder(&entry.path, entry.mode).map(|()| FileOutcome::Moved));
                continue;
            }
            match self.inspect(id, entry) {
                Ok(have) => {
                    let Message::Have { whole, part, .. } = &have else { continue };
                    let now = whole.is_some() || part.is_some() || id % BUFFERED == 0;
                    let mut control = lock(&self.control);
                    if now { control.write_now(&have)? } else { control.write(&have)? }
                }
                Err(why) => self.answer(id, entry, Err(why)),
            }
        }
        lock(&self.control).flush()
    }

    /// Looks for the complete and the partial file of an entry.
    fn inspect(&self, id: u32, entry: &Entry) -> io::Result<Message> {
        let mut found = ExistingFile::default();
        let (mut whole, mut part) = (None, None);
        if let Some(target) = self.folder.target(&entry.path, false)? {
            if let Some(mut file) = target.open_complete()? {
                found.closed = !self.options.overwrite;
                if file.metadata()?.len() == entry.size {
                    found.whole = true;
                    let (_, hasher) = self.hash(&mut file, entry.size)?;
                    whole = Some(Digest(hasher.finalize()));
                } else if !self.options.overwrite {
                    return Err(different());
                }
            }
            if !found.closed {
                found.kept = self.find_part(&target, entry)?;
            }
        }
        if let Some(kept) = &found.kept {
            part = Some(Part { len: kept.len, sum: Digest(kept.hasher.finalize()) });
        }
        self.states.request(id, found);
        Ok(Message::Have { id, whole, replace: self.options.overwrite, part })
    }

    /// Opens and hashes the partial file of an entry.
    fn find_part(&self, target: &TargetPath, entry: &Entry) -> io::Result<Option<Box<OpenPart>>> {
        if !self.states.may_keep() {
            return Ok(None);
        }
        let Some(mut file) = target.open_part()? else { return Ok(None) };
        let len = file.metadata()?.len();
        if len == 0 || len > entry.size {
            return Ok(None);
        }
        let (read, hasher) = self.hash(&mut file, len)?;
        Ok((read == len).then(|| Box::new(OpenPart { file, len, hasher })))
    }

    /// Hashes up to `count` bytes of a file. Returns the number of bytes read and the BLAKE3 state after them.
    fn hash(&self, file: &mut File, count: u64) -> io::Result<(u64, blake3::Hasher)> {
        if count > CHUNK as u64 {
            // Hashing takes time, in which buffered messages need not wait.
            lock(&self.control).flush()?;
        }
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; count.min(CHUNK as u64) as usize];
        let mut read = 0;
        while read < count && !self.states.is_aborted() {
            let want = (count - read).min(CHUNK as u64) as usize;
            let got = file.read(&mut buffer[..want])?;
            if got == 0 {
                break;
            }
            hasher.update(&buffer[..got]);
            read += got as u64;
        }
        Ok((read, hasher))
    }

    /// Processes the messages of the sender until `end`.
    fn listen(&self, control: &mut ControlReader) -> Result<(), TransferError> {
        loop {
            let message = control.read()?;
            let out_of_place = || TransferError::Protocol(format!("it says \"{}\" out of target", message.name()));
            let (id, heard, outcome) = match &message {
                Message::Same { id } => (*id, self.states.compared(*id), Ok(FileOutcome::Skipped)),
                Message::Different { id } => (*id, self.states.compared(*id), Err(different())),
                Message::Sent { id, sum } => {
                    let heard = self.states.verdict(*id, SenderVerdict::Sent(*sum));
                    (*id, heard, Err(io::ErrorKind::InvalidData.into()))
                }
                Message::Abandon { id, reason } => {
                    let reason = tidy(reason);
                    let heard = self.states.verdict(*id, SenderVerdict::Abandoned(reason.clone()));
                    (*id, heard, Err(abandoned(&reason)))
                }
                Message::End if self.states.left() == 0 => return Ok(()),
                _ => return Err(out_of_place()),
            };
            match heard {
                MessageEffect::Stored => {}
                MessageEffect::AnswerNow => {
                    let entry = self.manifest.entry(id).ok_or_else(out_of_place)?;
                    self.answer(id, entry, outcome);
                }
                MessageEffect::Violation => return Err(out_of_place()),
            }
        }
    }

    /// Reads the sender's streams, each in a thread of its own, until the link ends.
    fn accept<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        while let Ok(Some(stream)) = self.link.accept_uni() {
            self.states.enter();
            let thread = std::thread::Builder::new().spawn_scoped(scope, || {
                if let Err(why) = self.read_stream(stream) {
                    self.fail(why);
                }
                self.states.leave();
            });
            if let Err(why) = thread {
                self.fail(TransferError::Link(why));
            }
        }
    }

    /// Reads one stream of the sender. A stream without a complete header is ignored, because the control stream tells
    /// the reason.
    fn read_stream(&self, mut stream: Box<dyn Read + Send>) -> Result<(), TransferError> {
        let mut header = [0; 13];
        if stream.read_exact(&mut header).is_err() {
            return Ok(());
        }
        let [mark, i0, i1, i2, i3, offset @ ..] = header;
        let (id, offset) = (u32::from_le_bytes([i0, i1, i2, i3]), u64::from_le_bytes(offset));
        let wrong = || TransferError::Protocol(format!("a stream of entry {id} from {offset} on"));
        let entry = self.manifest.entry(id).filter(|_| mark == FILE_STREAM).ok_or_else(wrong)?;
        match self.states.start(id, offset) {
            StreamStart::Begin(kept) => {
                self.progress.file_started(id, entry, offset);
                let outcome = self.receive_file(id, entry, offset, kept, stream);
                self.answer(id, entry, outcome.map(|()| FileOutcome::Moved));
                Ok(())
            }
            StreamStart::Late => Ok(()),
            StreamStart::Violation => Err(wrong()),
        }
    }

    /// Reads a file from its stream, verifies its BLAKE3, and renames the partial file to its final name.
    fn receive_file(
        &self, id: u32, entry: &Entry, offset: u64, kept: Option<Box<OpenPart>>, mut stream: Box<dyn Read + Send>,
    ) -> io::Result<()> {
        let target = self.folder.target(&entry.path, true)?.ok_or(io::ErrorKind::NotFound)?;
        let (mut file, mut hasher) = match kept {
            Some(kept) if offset == 0 => (kept.file, blake3::Hasher::new()),
            Some(kept) => (kept.file, kept.hasher),
            None => (target.create_part(entry.mode)?, blake3::Hasher::new()),
        };
        let missing = entry.size.saturating_sub(file.metadata()?.len());
        if target.free_space()? < missing {
            // An empty partial file is of no use.
            let _ = (offset == 0).then(|| target.remove_part());
            return Err(rustix::io::Errno::NOSPC.into());
        }
        file.set_len(offset)?;
        file.seek(SeekFrom::Start(offset))?;
        lock(&self.summary).resumed_bytes += offset;
        let mut left = entry.size.saturating_sub(offset);
        let mut buffer = vec![0; left.saturating_add(1).min(CHUNK as u64) as usize];
        let read_error = loop {
            // Reading one byte more than expected detects a file that is too long.
            let want = left.saturating_add(1).min(CHUNK as u64) as usize;
            match stream.read(&mut buffer[..want]) {
                Ok(0) => break None,
                Ok(got) if got as u64 > left => {
                    return Err(io::Error::other("more bytes came than were said"));
                }
                Ok(got) => {
                    hasher.update(&buffer[..got]);
                    file.write_all(&buffer[..got])?;
                    left -= got as u64;
                    lock(&self.summary).bytes += got as u64;
                    self.progress.bytes(id, got as u64);
                    pause_if_short(got, left);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => break Some(why),
            }
        };
        match (self.states.wait(id), read_error) {
            (Some(SenderVerdict::Abandoned(reason)), _) => Err(abandoned(&reason)),
            (_, Some(why)) => Err(why),
            (None, None) => Err(io::ErrorKind::ConnectionAborted.into()),
            (Some(SenderVerdict::Sent(_)), None) if left > 0 => {
                Err(io::Error::other("fewer bytes came than were said"))
            }
            (Some(SenderVerdict::Sent(sum)), None) if sum.0 == hasher.finalize() => {
                target.finish(&file, entry.mode, self.options.overwrite)
            }
            (Some(SenderVerdict::Sent(_)), None) => {
                target.remove_part()?;
                Err(io::Error::other("what came is not what was sent"))
            }
        }
    }

    /// Answers an entry with `done` or `failed`.
    fn answer(&self, id: u32, entry: &Entry, outcome: io::Result<FileOutcome>) {
        if !self.states.answer(id) {
            return;
        }
        let outcome = outcome.unwrap_or_else(|why| FileOutcome::Failed(tidy(&why.to_string())));
        {
            let mut summary = lock(&self.summary);
            match &outcome {
                FileOutcome::Moved if entry.kind == Kind::Folder => summary.folders += 1,
                FileOutcome::Moved => summary.files += 1,
                FileOutcome::Skipped => summary.skipped += 1,
                FileOutcome::Failed(reason) => {
                    summary.failed.push(Failure { path: entry.path.clone(), reason: reason.clone() });
                }
            }
        }
        if entry.kind.is_file() {
            self.progress.file_done(id, entry, &outcome);
        }
        if outcome == FileOutcome::Skipped
            && let Ok(Some(target)) = self.folder.target(&entry.path, false)
        {
            // The partial file is not needed any more. If it stays, it does no harm.
            let _ = target.remove_part();
        }
        let message = match outcome {
            FileOutcome::Failed(reason) => Message::Failed { id, reason },
            FileOutcome::Moved | FileOutcome::Skipped => Message::Done { id },
        };
        let mut control = lock(&self.control);
        let said = if entry.kind.is_file() { control.write_now(&message) } else { control.write(&message) };
        if let Err(why) = said {
            drop(control);
            self.fail(why.into());
        }
    }
}

fn different() -> io::Error {
    io::Error::other(
        "a file of that name is there, with other bytes, and the receiver was not started with --overwrite",
    )
}

fn hidden() -> io::Error {
    io::Error::other("a name in its path begins with a dot, and the receiver was not started with --hidden")
}

fn abandoned(reason: &str) -> io::Error {
    io::Error::other(format!("the sender cannot send it: {reason}"))
}
