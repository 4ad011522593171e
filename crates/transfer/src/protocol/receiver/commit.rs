//! Puts complete files in place. Small ones are synced to disk together, because each sync waits for the disk.

use super::Receiver;
use crate::protocol::entry_states::lock;
use crate::protocol::folder::PartWriter;
use crate::protocol::message::Digest;
use crate::protocol::progress::FileOutcome;
use crate::protocol::reasons::different;
use std::time::{Duration, Instant};
use std::{io, sync::Mutex};

/// The time after a sync in which others are not due.
const PAUSE: Duration = Duration::from_millis(200);

/// Verified files that wait to be synced and renamed.
#[derive(Default)]
pub(super) struct CommitQueue {
    waiting: Mutex<Vec<(u32, PartWriter)>>,
    /// Held while files are synced, during which others begin to wait. The end of the last sync.
    synced: Mutex<Option<Instant>>,
}

impl Receiver<'_> {
    /// Verifies the BLAKE3 of a file. Returns false if the receiver has the file already.
    pub(super) fn verify(&self, part: &PartWriter, sum: Digest) -> io::Result<bool> {
        let PartWriter { target, hasher, .. } = part;
        if hasher.finalize() != sum.0 {
            target.remove_part()?;
            return Err(io::Error::other("what came is not what was sent"));
        }
        if self.is_pushed
            && let Some(is_same) = self.equals_complete(part).inspect_err(|_| _ = target.remove_part())?
            && (is_same || !self.options.overwrite)
        {
            target.remove_part()?;
            return if is_same { Ok(false) } else { Err(different()) };
        }
        Ok(true)
    }

    /// Whether the complete file and the partial file have equal bytes; `None` without a complete file.
    fn equals_complete(&self, part: &PartWriter) -> io::Result<Option<bool>> {
        let Some(mut there) = part.target.open_complete()? else { return Ok(None) };
        let size = part.file.metadata()?.len();
        let has_size = there.metadata()?.len() == size;
        Ok(Some(has_size && self.hash(&mut there, size)?.1.finalize() == part.hasher.finalize()))
    }

    /// Queues a verified file. [`commit`](Self::commit) answers it.
    pub(super) fn queue(&self, id: u32, part: PartWriter) {
        let mut waiting = lock(&self.queue.waiting);
        waiting.push((id, part));
        let is_full = waiting.len() >= self.limits.waiting;
        drop(waiting);
        if is_full {
            self.commit();
        }
    }

    /// Commits if no other file is expected, or the last sync was long ago. To be called before a thread waits for the
    /// sender, and after entries were answered.
    pub(super) fn commit_if_due(&self) {
        let is_long_ago = || self.queue.synced.try_lock().is_ok_and(|at| at.is_none_or(|at| at.elapsed() >= PAUSE));
        if self.expects_no_other() || !lock(&self.queue.waiting).is_empty() && is_long_ago() {
            self.commit();
        }
    }

    /// Whether files are queued, and all other entries are answered.
    fn expects_no_other(&self) -> bool {
        let count = lock(&self.queue.waiting).len();
        count > 0 && count >= self.states.left()
    }

    /// Syncs and renames all queued files, and answers them.
    pub(super) fn commit(&self) {
        loop {
            let mut synced = lock(&self.queue.synced);
            let files = std::mem::take(&mut *lock(&self.queue.waiting));
            let outcomes = self.activity.own_work(|| self.put_in_place(&files));
            // The files are closed first, which unlocks them.
            drop(files);
            *synced = Some(Instant::now());
            self.answer(outcomes);
            drop(synced);
            // While these files were not answered, the thread of the last one expected others.
            if !self.expects_no_other() {
                return;
            }
        }
    }

    /// Syncs verified files, gives them their final names and syncs these.
    pub(super) fn put_in_place(&self, files: &[(u32, PartWriter)]) -> Vec<(u32, io::Result<FileOutcome>)> {
        let replace = self.options.overwrite;
        let set_modes = || files.iter().try_for_each(|(_, part)| part.target.set_mode(&part.file, part.mode));
        // After an error each file is synced alone, which tells the file that has it.
        let is_synced = files.len() > 1 && set_modes().and_then(|()| self.folder.sync_all()).is_ok();
        let place = |part: &PartWriter| {
            let PartWriter { target, file, mode, .. } = part;
            let placed = if is_synced { target.rename(replace) } else { target.finish(file, *mode, replace) };
            match placed {
                // Another transfer was earlier, perhaps one of this sender before it was killed.
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
                    let there = self.equals_complete(part);
                    target.remove_part()?;
                    if there? == Some(true) { Ok(FileOutcome::Moved) } else { Err(different()) }
                }
                placed => placed.map(|()| FileOutcome::Moved),
            }
        };
        let placed = files.iter().map(|(id, part)| (*id, place(part))).collect();
        match if is_synced { self.folder.sync_all() } else { Ok(()) } {
            Ok(()) => placed,
            Err(why) => files.iter().map(|(id, _)| (*id, Err(io::Error::new(why.kind(), why.to_string())))).collect(),
        }
    }
}
