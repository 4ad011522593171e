//! Locks on folders of results. A lock is advisory and held by the system (`flock`, `LockFileEx`): it ends with the
//! process that holds it, however that ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The file that is locked; it is removed by the last that held it.
const NAME: &str = ".shallop.lock";

/// A lock on a folder, until it is dropped.
#[derive(Debug)]
#[must_use = "the folder is locked as long as this is there"]
pub struct FolderLock {
    path: PathBuf,
    file: File,
    /// Whether the system has no locks for this folder, as some network file systems do not.
    unknown: bool,
}

impl FolderLock {
    /// Locks a folder, which is created if it is missing, for this holder alone.
    ///
    /// # Errors
    /// [`StoreError::Locked`] if another one holds it, [`StoreError::File`] if the folder cannot be written to.
    pub fn alone(folder: &Path) -> Result<Self, StoreError> {
        Self::of(folder, File::try_lock)
    }

    /// Locks a folder for those who lock it in this way, against those who lock it alone.
    ///
    /// # Errors
    /// As [`FolderLock::alone`].
    pub fn beside_others(folder: &Path) -> Result<Self, StoreError> {
        Self::of(folder, File::try_lock_shared)
    }

    fn of(
        folder: &Path,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Self, StoreError> {
        fs::create_dir_all(folder)
            .map_err(|why| StoreError::file(folder, "create the folder", why))?;
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
        // Whoever can lock it alone is the last; a file that stays does no harm.
        if !self.unknown && self.file.try_lock().is_ok() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the open file is the one at this path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same = || -> io::Result<bool> {
        let (open, there) = (file.metadata()?, fs::metadata(path)?);
        Ok((open.dev(), open.ino()) == (there.dev(), there.ino()))
    };
    same().unwrap_or(false)
}

/// An open file cannot be replaced here.
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
        let alone = FolderLock::alone(&here).unwrap();
        let why = FolderLock::alone(&here).unwrap_err().to_string();
        assert!(why.contains("results: another shallop is writing"), "{why}");
        assert!(FolderLock::beside_others(&here).is_err());
        drop(alone);
        assert_eq!(fs::read_dir(&here).unwrap().count(), 0, "nothing is left");
        let shards = [FolderLock::beside_others(&here), FolderLock::beside_others(&here)];
        let [one, other] = shards.map(Result::unwrap);
        assert!(FolderLock::alone(&here).is_err());
        drop(one);
        assert!(FolderLock::alone(&here).is_err(), "the other shard is still there");
        drop(other);
        drop(FolderLock::alone(&here).unwrap());
        assert_eq!(fs::read_dir(&here).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_a_killed_process_left_locks_nobody_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(NAME), b"").unwrap();
        drop(FolderLock::alone(folder.path()).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
