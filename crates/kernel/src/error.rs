//! What can go wrong with a kernel.

/// A message that a kernel must not send. It is an error and never a panic: the other side of a socket is not trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// No such operation of time travel.
    #[error("unknown time-travel operation {0}")]
    TimeOperation(u32),
    /// A known operation that a kernel may not send now.
    #[error("time-travel operation {0} at a moment when it means nothing")]
    UnexpectedTime(u32),
    /// An answer to something that was not asked.
    #[error("answer {got} where {expected} was awaited")]
    Sequence {
        /// What was awaited.
        expected: u32,
        /// What came.
        got: u32,
    },
    /// No such vhost-user request, or one that this card does not offer.
    #[error("vhost-user request {0} is not offered")]
    CardRequest(u32),
    /// A vhost-user message whose length does not fit its request.
    #[error("vhost-user request {request} with {bytes} bytes")]
    CardLength {
        /// The request.
        request: u32,
        /// Its payload.
        bytes: u32,
    },
    /// A vhost-user message without the file that belongs to it.
    #[error("vhost-user request {0} without its file")]
    NoFile(u32),
    /// A queue other than receive (0) and transmit (1).
    #[error("queue {0} of a card that has two")]
    Queue(u32),
    /// A ring of a size that is no power of two up to 32,768.
    #[error("a ring of {0} descriptors")]
    RingSize(u32),
    /// A descriptor that points out of the kernel's memory, or a chain that does not end.
    #[error("a descriptor that does not lie in the kernel's memory")]
    Descriptor,
    /// A frame that is too short for its headers, or too long for any.
    #[error("a frame of {0} bytes")]
    Frame(usize),
}

/// Why a run with kernels cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A kernel sent what it must not.
    #[error("kernel {kernel} sent a malformed message: {why}")]
    Malformed {
        /// Its number.
        kernel: usize,
        /// What was wrong.
        #[source]
        why: Malformed,
    },
    /// A kernel was built without a module.
    #[error("{0}")]
    NoModule(String),
    /// A kernel ended.
    #[error("kernel {kernel} ended before the run; its last words:\n{log}")]
    Ended {
        /// Its number.
        kernel: usize,
        /// The end of its log.
        log: String,
    },
    /// A program in a kernel computes without a system call, so that time cannot pass.
    #[error(
        "kernel {kernel} has used {seconds} s of processor time without letting time pass: a program in it spins \
         (or computes longer than `compute_limit`)"
    )]
    Spins {
        /// Its number.
        kernel: usize,
        /// The processor time.
        seconds: u64,
    },
    /// Whoever was at the console has left.
    #[error("the console was left")]
    Left,
    /// Memory that cannot be mapped or read.
    #[error("memory shared with a kernel: {0}")]
    Memory(String),
    /// The operating system refused something.
    #[error("{what}: {why}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        #[source]
        why: std::io::Error,
    },
}

impl KernelError {
    /// Names what was tried.
    pub fn io<E: Into<std::io::Error>>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |why| Self::Io { what, why: why.into() }
    }
}
