//! Errors of files and tables. Each message says where, what was found, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file or table could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system returned an error for a file.
    #[error("{}: could not {doing}: {why}; {}", path.display(), advice(why.kind()))]
    File {
        path: PathBuf,
        doing: &'static str,
        /// The error of the system.
        why: io::Error,
    },
    /// A file is not UTF-8 text.
    #[error("{}: not UTF-8 text, from byte {byte} on; a text file is needed, saved as UTF-8", path.display())]
    NotText {
        path: PathBuf,
        /// The first byte that is not UTF-8.
        byte: usize,
    },
    /// Another process writes to a folder.
    #[error(
        "{}: another shallop is writing to this folder; wait until it ends, or choose another folder",
        folder.display()
    )]
    Locked { folder: PathBuf },
    /// The columns of a table differ in length.
    #[error("table {table}: column {column} has {found} rows where the first has {expected}")]
    Ragged {
        table: String,
        /// The first column that differs.
        column: String,
        /// The rows of that column.
        found: usize,
        /// The rows of the first column.
        expected: usize,
    },
    /// Two columns or two notes of a table have the same name.
    #[error("table {table}: more than one {what} is called {name}; give each a name of its own")]
    Twice {
        table: String,
        /// A column or a note.
        what: &'static str,
        name: String,
    },
    /// The columns of a batch differ from the columns of the file.
    #[error("table {table}: a batch has {found} where the file was started with {expected}")]
    OtherColumns {
        table: String,
        /// The first column that differs, in the batch.
        found: String,
        /// That column in the file.
        expected: String,
    },
    /// The table could not be encoded or written.
    #[error("table {table}: could not be written: {why}")]
    Unwritable {
        table: String,
        /// The error of the encoder or the file.
        why: String,
    },
    /// The input is damaged, or not a Parquet table.
    #[error("{at}: not a Parquet table: {why}; write it again")]
    Unreadable {
        at: String,
        /// The error of the decoder.
        why: String,
    },
    /// The file has a compression that shallop does not write; versions before 0.1.0 wrote zstd.
    #[error("{at}: compressed with {codec}; allowed are snappy and none: make the results again")]
    OtherCompression {
        at: String,
        /// Its compression.
        codec: String,
    },
    /// A column has a type that shallop does not write.
    #[error("{at}: column {column} holds {kind}; allowed are {allowed}", allowed = crate::table::KINDS)]
    UnknownKind { at: String, column: String, kind: String },
}

impl StoreError {
    /// The system's error `why` for the operation `doing` on `path`.
    pub(crate) fn file(path: &Path, doing: &'static str, why: io::Error) -> Self {
        Self::File { path: path.to_owned(), doing, why }
    }
}

/// Advice for the user.
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
