//! The receiving side of a transfer.

mod commit;

use self::commit::CommitQueue;
use crate::activity::{Activity, stalled};
use crate::protocol::control::{ControlReader, ControlWriter};
use crate::protocol::entry_states::{EntryStates, OpenPart, RecordStart, lock};
use crate::protocol::error::TransferError;
use crate::protocol::folder::{PartWriter, TargetFolder, TargetPath};
use crate::protocol::link::{Link, closed};
use crate::protocol::list::read_list;
use crate::protocol::manifest::{Entry, Kind, Manifest};
use crate::protocol::message::{Digest, Message, Part};
use crate::protocol::progress::{FileOutcome, Progress, Summary};
use crate::protocol::reasons::{NO_LIST, NO_THREAD, abandoned, different, hidden, no_thread};
use crate::protocol::receive_options::ReceiveOptions;
use crate::protocol::record::{Piece, RecordReader};
use crate::protocol::{CHUNK, pause_if_short};
use crate::{limits::Limits, limits::ListMemory};
use shallop_quic::tidy;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// The number of `ask` and `want` messages that are buffered while no file has to be read for them.
const BUFFERED: u32 = 256;

/// Receives files and folders into a folder, until the sender closes the link. Entries that could not be put in place
/// are in [`Summary::failed`].
///
/// # Errors
/// The folder cannot be opened, the link is lost, the list of entries breaks a rule, or the peer violates the protocol.
/// Partial files are kept, and a second transfer resumes them.
pub fn receive(
    link: &dyn Link, folder: &Path, options: ReceiveOptions, limits: &Limits, progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let started = Instant::now();
    let received = receive_entries(link, folder, options, limits, progress);
    link.close(if received.is_ok() { "done" } else { "the transfer has failed" });
    received.map(|summary| Summary { seconds: started.elapsed().as_secs_f64(), ..summary })
}

fn receive_entries(
    link: &dyn Link, folder: &Path, options: ReceiveOptions, limits: &Limits, progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let no_thread = |why: io::Error| {
        link.close(NO_THREAD);
        no_thread(&why)
    };
    let _ticket = limits.take(link.peer()).map_err(no_thread)?;
    let late = || link.close(NO_LIST);
    let mut memory = ListMemory::new(limits);
    let begun = Activity::default().watched(options.list_timeout, late, || {
        let mut heard = ControlReader::new(link.accept_uni()?.ok_or_else(closed)?);
        let control = ControlWriter::new(link.open_uni()?);
        let opened = read_list(&mut heard, &mut memory).and_then(|list| {
            let local = |source| TransferError::Local { path: folder.to_owned(), source };
            Ok((TargetFolder::open(folder, list.token).map_err(local)?, list))
        });
        Ok::<_, TransferError>((heard, control, opened))
    });
    let (heard, mut control, opened) =
        begun.map_err(no_thread)?.ok_or_else(|| TransferError::Protocol(NO_LIST.to_owned()))??;
    let (folder, list) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            drop(memory);
            // The path of the folder is not told to the sender.
            let reason = match &why {
                TransferError::Local { .. } => "its folder cannot be opened".to_owned(),
                other => tidy(&other.to_string()),
            };
            if control.write(&Message::Refuse { reason }).and_then(|()| control.finish()).is_ok() {
                Activity::default().watched(options.list_timeout, late, || heard.drain())?;
            }
            return Err(why);
        }
    };
    progress.total(list.manifest.files(), list.manifest.bytes());
    link.begins(list.token);
    let states = EntryStates::new(list.manifest.entries().len());
    let receiver = Receiver {
        link,
        folder,
        manifest: list.manifest,
        is_pushed: list.is_pushed,
        options,
        limits,
        progress,
        control: Mutex::new(control),
        states,
        summary: Mutex::default(),
        failure: Mutex::default(),
        activity: Activity::default(),
        queue: CommitQueue::default(),
    };
    receiver.run(heard)
}

struct Receiver<'a> {
    link: &'a dyn Link,
    folder: TargetFolder,
    manifest: Manifest,
    is_pushed: bool,
    options: ReceiveOptions,
    limits: &'a Limits,
    progress: &'a dyn Progress,
    control: Mutex<ControlWriter>,
    states: EntryStates,
    summary: Mutex<Summary>,
    failure: Mutex<Option<TransferError>>,
    activity: Activity,
    queue: CommitQueue,
}

impl Receiver<'_> {
    fn run(self, heard: ControlReader) -> Result<Summary, TransferError> {
        let limit = self.options.stall_timeout;
        if let Err(why) = self.activity.watched(limit, || self.stall(limit), || self.run_threads(heard)) {
            self.fail_with(no_thread(&why), NO_THREAD);
        }
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(why) => Err(why),
            None => Ok(self.summary.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Ends a transfer whose sender does nothing.
    fn stall(&self, limit: Duration) {
        if self.states.left() == 0 {
            self.link.close("done");
        } else {
            let why = stalled(limit);
            let reason = why.to_string();
            self.fail_with(why.into(), &reason);
        }
    }

    fn run_threads(&self, mut heard: ControlReader) {
        let receiver = self;
        std::thread::scope(|scope| {
            let accept = || receiver.spawn(scope, || receiver.accept(scope));
            // Files that were not asked for may arrive once their states are known. Otherwise files arrive meanwhile.
            if !self.is_pushed {
                accept();
            }
            let surveyed = receiver.survey().map_err(TransferError::from);
            receiver.commit_if_due();
            if self.is_pushed {
                accept();
            }
            if let Err(why) = surveyed.and_then(|()| receiver.listen(&mut heard)) {
                receiver.fail(why);
            }
        });
    }

    /// Ends the transfer with an error. Only the first error is reported.
    fn fail(&self, why: TransferError) {
        self.fail_with(why, "the transfer has failed");
    }

    /// As [`fail`](Self::fail); the sender is told the reason.
    fn fail_with(&self, why: TransferError, reason: &str) {
        lock(&self.failure).get_or_insert(why);
        self.states.abort();
        self.link.close(reason);
    }

    /// Starts a thread, or ends the transfer if there is none.
    fn spawn<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, run: impl FnOnce() + Send + 'scope) {
        if let Err(why) = self.limits.spawn(scope, self.link.peer(), run) {
            self.fail_with(no_thread(&why), NO_THREAD);
        }
    }

    /// Creates folders, and tells the sender which files are wanted.
    fn survey(&self) -> io::Result<()> {
        let mut new_folders = BTreeSet::new();
        for (id, entry) in (0..).zip(self.manifest.entries()) {
            if self.states.is_aborted() {
                return Ok(());
            }
            self.activity.note();
            if entry.is_hidden() && !self.options.hidden {
                self.answer(vec![(id, Err(hidden()))]);
            } else if entry.kind == Kind::Folder {
                let created = self.folder.create_folder(&entry.path, entry.mode);
                if matches!(created, Ok(true)) {
                    new_folders.insert(entry.path.as_str());
                }
                self.answer(vec![(id, created.map(|_| FileOutcome::Moved))]);
            } else if self.is_pushed {
                self.states.want(id, None);
            } else if entry.path.rsplit_once('/').is_some_and(|(folder, _)| new_folders.contains(folder)) {
                self.states.want(id, None);
                lock(&self.control).write(&Message::Want { id, part: None })?;
            } else if let Some(question) = self.inspect(id, entry, None) {
                lock(&self.control).write(&question)?;
                if id % BUFFERED == 0 {
                    lock(&self.control).flush()?;
                }
            }
        }
        let mut control = lock(&self.control);
        if self.manifest.entries().is_empty() {
            control.write(&Message::End)?;
        }
        control.flush()
    }

    /// Looks for the complete and the partial file of an entry, and returns the question to the sender, whose file has
    /// the BLAKE3 `sum` if that is known. Without a question the entry is answered.
    fn inspect(&self, id: u32, entry: &Entry, sum: Option<Digest>) -> Option<Message> {
        match self.find(id, entry, sum) {
            Ok(Some(question)) => return Some(question),
            Ok(None) => self.answer(vec![(id, Ok(FileOutcome::Skipped))]),
            Err(why) => self.answer(vec![(id, Err(why))]),
        }
        None
    }

    /// As [`inspect`](Self::inspect); `None` if the complete file equals the sender's.
    fn find(&self, id: u32, entry: &Entry, sum: Option<Digest>) -> io::Result<Option<Message>> {
        let (mut kept, overwrite) = (None, self.options.overwrite);
        if let Some(target) = self.folder.target(&entry.path, false)? {
            if let Some(mut file) = target.open_complete()? {
                // Without `overwrite` a sender is not told either whether the lengths differ.
                let length = file.metadata()?.len();
                let may_be_same = length == entry.size;
                match sum {
                    None if may_be_same || !overwrite => {
                        self.states.ask(id);
                        self.activity.peer_reads(length.min(entry.size));
                        return Ok(Some(Message::Ask { id }));
                    }
                    Some(sum) if may_be_same && self.hash(&mut file, entry.size)?.1.finalize() == sum.0 => {
                        return Ok(None);
                    }
                    _ if !overwrite => return Err(different()),
                    _ => {}
                }
            }
            kept = self.find_part(&target, entry)?;
        }
        self.activity.peer_reads(kept.as_ref().map_or(0, |kept| kept.len));
        let part = kept.as_ref().map(|kept| Part { len: kept.len, sum: Digest(kept.hasher.finalize()) });
        self.states.want(id, kept);
        Ok(Some(Message::Want { id, part }))
    }

    /// Opens and hashes the partial file of an entry.
    fn find_part(&self, target: &TargetPath, entry: &Entry) -> io::Result<Option<Box<OpenPart>>> {
        if !self.states.may_keep() {
            return Ok(None);
        }
        let Some(mut file) = self.unlocked(|| target.open_part())? else { return Ok(None) };
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
            let got = self.activity.own_work(|| {
                let _turn = lock(&self.limits.hashing);
                let got = file.read(&mut buffer[..want])?;
                hasher.update(&buffer[..got]);
                Ok::<_, io::Error>(got)
            })?;
            if got == 0 {
                break;
            }
            read += got as u64;
        }
        Ok((read, hasher))
    }

    /// Processes the messages of the sender until it closes the link.
    fn listen(&self, control: &mut ControlReader) -> Result<(), TransferError> {
        loop {
            let message = match control.read() {
                // The sender has read the last answer, or errors of the link do not matter any more.
                Err(TransferError::Link(_)) if self.states.left() == 0 => return Ok(()),
                message => message?,
            };
            self.activity.note();
            let out_of_place = || TransferError::Protocol(format!("it says \"{}\" out of place", message.name()));
            match &message {
                &Message::Sum { id, sum } if self.states.take_asked(id) => {
                    let entry = self.manifest.entry(id).ok_or_else(out_of_place)?;
                    if let Some(question) = self.inspect(id, entry, Some(sum)) {
                        lock(&self.control).write_now(&question)?;
                    }
                }
                Message::Abandon { id, reason } if self.states.may_abandon(*id) => {
                    self.answer(vec![(*id, Err(abandoned(reason)))]);
                }
                _ => return Err(out_of_place()),
            }
            self.commit_if_due();
        }
    }

    /// Reads the sender's streams, each in a thread of its own, until the link ends.
    fn accept<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        while let Ok(Some(stream)) = self.link.accept_uni() {
            self.states.enter();
            self.spawn(scope, || {
                let read = self.read_stream(stream);
                self.commit();
                if let Err(why) = read {
                    self.fail(why);
                }
                self.states.leave();
            });
        }
        self.states.abort();
    }

    /// Reads the records of one stream of the sender. A stream that is broken before a record is ignored.
    fn read_stream(&self, stream: Box<dyn Read + Send>) -> Result<(), TransferError> {
        let mut records = RecordReader::new(stream);
        loop {
            if records.is_drained() {
                self.commit_if_due();
            }
            match records.header() {
                Ok(Some((id, offset))) if self.read_record(&mut records, id, offset)? => {}
                Err(why) if why.kind() == io::ErrorKind::InvalidData => {
                    return Err(TransferError::Protocol("a stream that is none of files".to_owned()));
                }
                _ => return Ok(()),
            }
        }
    }

    /// Reads the record of a file, and answers its entry. Returns false if the rest of the stream cannot be read, or is
    /// not worth it.
    fn read_record(&self, records: &mut RecordReader, id: u32, offset: u64) -> Result<bool, TransferError> {
        let wrong = || TransferError::Protocol(format!("a stream of entry {id} from {offset} on"));
        let entry = self.manifest.entry(id).filter(|entry| offset <= entry.size).ok_or_else(wrong)?;
        let mut part = match self.states.start(id, offset) {
            RecordStart::Begin(kept) => self.begin(id, entry, offset, kept),
            RecordStart::Late => Err(io::ErrorKind::AlreadyExists.into()),
            RecordStart::Violation => return Err(wrong()),
        };
        let mut left = entry.size - offset;
        let mut goes_on = true;
        let outcome = loop {
            if records.is_drained() {
                self.commit_if_due();
            }
            match records.piece() {
                Ok(Piece::Bytes(bytes)) => {
                    self.activity.note();
                    left = left.checked_sub(bytes.len() as u64).ok_or_else(wrong)?;
                    let write = |part: &mut PartWriter| self.activity.own_work(|| part.write(bytes));
                    if let Err(why) = part.as_mut().map_or(Ok(()), write) {
                        part = Err(why);
                    } else if part.is_ok() && !self.is_pushed {
                        lock(&self.summary).bytes += bytes.len() as u64;
                        self.progress.bytes(id, bytes.len() as u64);
                    }
                    if part.is_err() && left > CHUNK as u64 {
                        goes_on = false;
                        break part.map(|_| FileOutcome::Moved);
                    }
                    pause_if_short(bytes.len(), left);
                }
                Ok(Piece::End(_)) if left > 0 => return Err(wrong()),
                Ok(Piece::End(sum)) => match part.and_then(|part| Ok((self.verify(&part, sum)?, part))) {
                    Ok((true, part)) => {
                        self.queue(id, part);
                        return Ok(true);
                    }
                    Ok((false, _)) => break Ok(FileOutcome::Skipped),
                    Err(why) => break Err(why),
                },
                Ok(Piece::Abandoned(reason)) => break Err(abandoned(&reason)),
                Err(why) if why.kind() == io::ErrorKind::InvalidData => return Err(wrong()),
                // The link is lost: the transfer has failed, not the file.
                Err(why) if why.kind() == io::ErrorKind::ConnectionAborted => return Err(why.into()),
                Err(why) => {
                    goes_on = false;
                    break Err(why);
                }
            }
        };
        self.answer(vec![(id, outcome)]);
        Ok(goes_on)
    }

    /// Opens the partial file of a record.
    fn begin(&self, id: u32, entry: &Entry, offset: u64, kept: Option<Box<OpenPart>>) -> io::Result<PartWriter> {
        if !self.is_pushed {
            self.progress.file_started(id, entry, offset);
        }
        let target = self.folder.target(&entry.path, true)?.ok_or(io::ErrorKind::NotFound)?;
        let (mut file, hasher) = match kept {
            Some(kept) if offset == 0 => (kept.file, blake3::Hasher::new()),
            Some(kept) => (kept.file, kept.hasher),
            None => (self.unlocked(|| target.create_part(entry.mode))?, blake3::Hasher::new()),
        };
        let length = file.metadata()?.len();
        let missing = entry.size.saturating_sub(length);
        // A disk that is too full for a small file refuses its bytes as soon.
        if missing > CHUNK as u64 && target.free_space()? < missing {
            // An empty partial file is of no use.
            let _ = (offset == 0).then(|| target.remove_part());
            return Err(rustix::io::Errno::NOSPC.into());
        }
        if length > 0 {
            file.set_len(offset)?;
            file.seek(SeekFrom::Start(offset))?;
        }
        lock(&self.summary).resumed_bytes += offset;
        Ok(PartWriter { target, file, hasher, mode: entry.mode })
    }

    /// Opens a partial file. If an earlier transfer has locked it whose sender no longer answers, that one ends first.
    fn unlocked<T>(&self, open: impl Fn() -> io::Result<T>) -> io::Result<T> {
        match open() {
            Err(why) if why.kind() == io::ErrorKind::ResourceBusy && self.link.end_silent() => open(),
            opened => opened,
        }
    }

    /// Answers entries with `done`, `same` or `failed`, and says `end` after the last answer.
    fn answer(&self, outcomes: Vec<(u32, io::Result<FileOutcome>)>) {
        // Answers are written in the order of their counts, so that `end` is the last one.
        let (mut control, mut any_file) = (lock(&self.control), false);
        let said = outcomes.into_iter().try_for_each(|(id, outcome)| {
            let Some(entry) = self.manifest.entry(id).filter(|_| self.states.answer(id)) else { return Ok(()) };
            let outcome = outcome.unwrap_or_else(|why| FileOutcome::Failed(tidy(&why.to_string())));
            self.count(id, entry, &outcome);
            any_file |= entry.kind.is_file();
            control.write(&match outcome {
                FileOutcome::Failed(reason) => Message::Failed { id, reason },
                FileOutcome::Skipped => Message::Same { id },
                FileOutcome::Moved => Message::Done { id },
            })?;
            match self.states.left() {
                0 => control.write_now(&Message::End),
                _ => Ok(()),
            }
        });
        if let Err(why) = said.and_then(|()| if any_file { control.flush() } else { Ok(()) }) {
            drop(control);
            self.fail(why.into());
        }
    }

    /// Counts the outcome of an entry.
    fn count(&self, id: u32, entry: &Entry, outcome: &FileOutcome) {
        let mut summary = lock(&self.summary);
        match outcome {
            FileOutcome::Moved if entry.kind == Kind::Folder => summary.folders += 1,
            FileOutcome::Moved => summary.files += 1,
            FileOutcome::Skipped => summary.skipped += 1,
            FileOutcome::Failed(reason) => summary.fail(&entry.path, reason),
        }
        if self.is_pushed && entry.kind.is_file() && *outcome == FileOutcome::Moved {
            summary.bytes += entry.size;
            self.progress.file_started(id, entry, 0);
            self.progress.bytes(id, entry.size);
        }
        drop(summary);
        if entry.kind.is_file() {
            self.progress.file_done(id, entry, outcome);
        }
        if *outcome == FileOutcome::Skipped
            && let Ok(Some(target)) = self.folder.target(&entry.path, false)
        {
            // The partial file is not needed any more. If it stays, it does no harm.
            let _ = target.remove_part();
        }
    }
}
