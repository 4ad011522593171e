//! What can go wrong with files and tables. Every message is whole in itself: where, what was found, what to do.

use std::io;
use std::path::{Path, PathBuf};

/// Why a file or table could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The system refused something about a file.
    #[error("{}: could not {doing}: {why}; {}", path.display(), advice(why.kind()))]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        why: io::Error,
    },
    /// A file that should hold text holds something else.
    #[error("{}: not UTF-8 text, from byte {byte} on; save it as UTF-8", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// The first byte that is no text.
        byte: usize,
    },
    /// The columns of a table differ in length.
    #[error("table {table}: column {column} has {found} rows where the first has {expected}")]
    Ragged {
        /// The table.
        table: String,
        /// The first column that differs.
        column: String,
        /// Its rows.
        found: usize,
        /// The rows of the first column.
        expected: usize,
    },
    /// Two columns or two notes of a table have one name.
    #[error("table {table}: more than one {what} is called {name}; give each a name of its own")]
    Twice {
        /// The table.
        table: String,
        /// A column or a note.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A batch does not have the columns its file was started with.
    #[error("table {table}: a batch has {found} where the file was started with {expected}")]
    OtherColumns {
        /// The table.
        table: String,
        /// The first column that differs, as the batch has it.
        found: String,
        /// The same column, as the file has it.
        expected: String,
    },
    /// The table could not be encoded, or what it is written to failed.
    #[error("table {table}: could not be written: {why}")]
    Unwritable {
        /// The table.
        table: String,
        /// What the encoder or the file said.
        why: String,
    },
    /// What should be a Parquet table is not, or is damaged.
    #[error("{at}: not a Parquet table: {why}; write it again")]
    Unreadable {
        /// The file.
        at: String,
        /// What the decoder said.
        why: String,
    },
    /// A column is of a kind that shallop does not write.
    #[error("{at}: column {column} holds {kind}; allowed are {allowed}", allowed = crate::table::KINDS)]
    UnknownKind {
        /// The file.
        at: String,
        /// The column.
        column: String,
        /// What it holds.
        kind: String,
    },
}

impl StoreError {
    /// The system's answer `why` to an attempt at `doing` something with `path`.
    pub(crate) fn file(path: &Path, doing: &'static str, why: io::Error) -> Self {
        Self::File { path: path.to_owned(), doing, why }
    }
}

/// What the user can do about it.
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
