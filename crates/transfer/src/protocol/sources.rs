//! The files and folders that a sender sends. Below a path that the user gives, no symbolic link is followed, also if
//! somebody exchanges a folder for a link meanwhile.

use crate::protocol::error::TransferError;
use crate::protocol::manifest::{Entry, Kind, Manifest};
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat, openat2, statat};
use rustix::{fd::OwnedFd, io::Errno};
use std::path::{Path, PathBuf};
use std::{ffi::OsStr, fs::File, io, os::unix::ffi::OsStrExt, sync::Arc};

/// The most symbolic links that an error names.
const NAMED: usize = 10;

/// The files and folders to send, with their local paths and the paths at the receiver.
#[derive(Clone, Debug, Default)]
pub struct SourcePaths {
    pub(crate) manifest: Manifest,
    /// The local path of each entry, and the folder that the user gave and that contains it.
    paths: Vec<(PathBuf, Arc<Root>)>,
}

/// A path that the user gave: a folder, or a file, of which symbolic links may be on the way to it alone.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    /// The open folder; `None` for a file.
    folder: Option<OwnedFd>,
}

impl Root {
    fn open(path: &Path, found: &Stat) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        let folder = is_folder.then(|| rustix::fs::open(path, flags, Mode::empty())).transpose()?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Opens the file or folder at this path for reading. Opening a FIFO must not block.
    fn read(&self, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Some(folder) = &self.folder else { return Ok(openat(CWD, path, flags, Mode::empty())?) };
        let below = path.strip_prefix(&self.path).ok().filter(|below| *below != Path::new(""));
        let below = below.unwrap_or(Path::new("."));
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        match openat2(folder, below, flags, Mode::empty(), resolve) {
            // Linux before 5.6 follows links to folders. Some filters of system calls do not know this one.
            Err(Errno::NOSYS | Errno::PERM) => Ok(openat(folder, below, flags, Mode::empty())?),
            opened => Ok(opened?),
        }
    }
}

impl SourcePaths {
    /// Collects files, and folders with all their contents. Each path arrives under its last name.
    ///
    /// # Errors
    /// An entry cannot be read, is neither file nor folder (such as a symbolic link), has a name that cannot be sent,
    /// or would arrive under the name of another one.
    pub fn collect(paths: &[PathBuf]) -> Result<SourcePaths, TransferError> {
        let mut sources = SourcePaths::default();
        for path in paths {
            sources.walk(path)?;
        }
        sources.manifest.check()?;
        Ok(sources)
    }

    fn walk(&mut self, path: &Path) -> Result<(), TransferError> {
        let failed = |source: Errno| local(path, source.into());
        let found = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?;
        let root = Arc::new(Root::open(path, &found).map_err(|source| local(path, source))?);
        let mut left = vec![(path.to_owned(), own_name(path)?, found)];
        let mut links = Vec::new();
        while let Some((path, name, found)) = left.pop() {
            if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
                links.push(path);
                continue;
            }
            let kind = kind(&found).map_err(|reason| unsendable(&path, reason))?;
            if kind == Kind::Folder {
                let inside = children(&root, &path, &name)?;
                left.extend(inside.into_iter().rev());
            }
            let size = if kind.is_file() { found.st_size.cast_unsigned() } else { 0 };
            let mode = (found.st_mode & 0o777) as u16;
            self.manifest.push(Entry { path: name, kind, size, mode })?;
            self.paths.push((path, Arc::clone(&root)));
        }
        links.first().map_or(Ok(()), |first| Err(unsendable(first, &refusal(&links))))
    }

    /// Opens the file of an entry.
    ///
    /// # Errors
    /// The file cannot be read, or has changed its type or length.
    pub(crate) fn open(&self, id: u32) -> io::Result<File> {
        let (Some((path, root)), Some(entry)) = (self.paths.get(id as usize), self.manifest.entry(id)) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let file = File::from(root.read(path, OFlags::empty())?);
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() != entry.size {
            return Err(io::Error::other("it has changed since the transfer began"));
        }
        Ok(file)
    }
}

/// Says that symbolic links are not sent, and which others were found.
fn refusal(links: &[PathBuf]) -> String {
    let reason = "symbolic links are not sent; send what it leads to".to_owned();
    if links.len() == 1 {
        return reason;
    }
    let names: Vec<String> = links.iter().take(NAMED).map(|link| link.display().to_string()).collect();
    let more = if links.len() > NAMED { ", ..." } else { "" };
    format!("{reason}. There are {} links: {}{more}", links.len(), names.join(", "))
}

/// The name under which a path arrives at the receiver: the last one of the path.
fn own_name(path: &Path) -> Result<String, TransferError> {
    let named = match path.file_name() {
        Some(_) => path.to_owned(),
        // `.` and `..`.
        None => path.canonicalize().map_err(|source| local(path, source))?,
    };
    let name = named.file_name().ok_or_else(|| unsendable(path, "it has no name"))?;
    let name = name.to_str().ok_or_else(|| unsendable(path, "its name is not UTF-8"))?;
    Ok(name.to_owned())
}

/// What is in a folder, in the order of names.
fn children(root: &Root, path: &Path, name: &str) -> Result<Vec<(PathBuf, String, Stat)>, TransferError> {
    let failed = |source: Errno| local(path, source.into());
    let folder = root.read(path, OFlags::DIRECTORY).map_err(|source| local(path, source))?;
    let mut inside = Vec::new();
    for child in Dir::read_from(&folder).map_err(failed)? {
        let child = child.map_err(failed)?;
        let own = OsStr::from_bytes(child.file_name().to_bytes());
        if own == "." || own == ".." {
            continue;
        }
        let (at, text) = (path.join(own), own.to_str());
        let text = text.ok_or_else(|| unsendable(&at, "its name is not UTF-8"))?;
        let found = statat(&folder, own, AtFlags::SYMLINK_NOFOLLOW).map_err(|why| local(&at, why.into()))?;
        inside.push((at, format!("{name}/{text}"), found));
    }
    inside.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(inside)
}

fn kind(found: &Stat) -> Result<Kind, &'static str> {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => Ok(Kind::Folder),
        FileType::RegularFile => Ok(Kind::File),
        _ => Err("it is neither file nor folder"),
    }
}

fn local(path: &Path, source: io::Error) -> TransferError {
    TransferError::Local { path: path.to_owned(), source }
}

fn unsendable(path: &Path, reason: &str) -> TransferError {
    TransferError::Unsendable { path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::{Kind, SourcePaths};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::{ffi::OsStr, fs::Permissions, os::unix::ffi::OsStrExt};

    #[test]
    fn folders_are_collected_in_the_order_of_names() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir_all(root.join("b/empty")).unwrap();
        std::fs::write(root.join("b/ü x"), "12").unwrap();
        std::fs::write(root.join("a"), "1").unwrap();
        std::fs::set_permissions(root.join("a"), Permissions::from_mode(0o755)).unwrap();
        let sources = SourcePaths::collect(&[root.join("b/.."), root.join("a")]);
        assert!(sources.is_ok(), "root and a do not meet");
        let sources = SourcePaths::collect(&[root]).unwrap();
        let found: Vec<_> = sources.manifest.entries().iter().map(|it| (it.path.as_str(), it.kind, it.size)).collect();
        assert_eq!(sources.manifest.entry(1).map(|program| program.mode), Some(0o755));
        let folder = |path| (path, Kind::Folder, 0);
        let file = ("root/b/ü x", Kind::File, 2);
        let program = ("root/a", Kind::File, 1);
        assert_eq!(found, [folder("root"), program, folder("root/b"), folder("root/b/empty"), file]);
    }

    #[test]
    fn a_folder_that_becomes_a_symbolic_link_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (root, outside) = (place.path().join("root"), place.path().join("outside"));
        for (folder, text) in [(root.join("in"), "public"), (outside.clone(), "secret")] {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("file"), text).unwrap();
        }
        let sources = SourcePaths::collect(std::slice::from_ref(&root)).unwrap();
        let id = sources.manifest.entries().iter().position(|entry| entry.kind == Kind::File).unwrap();
        assert!(sources.open(id as u32).is_ok());
        std::fs::rename(root.join("in"), root.join("before")).unwrap();
        symlink(&outside, root.join("in")).unwrap();
        assert!(sources.open(id as u32).is_err());
        assert!(super::children(&sources.paths[0].1, &root.join("in"), "root/in").is_err());
        // The path of the root itself may lead through links.
        symlink(place.path(), place.path().join("way")).unwrap();
        let sources = SourcePaths::collect(&[place.path().join("way/outside")]).unwrap();
        assert!(sources.open(1).is_ok());
    }

    #[test]
    fn an_error_names_the_path_that_cannot_be_sent() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("a"), "1").unwrap();
        let why = SourcePaths::collect(&[root.join("a"), root.join("a")]).unwrap_err().to_string();
        assert!(why.contains("twice"), "{why}");
        assert!(SourcePaths::collect(&[root.join("none")]).is_err());
        symlink("a", root.join("link")).unwrap();
        let why = SourcePaths::collect(std::slice::from_ref(&root)).unwrap_err().to_string();
        assert!(why.contains("root/link: symbolic links are not sent"), "{why}");
        for number in 0..10 {
            symlink("a", root.join(format!("link {number}"))).unwrap();
        }
        let why = SourcePaths::collect(std::slice::from_ref(&root)).unwrap_err().to_string();
        assert!(why.contains("There are 11 links: ") && why.contains("root/link 8, ..."), "{why}");
        for link in ["link".to_owned()].into_iter().chain((0..10).map(|number| format!("link {number}"))) {
            std::fs::remove_file(root.join(link)).unwrap();
        }
        std::fs::write(root.join(OsStr::from_bytes(b"\xff")), "1").unwrap();
        let why = SourcePaths::collect(&[root]).unwrap_err().to_string();
        assert!(why.contains("not UTF-8"), "{why}");
    }
}
