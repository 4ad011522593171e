//! What needs a host: threads, the clock and files. Everything else in this crate runs in a browser too.

pub mod bench;
pub mod describe;
pub mod folder;
pub mod identity;
pub mod jobs;
pub mod kept;
pub mod report;
pub mod results;

pub use folder::Folder;
pub use jobs::{Done, Progress, run_all};
pub use kept::Kept;
pub use report::{REPORT, ReportError, Results};
pub use results::{check_folder, summarise, write};
pub use shallop_store::{StoreError, read_text, write_file};
