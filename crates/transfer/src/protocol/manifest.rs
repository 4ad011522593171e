//! The list of files and folders of a transfer, with paths that cannot lead out of the receiver's folder.

use crate::{protocol::error::TransferError, protocol::folder::PART_SUFFIX};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The longest path of an entry, bytes.
pub const MAX_PATH: usize = 4096;

pub const MAX_ENTRIES: usize = 1_000_000;

/// The upper bound of the sum of path lengths in a transfer, bytes.
pub const MAX_PATHS: usize = 256 << 20;

/// The upper bound of the names in the paths of a transfer, each folder counted for each path in it: the receiver opens
/// the folders of a path one by one.
const MAX_NAMES: usize = 16_000_000;

/// The upper bound of the sum of file lengths in a transfer, bytes: 4 EiB, half of the largest file on Linux (`off_t`).
pub const MAX_BYTES: u64 = 1 << 62;

/// The longest name between two `/` of a path, bytes.
const MAX_NAME: usize = 255;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Folder,
    File,
}

impl Kind {
    pub fn is_file(self) -> bool {
        self != Kind::Folder
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path relative to the receiver's folder, with `/` between names.
    pub path: String,
    pub kind: Kind,
    /// The length of a file, bytes; 0 for a folder.
    pub size: u64,
    /// The permissions at the sender, 0 to 0o777.
    pub mode: u16,
}

impl Entry {
    /// Whether any name in the path begins with a dot.
    pub fn is_hidden(&self) -> bool {
        self.path.split('/').any(|name| name.starts_with('.'))
    }
}

/// The entries of a transfer. An entry's ID is its position. All entries have passed the checks of paths and sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    entries: Vec<Entry>,
    bytes: u64,
    path_bytes: usize,
    /// The number of names in all paths.
    names: usize,
}

impl Manifest {
    /// Adds an entry after checking its path and size. [`check`](Self::check) compares entries with each other.
    ///
    /// # Errors
    /// The entry breaks a rule.
    pub(crate) fn push(&mut self, entry: Entry) -> Result<(), TransferError> {
        check_path(&entry.path).map_err(|why| refuse(&entry.path, why))?;
        if entry.kind == Kind::Folder && entry.size != 0 {
            return Err(refuse(&entry.path, "is a folder with a size"));
        }
        if entry.mode > 0o777 {
            return Err(refuse(&entry.path, "has permission bits above 777"));
        }
        if self.entries.len() == MAX_ENTRIES {
            return Err(TransferError::Manifest(format!("more than {MAX_ENTRIES} entries")));
        }
        self.path_bytes += entry.path.len();
        if self.path_bytes > MAX_PATHS {
            return Err(TransferError::Manifest(format!("more than {MAX_PATHS} bytes of paths")));
        }
        self.names += entry.path.split('/').count();
        if self.names > MAX_NAMES {
            return Err(TransferError::Manifest(format!("more than {MAX_NAMES} names in its paths")));
        }
        if entry.size > MAX_BYTES {
            let why = format!("has {} bytes, more than {MAX_BYTES}", entry.size);
            return Err(refuse(&entry.path, &why));
        }
        // Both summands are at most 2^62.
        let bytes = self.bytes.saturating_add(entry.size);
        if bytes > MAX_BYTES {
            let why = format!("makes the transfer longer than {MAX_BYTES} bytes");
            return Err(refuse(&entry.path, &why));
        }
        self.bytes = bytes;
        self.entries.push(entry);
        Ok(())
    }

    /// Checks that no path occurs twice, that no file is the folder of another entry, and that the paths have at most
    /// [`MAX_ENTRIES`] files and folders, including folders that are no entries.
    ///
    /// # Errors
    /// Names the first such path.
    pub(crate) fn check(&self) -> Result<(), TransferError> {
        let mut sorted: Vec<&Entry> = self.entries.iter().collect();
        sorted.sort_unstable_by(|a, b| by_names(&a.path, &b.path));
        let none = [""].into_iter();
        let before = none.chain(sorted.iter().map(|entry| entry.path.as_str()));
        let made: usize = before.zip(&sorted).map(|(before, entry)| new_names(before, &entry.path)).sum();
        if made > MAX_ENTRIES {
            return Err(TransferError::Manifest(format!("{made} files and folders, more than {MAX_ENTRIES}")));
        }
        for pair in sorted.windows(2) {
            // The entries in a folder follow the folder directly.
            let Some(rest) = pair[1].path.strip_prefix(&pair[0].path) else { continue };
            if rest.is_empty() {
                return Err(refuse(&pair[1].path, "is there twice"));
            }
            if rest.starts_with('/') && pair[0].kind.is_file() {
                return Err(refuse(&pair[0].path, "is a file and a folder"));
            }
        }
        Ok(())
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn entry(&self, id: u32) -> Option<&Entry> {
        self.entries.get(id as usize)
    }

    /// The sum of the lengths of all files, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of entries that are files.
    pub fn files(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.kind.is_file()).count() as u64
    }
}

fn refuse(path: &str, why: &str) -> TransferError {
    let shown: String = path.chars().take(200).collect();
    TransferError::Manifest(format!("{shown:?} {why}"))
}

/// Compares paths name by name, so that the entries of a folder follow it directly.
fn by_names(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

/// The number of names in `path` after those that begin `before` as well: the files and folders that it adds.
fn new_names(before: &str, path: &str) -> usize {
    let common = before.split('/').zip(path.split('/')).take_while(|(a, b)| a == b).count();
    path.split('/').count() - common
}

fn check_path(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("is an empty path");
    }
    if path.len() > MAX_PATH {
        return Err("is too long a path");
    }
    if path.starts_with('/') {
        return Err("is not relative");
    }
    path.split('/').try_for_each(check_name)
}

fn check_name(name: &str) -> Result<(), &'static str> {
    match name {
        "" => Err("has an empty name in it"),
        "." | ".." => Err("leads elsewhere"),
        name if name.len() > MAX_NAME => Err("has too long a name in it"),
        name if name.contains('\0') => Err("has a zero byte in it"),
        // File systems may ignore case.
        name if name.to_uppercase().ends_with(&PART_SUFFIX.to_uppercase()) => {
            Err("is named like the start of an unfinished file")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Kind, MAX_BYTES, MAX_PATH, Manifest};
    use proptest::prelude::{prop, proptest};
    use std::collections::BTreeSet;

    fn manifest(entries: &[(&str, Kind, u64)]) -> Result<Manifest, String> {
        let mut manifest = Manifest::default();
        for &(path, kind, size) in entries {
            let entry = Entry { path: path.to_owned(), kind, size, mode: 0o644 };
            manifest.push(entry).map_err(|why| why.to_string())?;
        }
        manifest.check().map_err(|why| why.to_string())?;
        Ok(manifest)
    }

    #[test]
    fn paths_that_leave_the_folder_are_refused() {
        let long_name = "n".repeat(256);
        let long_path = "n/".repeat(MAX_PATH / 2) + "n";
        let bad = ["", "/", "/a", "a/", "a//b", "..", "../a", "a/..", "a/../b", ".", "a/./b", "a\0b"];
        let part =
            ["a.shallop-part", "a.SHALLOP-PART", "a.\u{17f}hallop-Part", "a.shallop-part/b", &long_name, &long_path];
        for path in bad.into_iter().chain(part) {
            assert!(manifest(&[(path, Kind::File, 1)]).is_err(), "{path:?}");
        }
        for path in ["a", "a b/ü/…", "a\\b", "..a", "a../b", ".hidden", " "] {
            assert!(manifest(&[(path, Kind::File, 1)]).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn folders_on_the_way_to_a_file_count_as_entries() {
        assert_eq!(super::new_names("", "a/b/c"), 3);
        assert_eq!(super::new_names("a/b", "a/b/c"), 1);
        assert_eq!(super::new_names("a/b/c", "a/d/c"), 2);
        let mut deep = Manifest::default();
        for number in 0..600 {
            let path = format!("{number}/{}f", "a/".repeat(1_700));
            deep.push(Entry { path, kind: Kind::File, size: 0, mode: 0 }).unwrap();
        }
        let why = deep.check().unwrap_err().to_string();
        assert!(why.contains("1021200 files and folders, more than 1000000"), "{why}");
        let more = (0..).map(|number| Entry {
            path: format!("{}{number}", "a/".repeat(2_000)),
            size: 0,
            mode: 0,
            kind: Kind::File,
        });
        let pushed = more.take_while(|entry| deep.push(entry.clone()).is_ok()).count();
        assert_eq!(pushed, (16_000_000 - 600 * 1_702) / 2_001);
    }

    #[test]
    fn sizes_above_4_eib_are_refused() {
        assert!(manifest(&[("a", Kind::Folder, 1)]).is_err());
        for size in [u64::MAX, MAX_BYTES + 1] {
            let why = manifest(&[("a", Kind::File, size)]).unwrap_err();
            let expected = format!("\"a\" has {size} bytes, more than 4611686018427387904");
            assert!(why.ends_with(&expected), "{why}");
        }
        assert!(manifest(&[("a", Kind::File, MAX_BYTES)]).is_ok());
        let why = manifest(&[("a", Kind::File, MAX_BYTES), ("b", Kind::File, 1)]).unwrap_err();
        assert!(why.ends_with("\"b\" makes the transfer longer than 4611686018427387904 bytes"));
    }

    proptest! {
        #[test]
        fn paths_that_repeat_or_lie_within_a_file_are_refused(paths in prop::collection::vec("[ab!/]{1,6}", 1..8)) {
            let paths: Vec<&String> = paths.iter().filter(|path| super::check_path(path).is_ok()).collect();
            let entries: Vec<_> = paths.iter().map(|path| (path.as_str(), Kind::File, 1)).collect();
            let all: BTreeSet<_> = paths.iter().copied().collect();
            let within = |path: &String| all.iter().any(|other| path.starts_with(&format!("{other}/")));
            let fine = all.len() == paths.len() && !paths.iter().any(|path| within(path));
            assert_eq!(manifest(&entries).is_ok(), fine, "{paths:?}");
        }
    }
}
