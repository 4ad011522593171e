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
    /// The system cannot start threads.
    #[error("could not start the threads for the runs: {why}; try fewer with --jobs")]
    Threads {
        /// The error of the system.
        why: String,
    },
}
