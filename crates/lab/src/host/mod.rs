//! What needs a host: threads, the clock and files. Everything else in this crate runs in a browser too.

pub mod bench;
pub mod describe;
pub mod folder;
pub mod identity;
pub mod jobs;
pub mod kept;
pub mod results;

pub use folder::Folder;
pub use jobs::{Done, Progress, run_all};
pub use kept::Kept;
pub use results::{check_folder, summarise, write};
pub use shallop_store::{StoreError, read_text};

use std::path::Path;

/// Writes a text as a file that is there whole or not at all.
///
/// # Errors
/// If it cannot be written; what was there before still is.
pub fn write_text(file: &Path, text: &str) -> Result<(), StoreError> {
    shallop_store::write_file(file, text.as_bytes())
}
