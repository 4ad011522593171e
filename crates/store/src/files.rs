//! Atomic writing of files. A draft is written to a temporary file in the folder of its target and then renamed, so
//! that a reader never sees a partial file, even after a full disk or an interrupted run.

use crate::{error::StoreError, table::Table, write::TableWriter};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is being written under a temporary name. [`publish`] renames it to its target; a dropped draft is
/// removed.
#[derive(Debug)]
pub struct Draft {
    target: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl Draft {
    /// Makes an empty draft of `target`, and the folder of `target` if it is missing.
    ///
    /// # Errors
    /// [`StoreError::File`] if the folder or the draft cannot be created, or a folder has the target's name.
    pub fn create(target: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let target = target.into();
        let Some(name) = target.file_name().filter(|_| !target.is_dir()) else {
            return Err(is_a_folder(&target));
        };
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        fs::create_dir_all(folder).map_err(|why| StoreError::file(folder, "create the folder", why))?;
        let file = temporary_file(folder, &name.to_string_lossy())
            .map_err(|why| StoreError::file(&target, "write the file", why))?;
        Ok(Self { target, file: BufWriter::new(file) })
    }

    /// Makes a draft of `target` with this content.
    ///
    /// # Errors
    /// As [`Draft::create`], and if the bytes cannot be written.
    pub fn of_bytes(target: impl Into<PathBuf>, bytes: &[u8]) -> Result<Self, StoreError> {
        let mut draft = Self::create(target)?;
        let written = draft.file.write_all(bytes);
        written.map_err(|why| draft.failed("write the file", why))?;
        Ok(draft)
    }

    /// Makes a draft of `target` with this table, encoded as Parquet.
    ///
    /// # Errors
    /// As [`Draft::create`] and [`crate::to_parquet`].
    pub fn of_table(target: impl Into<PathBuf>, table: &Table) -> Result<Self, StoreError> {
        let mut writer = TableWriter::new(Self::create(target)?, table)?;
        writer.push_batch(table)?;
        writer.finish()
    }

    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Writes the draft to the disk (`fsync`), so that the target is not an empty file after a power failure.
    fn complete(&mut self) -> Result<(), StoreError> {
        if self.target.is_dir() {
            return Err(is_a_folder(&self.target));
        }
        let flushed = self.file.flush().and_then(|()| self.file.get_ref().as_file().sync_all());
        flushed.map_err(|why| self.failed("write the file", why))
    }

    fn rename(self) -> Result<(), StoreError> {
        let failed = |why| StoreError::file(&self.target, "put the file in its place", why);
        let file = self.file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.persist(&self.target).map(drop).map_err(|error| failed(error.error))
    }

    fn failed(&self, doing: &'static str, why: io::Error) -> StoreError {
        StoreError::file(&self.target, doing, why)
    }
}

/// A draft takes bytes like a file. Errors name the target and say what to do, as [`StoreError`] does.
impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        written.map_err(|why| io::Error::other(self.failed("write the file", why)))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        flushed.map_err(|why| io::Error::other(self.failed("write the file", why)))
    }
}

/// Renames complete drafts to their targets, in the given order. When the last target exists, all others do.
///
/// # Errors
/// [`StoreError::File`] if a draft cannot be completed, and then none is renamed; or if one cannot be renamed, and then
/// the later ones are not.
pub fn publish(drafts: impl IntoIterator<Item = Draft>) -> Result<(), StoreError> {
    let mut drafts: Vec<Draft> = drafts.into_iter().collect();
    drafts.iter_mut().try_for_each(Draft::complete)?;
    drafts.into_iter().try_for_each(Draft::rename)
}

/// Writes a file as a whole, and replaces an existing one.
///
/// # Errors
/// [`StoreError::File`]; an existing file is unchanged then.
pub fn write_file(target: impl Into<PathBuf>, bytes: &[u8]) -> Result<(), StoreError> {
    publish([Draft::of_bytes(target, bytes)?])
}

/// Removes drafts that killed processes left in `folder`. `of` selects them by the names of their targets. No running
/// process may be writing these files.
pub fn clear_drafts(folder: &Path, of: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let hidden = name.to_str().and_then(|name| name.strip_prefix('.')?.strip_suffix(".tmp"));
        let target = hidden.and_then(|name| name.rsplit_once('.')).map(|(target, _)| target);
        if target.is_some_and(&of) {
            // A draft that cannot be removed does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Reads a file; an error names it.
///
/// # Errors
/// [`StoreError::File`] if it cannot be read.
pub fn read_bytes(path: impl AsRef<Path>) -> Result<Vec<u8>, StoreError> {
    let path = path.as_ref();
    fs::read(path).map_err(|why| StoreError::file(path, "read the file", why))
}

/// Reads a file of UTF-8 text.
///
/// # Errors
/// [`StoreError::File`] if it cannot be read, [`StoreError::NotText`] if it is not UTF-8.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, StoreError> {
    let path = path.as_ref();
    String::from_utf8(read_bytes(path)?)
        .map_err(|error| StoreError::NotText { path: path.to_owned(), byte: error.utf8_error().valid_up_to() })
}

/// Opens a file for reading; an error names it.
///
/// # Errors
/// [`StoreError::File`] if it cannot be opened.
pub fn open(path: impl AsRef<Path>) -> Result<File, StoreError> {
    let path = path.as_ref();
    File::open(path).map_err(|why| StoreError::file(path, "read the file", why))
}

fn is_a_folder(target: &Path) -> StoreError {
    StoreError::file(target, "write the file", io::ErrorKind::IsADirectory.into())
}

/// Makes a hidden temporary file in `folder`, with the permissions of ordinary new files. The default of the library
/// would make results readable by their owner only.
fn temporary_file(folder: &Path, name: &str) -> io::Result<NamedTempFile> {
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    // Only the kind: the whole error contains the random name.
    builder.tempfile_in(folder).map_err(|why| why.kind().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_in_a_folder_made_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/summary.json");
        write_file(&path, b"{}").unwrap();
        write_file(&path, "{\"µ\": 1}".as_bytes()).unwrap();
        assert_eq!(read_text(&path).unwrap(), "{\"µ\": 1}");
        assert_eq!(names(path.parent().unwrap()), ["summary.json"]);
    }

    #[test]
    fn a_draft_that_is_dropped_leaves_nothing_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flows.csv");
        write_file(&path, b"old").unwrap();
        let draft = Draft::of_bytes(&path, &vec![b'x'; 100_000]).unwrap();
        assert_eq!(read_bytes(&path).unwrap(), b"old");
        drop(draft);
        assert_eq!(names(folder.path()), ["flows.csv"]);
        assert_eq!(read_bytes(&path).unwrap(), b"old");
    }

    #[test]
    fn drafts_that_were_left_are_cleared_by_the_name_of_their_target() {
        let folder = tempfile::tempdir().unwrap();
        let draft = Draft::of_bytes(folder.path().join("a.json"), b"a").unwrap();
        let other = Draft::of_bytes(folder.path().join("b.json"), b"b").unwrap();
        write_file(folder.path().join("a.json"), b"old").unwrap();
        clear_drafts(folder.path(), |name| name == "a.json");
        let left = names(folder.path());
        assert!(left.len() == 2 && left[0].starts_with(".b.json.") && left[1] == "a.json", "{left:?}");
        drop((draft, other));
    }

    #[test]
    fn several_outputs_appear_together_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let draft = |name: &str| Draft::of_bytes(folder.path().join(name), name.as_bytes()).unwrap();
        let both = [draft("flows"), draft("summary")];
        fs::create_dir(folder.path().join("summary")).unwrap();
        assert!(publish(both).is_err(), "a folder came in the way");
        assert_eq!(names(folder.path()), ["summary"]);
        fs::remove_dir(folder.path().join("summary")).unwrap();
        publish([draft("flows"), draft("summary")]).unwrap();
        assert_eq!(names(folder.path()), ["flows", "summary"]);
    }

    #[test]
    fn what_fails_names_the_path_and_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        write_file(&file, b"\xffno text").unwrap();
        let under_a_file = write_file(file.join("x"), b"").unwrap_err().to_string();
        assert!(under_a_file.contains("file: could not create the folder"), "{under_a_file}");
        assert!(under_a_file.contains("choose another folder"), "{under_a_file}");
        let a_folder = write_file(folder.path(), b"").unwrap_err().to_string();
        assert!(a_folder.contains("a folder is where a file is needed"), "{a_folder}");
        let missing = read_text(folder.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("none: could not read the file"), "{missing}");
        let no_text = read_text(&file).unwrap_err().to_string();
        assert!(no_text.contains("not UTF-8 text, from byte 0 on"), "{no_text}");
    }

    #[test]
    fn a_table_that_cannot_be_written_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let column = |name: &str, rows: usize| Column::new(name, "B", "Size.", vec![1u64; rows]);
        let table = Table::new("flows", vec![column("a", 2), column("b", 3)]);
        let error = Draft::of_table(folder.path().join("flows.parquet"), &table).unwrap_err();
        assert_eq!(error.to_string(), "table flows: column b has 3 rows where the first has 2");
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn results_may_be_read_by_whoever_may_read_other_new_files() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        fs::write(folder.path().join("plain"), b"").unwrap();
        write_file(folder.path().join("ours"), b"").unwrap();
        assert_eq!(mode("ours"), mode("plain"));
    }
}
