//! What the command and the Python module share: jobs on threads, the clock, the archive of finished runs, reports and
//! files.

pub mod bench;
mod clock;
pub mod describe;
pub mod diagnostic;
pub mod error;
pub mod folder;
pub mod identity;
pub mod jobs;
mod link_tables;
pub mod report;
pub mod results;
pub mod run_archive;
mod setup_lines;
mod tables;
mod text_table;
pub mod work;

pub use folder::Folder;
pub use jobs::{FinishedRun, Progress, run_all};
pub use report::{REPORT, ReportError, Results};
pub use results::{check_folder, summarise, write};
pub use run_archive::RunArchive;
pub use shallop_store::{StoreError, read_text, write_file};
pub use text_table::render;
pub use work::Task;
