//! Errors of files and tables. Each message says where, what was found, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file or table could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system returned an error for a file.
    #[error("{}: could not {doing}: {why}; {}", path.display(), advice(why.kind()))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// The error of the system.
        why: io::Error,
    },
    /// A file is not UTF-8 text.
    #[error("{}: not UTF-8 text, from byte {byte} on; a text file is needed, saved as UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is not UTF-8.
        byte: usize,
    },
    /// Another process writes to a folder.
    #[error(
        "{}: another shallop is writing to this folder; wait until it ends, or choose another folder",
        folder.display()
    )]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// The columns of a table differ in length.
    #[error("table {table}: column {column} has {found} rows where the first has {expected}")]
    Ragged {
        /// The table.
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
        /// The table.
        table: String,
        /// A column or a note.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The columns of a batch differ from those of the file.
    #[error("table {table}: a batch has {found} where the file was started with {expected}")]
    OtherColumns {
        /// The table.
        table: String,
        /// The first column that differs, in the batch.
        found: String,
        /// The same column, in the file.
        expected: String,
    },
    /// The table could not be encoded or written.
    #[error("table {table}: could not be written: {why}")]
    Unwritable {
        /// The table.
        table: String,
        /// The error of the encoder or the file.
        why: String,
    },
    /// The input is no Parquet table, or is damaged.
    #[error("{at}: not a Parquet table: {why}; write it again")]
    Unreadable {
        /// The file.
        at: String,
        /// The error of the decoder.
        why: String,
    },
    /// The file has a compression that shallop does not write; versions before 0.1.0 wrote zstd.
    #[error("{at}: compressed with {codec}; allowed are snappy and none: make the results again")]
    OtherCompression {
        /// The file.
        at: String,
        /// Its compression.
        codec: String,
    },
    /// A column has a type that shallop does not write.
    #[error("{at}: column {column} holds {kind}; allowed are {allowed}", allowed = crate::table::KINDS)]
    UnknownKind {
        /// The file.
        at: String,
        /// The column.
        column: String,
        /// Its type.
        kind: String,
    },
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
