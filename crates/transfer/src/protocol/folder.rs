//! The receiver's folder. Symbolic links in it are never followed, so that nothing outside is read or written.

use crate::protocol::entry_states::lock;
use crate::protocol::token::Token;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, fchmod, flock, fstat, fstatvfs, fsync, mkdirat,
    openat, renameat, renameat_with, statat, syncfs, unlinkat,
};
use rustix::{io::Errno, process::geteuid};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::{fs::File, os::fd::OwnedFd, path::Path};

/// The suffix of the names of partial files.
pub const PART_SUFFIX: &str = ".shallop-part";

/// The longest file name on Linux, bytes.
const MAX_NAME: usize = 255;

/// Permissions that files and folders never get: group and others may not write.
const NEVER: u32 = 0o022;

#[derive(Debug)]
pub(crate) struct TargetFolder {
    root: OwnedFd,
    /// The token of the sender, whose partial files alone are used.
    token: Token,
    /// The folder of the last path that was resolved. The next file is often in it, too.
    last: Mutex<Option<(String, Arc<OwnedFd>)>>,
}

impl TargetFolder {
    /// Opens a folder. Its own path may contain symbolic links.
    pub(crate) fn open(path: &Path, token: Token) -> io::Result<TargetFolder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(TargetFolder { root, token, last: Mutex::default() })
    }

    /// Resolves a path that [`crate::protocol::Manifest`] has checked. Missing parent folders are created if `create`
    /// is set; otherwise the result is `None`.
    pub(crate) fn target(&self, path: &str, create: bool) -> io::Result<Option<TargetPath>> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let path_at = |parent| TargetPath { parent, name: name.to_owned(), part: part_name(name, self.token) };
        let mut last = lock(&self.last);
        if let Some((path, parent)) = &*last
            && path == folders
            && fstat(parent)?.st_nlink > 0
        {
            return Ok(Some(path_at(Arc::clone(parent))));
        }
        let mut parent = self.root.try_clone()?;
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            match enter(&parent, folder, create.then_some(0o777 & !NEVER))? {
                Some(entered) => parent = entered,
                None => return Ok(None),
            }
        }
        let parent = Arc::new(parent);
        *last = Some((folders.to_owned(), Arc::clone(&parent)));
        Ok(Some(path_at(parent)))
    }

    /// Syncs the file system of the folder to disk.
    pub(crate) fn sync_all(&self) -> io::Result<()> {
        Ok(syncfs(&self.root)?)
    }

    /// Creates a folder and its parents, unless they exist. The owner may always read and write in it. Returns whether
    /// the folder is new.
    pub(crate) fn create_folder(&self, path: &str, mode: u16) -> io::Result<bool> {
        let Some(place) = self.target(path, true)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let mode = u32::from(mode) & !NEVER | 0o700;
        let is_new = mkdirat(&place.parent, place.name.as_str(), Mode::from_raw_mode(mode)).is_ok();
        enter(&place.parent, &place.name, Some(mode)).map(|_| is_new)
    }
}

/// Opens a folder in another one, and creates it with the permissions `create`. Without them the result is `None` if it
/// does not exist.
fn enter(parent: &OwnedFd, name: &str, create: Option<u32>) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Some(mode) = create {
        match mkdirat(parent, name, Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(why) => return Err(why.into()),
        }
    }
    match openat(parent, name, flags, Mode::empty()) {
        Ok(folder) => Ok(Some(folder)),
        Err(Errno::NOENT) => Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            Err(io::Error::other(format!("{name:?} is in the way: a symbolic link, or no folder")))
        }
        Err(why) => Err(why.into()),
    }
}

/// The name of the partial file of a sender with this token: the file's name, a tag and [`PART_SUFFIX`]. The tag is a
/// digest of the name and the token, so that another sender can neither use nor name it. A long name is truncated.
pub fn part_name(name: &str, token: Token) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("shallop 2026-11-27 tags of partial files");
    let tag = hasher.update(&token.bytes()).update(name.as_bytes()).finalize().to_hex();
    let tag = &tag.as_str()[..32];
    let mut fits = name.len().min(MAX_NAME - PART_SUFFIX.len() - tag.len() - 1);
    while !name.is_char_boundary(fits) {
        fits -= 1;
    }
    format!("{}.{tag}{PART_SUFFIX}", &name[..fits])
}

/// The path of a file in the receiver's folder.
#[derive(Debug)]
pub(crate) struct TargetPath {
    parent: Arc<OwnedFd>,
    name: String,
    part: String,
}

impl TargetPath {
    /// Opens the complete file, if it exists.
    ///
    /// # Errors
    /// The path exists and is not a file.
    pub(crate) fn open_complete(&self) -> io::Result<Option<File>> {
        self.open(&self.name, OFlags::RDONLY, 0)
    }

    /// Opens and locks the partial file, if it exists.
    pub(crate) fn open_part(&self) -> io::Result<Option<File>> {
        let Some(file) = self.open(&self.part, OFlags::RDWR, 0)? else { return Ok(None) };
        self.lock(file).map(Some)
    }

    /// Opens or creates the partial file, and locks it. A new one gives no more rights than the file at the sender.
    pub(crate) fn create_part(&self, mode: u16) -> io::Result<File> {
        let mode = u32::from(mode) & !NEVER | 0o600;
        let file = match self.open(&self.part, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => self.open(&self.part, OFlags::RDWR, 0)?,
            file => file?,
        };
        self.lock(file.ok_or(io::ErrorKind::NotFound)?)
    }

    fn open(&self, name: &str, flags: OFlags, mode: u32) -> io::Result<Option<File>> {
        // Opening a FIFO must not block.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let in_the_way = || io::Error::other(format!("{name:?} is in the way: no file"));
        let file = match openat(&self.parent, name, flags, Mode::from_raw_mode(mode)) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Err(in_the_way()),
            Err(why) => return Err(why.into()),
        };
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(in_the_way());
        }
        Ok(Some(file.into()))
    }

    /// Locks a partial file, so that no other transfer writes to it.
    fn lock(&self, file: File) -> io::Result<File> {
        let taken = || io::Error::new(io::ErrorKind::ResourceBusy, "another transfer is writing this file");
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(taken()),
            Err(why) => return Err(why.into()),
        }
        // Another transfer may have renamed the file between opening and locking.
        let here = fstat(&file)?;
        match statat(&self.parent, self.part.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino) => {}
            _ => return Err(taken()),
        }
        if here.st_nlink != 1 {
            return Err(io::Error::other(format!("{:?} has a second name", self.part)));
        }
        if here.st_uid != geteuid().as_raw() || here.st_mode & NEVER != 0 {
            return Err(io::Error::other(format!("another user owns {:?}, or may write to it", self.part)));
        }
        Ok(file)
    }

    /// Bytes that the file system has free for this user; the largest number if it does not say its size, as some FUSE
    /// file systems.
    pub(crate) fn free_space(&self) -> io::Result<u64> {
        let found = fstatvfs(&self.parent)?;
        Ok(if found.f_blocks == 0 { u64::MAX } else { found.f_bavail.saturating_mul(found.f_frsize) })
    }

    /// Sets the permissions of a complete file: those that the sender's file, the umask and a file that it replaces
    /// have in common.
    pub(crate) fn set_mode(&self, file: &File, mode: u16) -> io::Result<()> {
        let now = fstat(file)?.st_mode & 0o7777;
        let mut mode = now & u32::from(mode) & 0o777;
        if let Ok(before) = statat(&self.parent, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            mode &= before.st_mode;
        }
        if mode == now { Ok(()) } else { Ok(fchmod(file, Mode::from_raw_mode(mode))?) }
    }

    /// Sets the permissions of a complete file, and gives it its final name once it is on disk.
    pub(crate) fn finish(&self, file: &File, mode: u16, replace: bool) -> io::Result<()> {
        self.set_mode(file, mode)?;
        file.sync_all()?;
        self.rename(replace)?;
        Ok(fsync(&self.parent)?)
    }

    /// Gives a partial file its final name.
    pub(crate) fn rename(&self, replace: bool) -> io::Result<()> {
        let (from, to) = (self.part.as_str(), self.name.as_str());
        if replace {
            return Ok(renameat(&self.parent, from, &self.parent, to)?);
        }
        match renameat_with(&self.parent, from, &self.parent, to, RenameFlags::NOREPLACE) {
            // Not every file system supports RENAME_NOREPLACE.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename_if_free(),
            renamed => Ok(renamed?),
        }
    }

    fn rename_if_free(&self) -> io::Result<()> {
        match statat(&self.parent, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(renameat(&self.parent, self.part.as_str(), &self.parent, self.name.as_str())?),
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(why) => Err(why.into()),
        }
    }

    /// Removes the partial file, if it exists.
    pub(crate) fn remove_part(&self) -> io::Result<()> {
        match unlinkat(&self.parent, self.part.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

/// A partial file that is written, with its hash state.
pub(crate) struct PartWriter {
    /// The permissions of the sender's file.
    pub mode: u16,
    pub target: TargetPath,
    pub file: File,
    pub hasher: blake3::Hasher,
}

impl PartWriter {
    /// Appends bytes. A file that the disk has no space for is removed, so that it does not keep the disk full.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(why) = self.file.write_all(bytes) {
            if matches!(why.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
                self.target.remove_part()?;
            }
            return Err(why);
        }
        self.hasher.update(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{PartWriter, TargetFolder, Token, part_name};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::{fs::Permissions, io::Write};

    const TOKEN: u128 = 7;

    fn folder(path: &Path) -> TargetFolder {
        TargetFolder::open(path, Token(TOKEN)).unwrap()
    }

    fn part(name: &str) -> String {
        part_name(name, Token(TOKEN))
    }

    #[test]
    fn a_complete_file_replaces_another_only_if_allowed() {
        let inside = tempfile::tempdir().unwrap();
        let folder = folder(inside.path());
        assert!(folder.target("x/y/a", false).unwrap().is_none());
        let place = folder.target("x/y/a", true).unwrap().unwrap();
        assert!(place.open_complete().unwrap().is_none());
        let mut part = place.create_part(0o755).unwrap();
        assert!(place.open_part().is_err(), "it is locked");
        part.write_all(b"whole").unwrap();
        place.finish(&part, 0o755, false).unwrap();
        let path = inside.path().join("x/y/a");
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o100, 0o100);
        let second = place.create_part(0o644).unwrap();
        assert!(place.finish(&second, 0o644, false).is_err(), "the name is taken");
        place.finish(&second, 0o644, true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0);
        assert!(place.open_part().unwrap().is_none());
        assert!(folder.target("x/y", true).unwrap().unwrap().open_complete().is_err(), "a folder is no file");
    }

    #[test]
    fn a_partial_file_with_a_hard_link_is_not_written_to() {
        let inside = tempfile::tempdir().unwrap();
        std::fs::write(inside.path().join("other"), "o").unwrap();
        let start = inside.path().join(part("a"));
        std::fs::hard_link(inside.path().join("other"), start).unwrap();
        let place = folder(inside.path()).target("a", true).unwrap().unwrap();
        assert!(place.create_part(0o644).is_err());
    }

    #[test]
    fn a_file_gives_no_more_rights_than_its_source_and_what_it_replaces() {
        let inside = tempfile::tempdir().unwrap();
        let place = folder(inside.path()).target("a", true).unwrap().unwrap();
        let mode = |name: &str| std::fs::metadata(inside.path().join(name)).unwrap().permissions().mode() & 0o777;
        // What is there before (none: 0), what is sent, and what results under a umask of at least 022.
        for (before, source, most) in [(0, 0o600, 0o600), (0, 0o400, 0o400), (0, 0o777, 0o755), (0o640, 0o644, 0o640)] {
            if before != 0 {
                std::fs::write(inside.path().join("a"), "old").unwrap();
                std::fs::set_permissions(inside.path().join("a"), Permissions::from_mode(before)).unwrap();
            }
            let new = place.create_part(source).unwrap();
            assert_eq!(mode(&part("a")) & !(u32::from(source) | 0o600), 0, "while it arrives");
            place.finish(&new, source, true).unwrap();
            assert_eq!((mode("a") & !most, mode("a") & 0o400), (0, 0o400), "{before:o} {source:o}");
            std::fs::remove_file(inside.path().join("a")).unwrap();
        }
    }

    #[test]
    fn a_partial_file_that_others_may_write_to_is_refused() {
        let inside = tempfile::tempdir().unwrap();
        let part = inside.path().join(part("a"));
        std::fs::write(&part, "x").unwrap();
        let place = folder(inside.path()).target("a", true).unwrap().unwrap();
        for (mode, is_refused) in [(0o666, true), (0o664, true), (0o644, false)] {
            std::fs::set_permissions(&part, Permissions::from_mode(mode)).unwrap();
            assert_eq!(place.create_part(0o644).is_err(), is_refused, "{mode:o}");
            assert_eq!(place.open_part().is_err(), is_refused, "{mode:o}");
        }
    }

    #[test]
    fn a_partial_file_that_fills_the_disk_is_removed() {
        let inside = tempfile::tempdir().unwrap();
        let target = folder(inside.path()).target("a", true).unwrap().unwrap();
        target.create_part(0o644).unwrap();
        // Every write to it fails as on a full disk.
        let file = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut writer = PartWriter { target, file, mode: 0o644, hasher: blake3::Hasher::new() };
        assert_eq!(writer.write(b"x").unwrap_err().kind(), std::io::ErrorKind::StorageFull);
        assert_eq!(inside.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn names_of_partial_files_have_at_most_255_bytes() {
        for name in ["n".repeat(255), "ü".repeat(127), "n".repeat(242), "n".repeat(243)] {
            assert!(part(&name).len() <= 255 && part(&name).ends_with(super::PART_SUFFIX));
        }
        assert!(part("a").starts_with("a.") && part("a") != part_name("a", Token(8)));
        let other = format!("{}m", "n".repeat(254));
        assert_ne!(part(&"n".repeat(255)), part(&other));
    }
}
