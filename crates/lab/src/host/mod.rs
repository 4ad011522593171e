//! What needs a host: threads, the clock and files. Everything else in this crate runs in a browser too.

pub mod bench;
pub mod describe;
mod draw;
pub mod folder;
pub mod identity;
pub mod jobs;
pub mod kept;
pub mod pointed;
pub mod report;
pub mod results;
pub mod work;

pub use draw::draw;
pub use folder::Folder;
pub use jobs::{Done, Progress, run_all};
pub use kept::Kept;
pub use report::{REPORT, ReportError, Results};
pub use results::{check_folder, summarise, write};
pub use shallop_store::{StoreError, read_text, write_file};
pub use work::Task;
