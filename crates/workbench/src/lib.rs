//! Everything that the command does, except for its arguments and terminals: jobs on threads, the clock, the archive of
//! finished runs, reports and files.

#![allow(clippy::missing_errors_doc, reason = "an error is a diagnostic for the user, which says what is wrong")]

pub mod advise;
mod aggregate_tables;
pub mod arguments;
pub mod bench;
pub mod capacity;
pub mod choice;
mod clock;
pub mod compare;
mod completion_table;
pub mod controllers;
pub mod describe;
pub mod diagnostic;
#[cfg(target_os = "linux")]
pub mod edge;
pub mod error;
pub mod export;
pub mod fault;
pub mod folder_files;
pub mod forecast;
pub mod identity;
pub mod jobs;
pub mod kernels;
mod link_tables;
pub mod pages;
pub mod printable;
mod recording_files;
pub mod rehearsal;
pub mod report;
pub mod results;
pub mod run_archive;
pub mod run_report;
pub mod run_study;
mod setup_lines;
pub mod shell;
pub mod stretch;
mod tables;
pub mod team;
pub mod text_table;
mod trace_table;

pub use aggregate_tables::{aggregate_grid, aggregate_table, with_point_columns};
pub use folder_files::FolderFiles;
pub use jobs::{FinishedRun, Progress, run_all};
pub use recording_files::RecordingFiles;
pub use report::{REPORT, ReportError, Results};
pub use results::{check_folder, summarise, write};
pub use run_archive::RunArchive;
pub use run_study::StudyTask;
pub use shallop_measure::live_snapshot::{LiveSnapshot, QueueNow};
pub use shallop_store::{StoreError, read_text, write_file};
pub use text_table::{TableForm, render};
