//! The receiving side.

use crate::files::transfer::control::{ControlReader, ControlWriter};
use crate::files::transfer::error::TransferError;
use crate::files::transfer::folder::{Folder, Place};
use crate::files::transfer::link::{Link, closed};
use crate::files::transfer::manifest::{Entry, Kind, MAX_ENTRIES, Manifest};
use crate::files::transfer::message::{Message, PROTOCOL, Part, Sum, tidy};
use crate::files::transfer::progress::{Failure, FileOutcome, Progress, Summary};
use crate::files::transfer::slots::{Found, Heard, Kept, Slots, Start, Verdict, lock};
use crate::files::transfer::{CHUNK, FILE_STREAM, gather};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::Instant;

/// Files whose answers are gathered before they are said, while none of them is read.
const GATHER: u32 = 256;

/// How to receive.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiveOptions {
    /// Whether files that are there with other bytes are replaced, each when the new one is whole.
    pub overwrite: bool,
    /// Whether files and folders are taken whose path has a name that begins with a dot. Programs read such files
    /// unasked (`.ssh/authorized_keys`, `.bash_profile`), so a sender could make the receiver run what it likes.
    pub hidden: bool,
}

/// Receives files and folders into a folder, from a peer that [sends](crate::transfer::send) them, until it closes the
/// link.
///
/// What could not be put in place is in [`Summary::failed`].
///
/// # Errors
///
/// When the folder cannot be opened, the link is lost, what is offered breaks a rule, or the peer does not keep to the
/// protocol. What has arrived is kept: a second transfer goes on from there.
pub fn receive(
    link: &dyn Link,
    folder: &Path,
    options: ReceiveOptions,
    progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let started = Instant::now();
    let received = receive_all(link, folder, options, progress);
    link.close(if received.is_ok() { "done" } else { "the transfer has failed" });
    received.map(|summary| Summary { seconds: started.elapsed().as_secs_f64(), ..summary })
}

fn receive_all(
    link: &dyn Link,
    folder: &Path,
    options: ReceiveOptions,
    progress: &dyn Progress,
) -> Result<Summary, TransferError> {
    let stream = link.accept_uni()?.ok_or_else(closed)?;
    let mut heard = ControlReader::new(stream);
    let mut control = ControlWriter::new(link.open_uni()?);
    let opened = Folder::open(folder)
        .map_err(|source| TransferError::Local { path: folder.to_owned(), source })
        .and_then(|folder| Ok((folder, hear_all(&mut heard)?)));
    let (folder, manifest) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            // Where the receiver's folder lies is not the sender's concern.
            let reason = match &why {
                TransferError::Local { .. } => "its folder cannot be opened".to_owned(),
                other => tidy(&other.to_string()),
            };
            if control.say(&Message::Refuse { reason }).and_then(|()| control.finish()).is_ok() {
                heard.drain();
            }
            return Err(why);
        }
    };
    progress.total(manifest.files(), manifest.bytes());
    let slots = Slots::new(manifest.entries().len());
    let receiver = Receiver {
        link,
        folder,
        manifest,
        options,
        progress,
        control: Mutex::new(control),
        slots,
        summary: Mutex::default(),
        failure: Mutex::default(),
    };
    receiver.run(heard)
}

/// Hears what there is, and checks it.
fn hear_all(control: &mut ControlReader) -> Result<Manifest, TransferError> {
    let wrong = |what: &str| Err(TransferError::Manifest(what.to_owned()));
    let Message::Hello { protocol, entries, bytes } = control.hear()? else {
        return Err(TransferError::Protocol("it does not greet".to_owned()));
    };
    if protocol != PROTOCOL {
        return Err(TransferError::Protocol(format!(
            "it speaks {:?}, not {PROTOCOL:?}",
            tidy(&protocol)
        )));
    }
    if entries as usize > MAX_ENTRIES {
        return wrong("it has too many entries");
    }
    let mut manifest = Manifest::default();
    for number in 0..entries {
        let Message::Entry { id, path, kind, size } = control.hear()? else {
            return wrong("it has fewer entries than said");
        };
        if id != number {
            return wrong("its entries do not count up from 0");
        }
        manifest.push(Entry { path, kind, size })?;
    }
    if manifest.bytes() != bytes {
        return wrong("its sizes do not add up");
    }
    manifest.check()?;
    Ok(manifest)
}

struct Receiver<'a> {
    link: &'a dyn Link,
    folder: Folder,
    manifest: Manifest,
    options: ReceiveOptions,
    progress: &'a dyn Progress,
    control: Mutex<ControlWriter>,
    slots: Slots,
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
                // Every entry has its answer: what becomes of the link does not matter any more.
                Ok(()) => _ = lock(&receiver.control).say_now(&Message::End),
                Err(why) => receiver.fail(why),
            }
        });
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(why) => Err(why),
            None => Ok(self.summary.into_inner().unwrap_or_else(PoisonError::into_inner)),
        }
    }

    /// Ends the session. The first reason counts.
    fn fail(&self, why: TransferError) {
        lock(&self.failure).get_or_insert(why);
        self.slots.break_off();
        self.link.close("the transfer has failed");
    }

    /// Tells the sender what there is of every file, and makes folders.
    fn survey(&self) -> io::Result<()> {
        for (id, entry) in (0..).zip(self.manifest.entries()) {
            if self.slots.is_broken() {
                return Ok(());
            }
            if entry.is_hidden() && !self.options.hidden {
                self.answer(id, entry, Err(hidden()));
                continue;
            }
            if entry.kind == Kind::Folder {
                self.answer(id, entry, self.folder.make(&entry.path).map(|()| FileOutcome::Moved));
                continue;
            }
            match self.look(id, entry) {
                Ok(have) => {
                    let Message::Have { whole, part, .. } = &have else { continue };
                    let now = whole.is_some() || part.is_some() || id % GATHER == 0;
                    let mut control = lock(&self.control);
                    if now { control.say_now(&have)? } else { control.say(&have)? }
                }
                Err(why) => self.answer(id, entry, Err(why)),
            }
        }
        lock(&self.control).flush()
    }

    /// What there is of a file.
    fn look(&self, id: u32, entry: &Entry) -> io::Result<Message> {
        let mut found = Found::default();
        let (mut whole, mut part) = (None, None);
        if let Some(place) = self.folder.place(&entry.path, false)? {
            if let Some(mut file) = place.whole()? {
                found.closed = !self.options.overwrite;
                if file.metadata()?.len() == entry.size {
                    found.whole = true;
                    let (_, hasher) = self.hash(&mut file, entry.size)?;
                    whole = Some(Sum(hasher.finalize()));
                } else if !self.options.overwrite {
                    return Err(different());
                }
            }
            if !found.closed {
                found.kept = self.find_part(&place, entry)?;
            }
        }
        if let Some(kept) = &found.kept {
            part = Some(Part { len: kept.len, sum: Sum(kept.hasher.finalize()) });
        }
        self.slots.ask(id, found);
        Ok(Message::Have { id, whole, replace: self.options.overwrite, part })
    }

    /// The start that there is of a file.
    fn find_part(&self, place: &Place, entry: &Entry) -> io::Result<Option<Box<Kept>>> {
        if !self.slots.may_keep() {
            return Ok(None);
        }
        let Some(mut file) = place.part()? else { return Ok(None) };
        let len = file.metadata()?.len();
        if len == 0 || len > entry.size {
            return Ok(None);
        }
        let (read, hasher) = self.hash(&mut file, len)?;
        Ok((read == len).then(|| Box::new(Kept { file, len, hasher })))
    }

    /// Hashes a file's first bytes.
    fn hash(&self, file: &mut File, count: u64) -> io::Result<(u64, blake3::Hasher)> {
        if count > CHUNK as u64 {
            // What has been gathered need not wait.
            lock(&self.control).flush()?;
        }
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; count.min(CHUNK as u64) as usize];
        let mut read = 0;
        while read < count && !self.slots.is_broken() {
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

    /// Hears the sender out.
    fn listen(&self, control: &mut ControlReader) -> Result<(), TransferError> {
        loop {
            let message = control.hear()?;
            let out_of_place =
                || TransferError::Protocol(format!("it says \"{}\" out of place", message.name()));
            let (id, heard, outcome) = match &message {
                Message::Same { id } => (*id, self.slots.compared(*id), Ok(FileOutcome::Skipped)),
                Message::Different { id } => (*id, self.slots.compared(*id), Err(different())),
                Message::Sent { id, sum } => {
                    let heard = self.slots.verdict(*id, Verdict::Sent(*sum));
                    (*id, heard, Err(io::ErrorKind::InvalidData.into()))
                }
                Message::Abandon { id, reason } => {
                    let reason = tidy(reason);
                    let heard = self.slots.verdict(*id, Verdict::Abandoned(reason.clone()));
                    (*id, heard, Err(abandoned(&reason)))
                }
                Message::End if self.slots.left() == 0 => return Ok(()),
                _ => return Err(out_of_place()),
            };
            match heard {
                Heard::Kept => {}
                Heard::Answer => {
                    let entry = self.manifest.entry(id).ok_or_else(out_of_place)?;
                    self.answer(id, entry, outcome);
                }
                Heard::Wrong => return Err(out_of_place()),
            }
        }
    }

    /// Takes the sender's streams, each in a thread of its own, until the link ends.
    fn accept<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        while let Ok(Some(stream)) = self.link.accept_uni() {
            self.slots.enter();
            let thread = std::thread::Builder::new().spawn_scoped(scope, || {
                if let Err(why) = self.take(stream) {
                    self.fail(why);
                }
                self.slots.leave();
            });
            if let Err(why) = thread {
                self.fail(TransferError::Link(why));
            }
        }
    }

    /// Reads a stream. Without a whole header it is dropped: the control stream tells why.
    fn take(&self, mut stream: Box<dyn Read + Send>) -> Result<(), TransferError> {
        let mut header = [0; 13];
        if stream.read_exact(&mut header).is_err() {
            return Ok(());
        }
        let [mark, i0, i1, i2, i3, offset @ ..] = header;
        let (id, offset) = (u32::from_le_bytes([i0, i1, i2, i3]), u64::from_le_bytes(offset));
        let wrong = || TransferError::Protocol(format!("a stream of entry {id} from {offset} on"));
        let entry = self.manifest.entry(id).filter(|_| mark == FILE_STREAM).ok_or_else(wrong)?;
        match self.slots.start(id, offset) {
            Start::Begin(kept) => {
                self.progress.file_started(id, entry, offset);
                let outcome = self.take_file(id, entry, (offset, kept), stream);
                self.answer(id, entry, outcome.map(|()| FileOutcome::Moved));
                Ok(())
            }
            Start::Late => Ok(()),
            Start::Wrong => Err(wrong()),
        }
    }

    /// Reads a file, verifies it and puts it in place.
    fn take_file(
        &self,
        id: u32,
        entry: &Entry,
        (offset, kept): (u64, Option<Box<Kept>>),
        mut stream: Box<dyn Read + Send>,
    ) -> io::Result<()> {
        let place = self.folder.place(&entry.path, true)?.ok_or(io::ErrorKind::NotFound)?;
        let (mut file, mut hasher) = match kept {
            Some(kept) if offset == 0 => (kept.file, blake3::Hasher::new()),
            Some(kept) => (kept.file, kept.hasher),
            None => (place.make_part()?, blake3::Hasher::new()),
        };
        file.set_len(offset)?;
        file.seek(SeekFrom::Start(offset))?;
        lock(&self.summary).resumed_bytes += offset;
        let mut left = entry.size.saturating_sub(offset);
        let mut buffer = vec![0; left.saturating_add(1).min(CHUNK as u64) as usize];
        let broken = loop {
            // One byte more than is left is one too many.
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
                    gather(got, left);
                }
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => break Some(why),
            }
        };
        match (self.slots.wait(id), broken) {
            (Some(Verdict::Abandoned(reason)), _) => Err(abandoned(&reason)),
            (_, Some(why)) => Err(why),
            (None, None) => Err(io::ErrorKind::ConnectionAborted.into()),
            (Some(Verdict::Sent(_)), None) if left > 0 => {
                Err(io::Error::other("fewer bytes came than were said"))
            }
            (Some(Verdict::Sent(sum)), None) if sum.0 == hasher.finalize() => {
                place.put(&file, entry.kind == Kind::Executable, self.options.overwrite)
            }
            (Some(Verdict::Sent(_)), None) => {
                place.remove_part()?;
                Err(io::Error::other("what came is not what was sent"))
            }
        }
    }

    /// Tells the sender what came of an entry.
    fn answer(&self, id: u32, entry: &Entry, outcome: io::Result<FileOutcome>) {
        if !self.slots.answer(id) {
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
                    summary
                        .failed
                        .push(Failure { path: entry.path.clone(), reason: reason.clone() });
                }
            }
        }
        if entry.kind.is_file() {
            self.progress.file_done(id, entry, &outcome);
        }
        if outcome == FileOutcome::Skipped
            && let Ok(Some(place)) = self.folder.place(&entry.path, false)
        {
            // The start of a file that is there is of no use any more. That it stays does no harm.
            let _ = place.remove_part();
        }
        let message = match outcome {
            FileOutcome::Failed(reason) => Message::Failed { id, reason },
            FileOutcome::Moved | FileOutcome::Skipped => Message::Done { id },
        };
        let mut control = lock(&self.control);
        let said =
            if entry.kind.is_file() { control.say_now(&message) } else { control.say(&message) };
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
    io::Error::other(
        "a name in its path begins with a dot, and the receiver was not started with --hidden",
    )
}

fn abandoned(reason: &str) -> io::Error {
    io::Error::other(format!("the sender cannot send it: {reason}"))
}
