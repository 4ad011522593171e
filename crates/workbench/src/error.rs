//! The error of running a study.

use shallop_measure::RunError;
use shallop_store::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A run cannot be set up, or was stopped.
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Text(#[from] shallop_scenario::Problem),
    /// A run could not be written to the archive.
    #[error(transparent)]
    Store(#[from] StoreError),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Kernel(#[from] shallop_kernel::run::KernelRunError),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Rehearsal(#[from] shallop_linux::RehearsalError),
    /// This machine cannot run kernels or rehearsals.
    #[error("{0}")]
    NoKernel(String),
    #[error("could not start the threads for the runs: {why}; try fewer with --jobs")]
    Threads { why: String },
}
