//! Errors of kernels in virtual time.

use shallop_measure::RunError;
use shallop_plan::SetupError;

/// A malformed message from a kernel. Kernels are not trusted, so such a message is an error and never a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("unknown time-travel operation {0}")]
    TimeOperation(u32),
    /// An operation that a kernel may not send in this state.
    #[error("time-travel operation {0} at a moment when it means nothing")]
    UnexpectedTime(u32),
    #[error("answer {got} where {expected} was awaited")]
    Sequence {
        /// The sequence number that the answer should have.
        expected: u32,
        /// The sequence number that was received.
        got: u32,
    },
    #[error("vhost-user request {0} is not offered")]
    CardRequest(u32),
    /// A vhost-user message whose length does not fit its request.
    #[error("vhost-user request {request} with {bytes} bytes")]
    CardLength { request: u32, bytes: u32 },
    /// A vhost-user message that lacks its file descriptor.
    #[error("vhost-user request {0} without its file")]
    NoFile(u32),
    #[error("queue {0} of a card that has two")]
    Queue(u32),
    /// A ring whose size is not a power of two up to 32,768.
    #[error("a ring of {0} descriptors")]
    RingSize(u32),
    /// A descriptor outside of the kernel's memory, or an endless chain of descriptors.
    #[error("a descriptor that does not lie in the kernel's memory")]
    Descriptor,
    /// A frame that is shorter than its headers, or longer than any frame.
    #[error("a frame of {0} bytes")]
    Frame(usize),
}

/// An error that ends a run with kernels.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("kernel {kernel} sent a malformed message: {why}")]
    Malformed {
        kernel: usize,
        #[source]
        why: Malformed,
    },
    /// The installed kernel lacks a module.
    #[error("{0}")]
    NoModule(String),
    #[error("kernel {kernel} ended before the run; its last words:\n{log}")]
    Ended { kernel: usize, log: String },
    /// A program in a kernel computes without a system call, so that virtual time cannot pass.
    #[error(
        "kernel {kernel} has used {seconds} s of processor time without letting time pass: a program in it spins \
         (or computes longer than `compute_limit`)"
    )]
    Spins {
        kernel: usize,
        /// The used processor time, in seconds.
        seconds: u64,
    },
    /// The user left the console, which ends the run.
    #[error("the console was left")]
    Left,
    #[error("memory shared with a kernel: {0}")]
    Memory(String),
    #[error("{what}: {why}")]
    Io {
        what: &'static str,
        #[source]
        why: std::io::Error,
    },
}

impl KernelError {
    /// Adds the failed action to an error of the system.
    pub fn io<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |why| Self::Io { what, why: why.into() }
    }
}

/// An error of a run with kernels.
#[derive(Debug, thiserror::Error)]
pub enum KernelRunError {
    /// An error that runs without real hosts can have too.
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Kernels cannot do what the plan asks for.
    #[error("{0}")]
    Refused(String),
}

impl From<SetupError> for KernelRunError {
    fn from(why: SetupError) -> Self {
        Self::Run(why.into())
    }
}
