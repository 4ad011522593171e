//! The receiver's folder. No symbolic link in it is ever followed, so that nothing outside of it is read or written.

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, fchmod, flock, fstat, fsync,
    mkdirat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// What the name of the start of an unfinished file ends in.
pub const PART_SUFFIX: &str = ".shallop-part";

/// Bytes of a name in a file system, at most.
const MAX_NAME: usize = 255;

/// A folder that files are put in.
#[derive(Debug)]
pub(crate) struct Folder {
    root: OwnedFd,
}

impl Folder {
    /// Opens a folder, which may itself be reached over symbolic links.
    pub(crate) fn open(path: &Path) -> io::Result<Folder> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder { root: rustix::fs::open(path, flags, Mode::empty())? })
    }

    /// Where a path that [`crate::transfer::Manifest`] has let through leads to. None when a folder on the way is not
    /// there; `make` makes it.
    pub(crate) fn place(&self, path: &str, make: bool) -> io::Result<Option<Place>> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut parent = self.root.try_clone()?;
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            match enter(&parent, folder, make)? {
                Some(entered) => parent = entered,
                None => return Ok(None),
            }
        }
        Ok(Some(Place { parent, name: name.to_owned(), part: part_name(name) }))
    }

    /// Sees to it that a folder is there.
    pub(crate) fn make(&self, path: &str) -> io::Result<()> {
        let Some(place) = self.place(path, true)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        enter(&place.parent, &place.name, true).map(|_| ())
    }
}

/// Enters a folder within another; none when it is not there.
fn enter(parent: &OwnedFd, name: &str, make: bool) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if make {
        match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
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

/// The name of the start of an unfinished file: that of the file and [`PART_SUFFIX`], or when that is too long as much
/// of it as fits, with its BLAKE3.
fn part_name(name: &str) -> String {
    if name.len() + PART_SUFFIX.len() <= MAX_NAME {
        return format!("{name}{PART_SUFFIX}");
    }
    let digest = blake3::hash(name.as_bytes()).to_hex();
    let digest = &digest.as_str()[..32];
    let mut fits = MAX_NAME - PART_SUFFIX.len() - digest.len() - 1;
    while !name.is_char_boundary(fits) {
        fits -= 1;
    }
    format!("{}~{digest}{PART_SUFFIX}", &name[..fits])
}

/// Where a file belongs.
#[derive(Debug)]
pub(crate) struct Place {
    parent: OwnedFd,
    name: String,
    part: String,
}

impl Place {
    /// The file that is there.
    ///
    /// # Errors
    ///
    /// When something is there that is no file.
    pub(crate) fn whole(&self) -> io::Result<Option<File>> {
        self.open(&self.name, OFlags::RDONLY)
    }

    /// The start of a file that is there, locked.
    pub(crate) fn part(&self) -> io::Result<Option<File>> {
        let Some(file) = self.open(&self.part, OFlags::RDWR)? else { return Ok(None) };
        self.lock(file).map(Some)
    }

    /// The start of a file that is there, or an empty one; locked.
    pub(crate) fn make_part(&self) -> io::Result<File> {
        let Some(file) = self.open(&self.part, OFlags::RDWR | OFlags::CREATE)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        self.lock(file)
    }

    fn open(&self, name: &str, flags: OFlags) -> io::Result<Option<File>> {
        // Opening what is no file must not wait.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let in_the_way = || io::Error::other(format!("{name:?} is in the way: no file"));
        let file = match openat(&self.parent, name, flags, Mode::from_raw_mode(0o666)) {
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

    /// Locks the start of a file, so that no other transfer writes to it.
    fn lock(&self, file: File) -> io::Result<File> {
        let taken = || io::Error::other("another transfer is writing this file");
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(taken()),
            Err(why) => return Err(why.into()),
        }
        // Between opening and locking, another may have finished it; and what has a second name is not ours alone.
        let here = fstat(&file)?;
        match statat(&self.parent, self.part.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino) => {}
            _ => return Err(taken()),
        }
        if here.st_nlink != 1 {
            return Err(io::Error::other(format!("{:?} has a second name", self.part)));
        }
        Ok(file)
    }

    /// Gives a file that is whole its name, once it is on the disk.
    pub(crate) fn put(&self, file: &File, executable: bool, replace: bool) -> io::Result<()> {
        let mode = fstat(file)?.st_mode & 0o777;
        let mode = if executable { mode | ((mode & 0o444) >> 2) } else { mode & !0o111 };
        fchmod(file, Mode::from_raw_mode(mode))?;
        file.sync_all()?;
        let (from, to) = (self.part.as_str(), self.name.as_str());
        if replace {
            renameat(&self.parent, from, &self.parent, to)?;
        } else {
            match renameat_with(&self.parent, from, &self.parent, to, RenameFlags::NOREPLACE) {
                // Not every file system can.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => self.rename_if_free()?,
                renamed => renamed?,
            }
        }
        Ok(fsync(&self.parent)?)
    }

    fn rename_if_free(&self) -> io::Result<()> {
        match statat(&self.parent, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {
                Ok(renameat(&self.parent, self.part.as_str(), &self.parent, self.name.as_str())?)
            }
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(why) => Err(why.into()),
        }
    }

    /// Removes the start of a file, if there is one.
    pub(crate) fn remove_part(&self) -> io::Result<()> {
        match unlinkat(&self.parent, self.part.as_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(why) => Err(why.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Folder, part_name};
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_are_not_followed() {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = Folder::open(inside.path()).unwrap();
        symlink(outside.path(), inside.path().join("way")).unwrap();
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        symlink(outside.path().join("secret"), inside.path().join("file")).unwrap();
        symlink(outside.path().join("new"), inside.path().join("b.shallop-part")).unwrap();
        assert!(folder.place("way/a", true).is_err());
        assert!(folder.place("way/a", false).is_err());
        assert!(folder.make("way").is_err());
        assert!(folder.place("file", true).unwrap().unwrap().whole().is_err());
        assert!(folder.place("b", true).unwrap().unwrap().make_part().is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_takes_its_name_whole_and_only_a_free_one() {
        let inside = tempfile::tempdir().unwrap();
        let folder = Folder::open(inside.path()).unwrap();
        assert!(folder.place("x/y/a", false).unwrap().is_none());
        let place = folder.place("x/y/a", true).unwrap().unwrap();
        assert!(place.whole().unwrap().is_none());
        let mut part = place.make_part().unwrap();
        assert!(place.part().is_err(), "it is locked");
        part.write_all(b"whole").unwrap();
        place.put(&part, true, false).unwrap();
        let path = inside.path().join("x/y/a");
        assert_eq!(std::fs::read(&path).unwrap(), b"whole");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o100, 0o100);
        let second = place.make_part().unwrap();
        assert!(place.put(&second, false, false).is_err(), "the name is taken");
        place.put(&second, false, true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0);
        assert!(place.part().unwrap().is_none());
        assert!(
            folder.place("x/y", true).unwrap().unwrap().whole().is_err(),
            "a folder is no file"
        );
    }

    #[test]
    fn a_start_with_a_second_name_is_not_written_to() {
        let inside = tempfile::tempdir().unwrap();
        std::fs::write(inside.path().join("other"), "o").unwrap();
        let start = inside.path().join("a.shallop-part");
        std::fs::hard_link(inside.path().join("other"), start).unwrap();
        let place = Folder::open(inside.path()).unwrap().place("a", true).unwrap().unwrap();
        assert!(place.make_part().is_err());
    }

    #[test]
    fn long_names_have_starts_too() {
        for name in ["n".repeat(255), "ü".repeat(127), "n".repeat(242), "n".repeat(243)] {
            assert!(
                part_name(&name).len() <= 255 && part_name(&name).ends_with(super::PART_SUFFIX)
            );
        }
        assert_eq!(part_name("a"), "a.shallop-part");
        let other = format!("{}m", "n".repeat(254));
        assert_ne!(part_name(&"n".repeat(255)), part_name(&other));
    }
}
