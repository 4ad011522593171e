//! Files that appear whole or not at all, and tables in Parquet. No other crate uses the library parquet, and the
//! public interface is free of its types.

pub mod error;
pub mod files;
pub mod lock;
pub mod read;
pub mod table;
pub mod write;

pub use error::StoreError;
pub use files::{Draft, clear_drafts, open, publish, read_bytes, read_text, write_file};
pub use lock::FolderLock;
pub use read::{TableReader, from_parquet, read_table};
pub use table::{Column, Table, Text, Values};
pub use write::{TableWriter, to_parquet};
