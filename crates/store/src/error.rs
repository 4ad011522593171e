//! Errors of files and tables. Each message says which file, what was found, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// An error of reading or writing a file or a table.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system returned an error for a file.
    #[error("{}: could not {doing}: {why}; {}", path.display(), advice(why.kind()))]
    File { path: PathBuf, doing: &'static str, why: io::Error },
    #[error("{}: not UTF-8 text, from byte {byte} on; a text file is needed, saved as UTF-8", path.display())]
    NotText {
        path: PathBuf,
        /// Offset in the file of the first byte that is not UTF-8.
        byte: usize,
    },
    #[error(
        "{}: another shallop is writing to this folder; wait until it ends, or choose another folder",
        folder.display()
    )]
    Locked { folder: PathBuf },
    #[error("table {table}: column {column} has {found} rows where the first has {expected}")]
    Ragged {
        table: String,
        /// Name of the first column whose number of rows differs.
        column: String,
        found: usize,
        /// The number of rows in the first column of the table.
        expected: usize,
    },
    /// Two columns or two notes of a table have one name.
    #[error("table {table}: more than one {what} is called {name}; give each a name of its own")]
    Twice {
        table: String,
        /// What the name is of: "column" or "note".
        what: &'static str,
        name: String,
    },
    #[error("table {table}: a batch has {found} where the file was started with {expected}")]
    OtherColumns {
        table: String,
        /// The first column of the batch that differs, in words.
        found: String,
        /// The file's column at that place, in words.
        expected: String,
    },
    #[error("table {table}: could not be written: {why}")]
    Unwritable { table: String, why: String },
    #[error("{at}: not a Parquet table: {why}; write it again")]
    Unreadable { at: String, why: String },
    /// A Parquet file has a compression that shallop does not write; versions before 0.1.0 wrote zstd.
    #[error("{at}: compressed with {codec}; allowed are snappy and none: make the results again")]
    OtherCompression { at: String, codec: String },
    /// A column of a Parquet file has a type that shallop does not write.
    #[error("{at}: column {column} holds {kind}; allowed are {allowed}", allowed = crate::table::KINDS)]
    UnknownKind { at: String, column: String, kind: String },
}

impl StoreError {
    /// Makes the error for the operation `doing` on `path`, for which the system returned `why`.
    pub(crate) fn file(path: &Path, doing: &'static str, why: io::Error) -> Self {
        Self::File { path: path.to_owned(), doing, why }
    }
}

/// What a user can do about an error of this kind.
fn advice(kind: io::ErrorKind) -> &'static str {
    use io::ErrorKind as Kind;
    match kind {
        Kind::NotFound => "check that the path is right",
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            "choose a folder you may write to, or change its permissions"
        }
        Kind::StorageFull | Kind::QuotaExceeded | Kind::FileTooLarge => {
            "free some space, or choose a folder on another disk"
        }
        Kind::AlreadyExists | Kind::NotADirectory => {
            "a file is where a folder is needed: move it, or choose another folder"
        }
        Kind::IsADirectory => "a folder is where a file is needed: move it, or choose another name",
        _ => "check the path and the disk it is on",
    }
}
