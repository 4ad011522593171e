//! Errors of rehearsals.

use shallop_measure::RunError;
use shallop_plan::SetupError;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// An error that runs without real hosts can have too.
    #[error(transparent)]
    Run(#[from] RunError),
    /// This machine lacks something that a rehearsal needs, or forbids it.
    #[error("{0}")]
    Missing(String),
    /// A rehearsal cannot do what the plan asks for.
    #[error("{0}")]
    Refused(String),
    #[error("no flow is between real hosts: write stack = \"kernel\"")]
    NoHosts,
    #[error("{what}: {why}")]
    System { what: String, why: io::Error },
    #[error("the shell has ended")]
    Left {
        status: u32,
        /// The number of frames that the emulator did not read in time from interfaces of this machine.
        lost: u64,
    },
    /// A receiver got other bytes than its sender sent.
    #[error("flow {flow} delivered wrong bytes from byte {at} on: a defect of the emulator")]
    Corrupted {
        flow: u32,
        /// The position of the piece with the wrong byte, in bytes from the start of the flow.
        at: u64,
    },
}

impl From<SetupError> for RehearsalError {
    fn from(why: SetupError) -> Self {
        Self::Run(why.into())
    }
}

/// Adds the failed action to an error of the system.
pub(crate) fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> RehearsalError {
    let what = what.into();
    |why| RehearsalError::System { what, why }
}
