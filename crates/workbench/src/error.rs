//! Errors of making runs.

use shallop_lab::RunError;
use shallop_store::StoreError;

/// Why runs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// A run cannot be set up, or was stopped.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The scenario has an error.
    #[error(transparent)]
    Text(#[from] shallop_scenario::Problem),
    /// A run could not be stored.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A kernel that is a host of a run failed, or is not there.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Kernel(#[from] shallop_kernel::run::KernelRunError),
    /// A rehearsal failed.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Rehearsal(#[from] shallop_linux::RehearsalError),
    /// This machine cannot run kernels.
    #[error("{0}")]
    NoKernel(String),
    /// The system cannot start threads.
    #[error("could not start the threads for the runs: {why}; try fewer with --jobs")]
    Threads {
        /// The error of the system.
        why: String,
    },
}
