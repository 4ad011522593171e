//! Why a rehearsal has no outcome.

use std::io;

use shallop_lab::RunError;
use shallop_plan::SetupError;

/// Why a rehearsal has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// As any run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// This machine lacks something, or does not allow it.
    #[error("{0}")]
    Missing(String),
    /// The plan asks for what a rehearsal cannot do.
    #[error("{0}")]
    Refused(String),
    /// No flow of the plan is between real hosts.
    #[error("no flow is between real hosts: write stack = \"kernel\"")]
    NoHosts,
    /// The system refused something.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: String,
        /// The error of the system.
        why: io::Error,
    },
    /// Whoever was at the shell has left it.
    #[error("the shell has ended")]
    Left {
        /// The status of the shell.
        status: u32,
        /// Frames of interfaces in the place of hosts that were not read in time.
        lost: u64,
    },
    /// A receiver did not get the bytes that were sent.
    #[error(
        "flow {flow} delivered other bytes than were sent, at byte {at}: a defect of the emulator"
    )]
    Corrupted {
        /// The number of the flow.
        flow: u32,
        /// The first wrong byte, at the earliest.
        at: u64,
    },
}

impl From<SetupError> for RehearsalError {
    fn from(why: SetupError) -> Self {
        Self::Run(why.into())
    }
}

/// Says what was tried when the system refused it.
pub(crate) fn failed(what: impl Into<String>) -> impl FnOnce(io::Error) -> RehearsalError {
    let what = what.into();
    |why| RehearsalError::System { what, why }
}
