//! The files and folders that a sender sends.

use crate::protocol::error::TransferError;
use crate::protocol::manifest::{Entry, Kind, Manifest};
use rustix::fs::OFlags;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The most symbolic links that an error names.
const NAMED: usize = 10;

/// The files and folders to send, with their local paths and the paths at the receiver.
#[derive(Clone, Debug, Default)]
pub struct SourcePaths {
    pub(crate) manifest: Manifest,
    paths: Vec<PathBuf>,
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
        let mut left = vec![(path.to_owned(), own_name(path)?)];
        let mut links = Vec::new();
        while let Some((path, name)) = left.pop() {
            let metadata = path.symlink_metadata().map_err(|source| local(&path, source))?;
            if metadata.is_symlink() {
                links.push(path);
                continue;
            }
            let kind = kind(&metadata).map_err(|reason| unsendable(&path, reason))?;
            if kind == Kind::Folder {
                let inside = children(&path, &name)?;
                left.extend(inside.into_iter().rev());
            }
            let size = if kind.is_file() { metadata.len() } else { 0 };
            let mode = (metadata.permissions().mode() & 0o777) as u16;
            self.manifest.push(Entry { path: name, kind, size, mode })?;
            self.paths.push(path);
        }
        links.first().map_or(Ok(()), |first| Err(unsendable(first, &refusal(&links))))
    }

    /// Opens the file of an entry.
    ///
    /// # Errors
    /// The file cannot be read, or has changed its type or length.
    pub(crate) fn open(&self, id: u32) -> io::Result<File> {
        let (Some(path), Some(entry)) = (self.paths.get(id as usize), self.manifest.entry(id)) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
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

/// The paths and names in a folder, in the order of names.
fn children(path: &Path, name: &str) -> Result<Vec<(PathBuf, String)>, TransferError> {
    let mut inside = Vec::new();
    for child in path.read_dir().map_err(|source| local(path, source))? {
        let child = child.map_err(|source| local(path, source))?;
        let own = child.file_name();
        let own = own.to_str().ok_or_else(|| unsendable(&child.path(), "its name is not UTF-8"))?;
        inside.push((child.path(), format!("{name}/{own}")));
    }
    inside.sort();
    Ok(inside)
}

fn kind(metadata: &Metadata) -> Result<Kind, &'static str> {
    let kind = metadata.file_type();
    if kind.is_dir() {
        Ok(Kind::Folder)
    } else if kind.is_file() {
        Ok(Kind::File)
    } else {
        Err("it is neither file nor folder")
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
