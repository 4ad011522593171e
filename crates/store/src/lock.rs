//! Locks on folders with results. A lock is advisory (`flock`, `LockFileEx`). The operating system releases it when the
//! process that holds it ends or is killed.

use crate::error::StoreError;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the file that is locked in a folder. The last process that holds a lock removes it.
const NAME: &str = ".shallop.lock";

/// A lock on a folder with results, which is released when it is dropped.
#[derive(Debug)]
#[must_use = "the folder is locked until this is dropped"]
pub struct FolderLock {
    path: PathBuf,
    file: File,
    /// Whether the file system has no locks, as some network file systems; then nothing is locked.
    unknown: bool,
}

impl FolderLock {
    /// Locks a folder exclusively, so that no other process writes to it. A missing folder is created.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if the folder is locked already, [`StoreError::File`] if it cannot be written to.
    pub fn exclusive(folder: &Path) -> Result<Self, StoreError> {
        Self::of(folder, File::try_lock)
    }

    /// Locks a folder shared: other processes may hold shared locks, but no exclusive one.
    ///
    /// # Errors
    /// As [`FolderLock::exclusive`].
    pub fn shared(folder: &Path) -> Result<Self, StoreError> {
        Self::of(folder, File::try_lock_shared)
    }

    fn of(folder: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<Self, StoreError> {
        fs::create_dir_all(folder).map_err(|why| StoreError::file(folder, "create the folder", why))?;
        let path = folder.join(NAME);
        loop {
            let file = File::options().write(true).create(true).truncate(false).open(&path);
            let file = file.map_err(|why| StoreError::file(&path, "write the file", why))?;
            let unknown = match lock(&file) {
                Ok(()) => false,
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Locked { folder: folder.to_owned() });
                }
                Err(TryLockError::Error(_)) => true,
            };
            // Its last holder may have removed the file since it was opened.
            if unknown || is_at(&file, &path) {
                return Ok(Self { path, file, unknown });
            }
        }
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // A holder that gets the exclusive lock is the last one. A file that stays does no harm.
        if !self.unknown && self.file.try_lock().is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the open file is still the file at this path; another process may have removed or replaced it.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = || -> io::Result<bool> {
        let (open, there) = (file.metadata()?, fs::metadata(path)?);
        Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
    };
    same().unwrap_or(false)
}

/// Whether a file exists at this path. On these systems it is the open one, which cannot be replaced.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_writes_alone_or_several_side_by_side() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("deep/results");
        let alone = FolderLock::exclusive(&here).unwrap();
        let why = FolderLock::exclusive(&here).unwrap_err().to_string();
        assert!(why.contains("results: another shallop is writing"), "{why}");
        assert!(FolderLock::shared(&here).is_err());
        drop(alone);
        assert_eq!(fs::read_dir(&here).unwrap().count(), 0, "nothing is left");
        let shards = [FolderLock::shared(&here), FolderLock::shared(&here)];
        let [one, other] = shards.map(Result::unwrap);
        assert!(FolderLock::exclusive(&here).is_err());
        drop(one);
        assert!(FolderLock::exclusive(&here).is_err(), "the other shard is still there");
        drop(other);
        drop(FolderLock::exclusive(&here).unwrap());
        assert_eq!(fs::read_dir(&here).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_a_killed_process_left_locks_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), b"").unwrap();
        drop(FolderLock::exclusive(folder.path()).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
