//! What can go wrong.

use std::io;

use crate::connection::End;

/// Why an endpoint, a connection or a stream failed.
#[derive(Debug, thiserror::Error)]
pub enum QuicError {
    /// The system refused something.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A setting is out of bounds.
    #[error("{0}")]
    Settings(String),
    /// A certificate or a key cannot be used.
    #[error("{0}")]
    Identity(String),
    /// A connection cannot be begun.
    #[error("cannot connect: {0}")]
    Connect(#[from] quinn_proto::ConnectError),
    /// No address of the host has answered for so many seconds.
    #[error("no answer for {0} s")]
    NoAnswer(u64),
    /// The connection has ended.
    #[error("the connection has ended: {0}")]
    Lost(String),
    /// The endpoint has stopped working, with all its connections: the system refused its socket, or its thread
    /// panicked.
    #[error("the endpoint has failed: {0}")]
    Failed(String),
    /// The peer has closed the connection.
    #[error("the peer has closed the connection{}", because(reason))]
    Closed {
        /// The code that the peer's application gave.
        code: u64,
        /// The reason that it gave; empty if none.
        reason: String,
    },
    /// The peer has broken off a stream that it sends, with this code of its application.
    #[error("the peer has broken the stream off, with code {0}")]
    Reset(u64),
    /// The peer wants no more of a stream, with this code of its application.
    #[error("the peer wants no more of the stream, with code {0}")]
    Stopped(u64),
    /// This side writes to a stream that it has finished.
    #[error("the stream was finished before")]
    Finished,
    /// A stream is longer than it may be, in bytes.
    #[error("the stream has more than {0} bytes")]
    TooLong(usize),
}

impl From<&End> for QuicError {
    fn from(end: &End) -> Self {
        match end {
            End::ByPeer { code, reason } => Self::Closed { code: *code, reason: reason.clone() },
            End::Lost(why) => Self::Lost(why.clone()),
            End::Failed(why) => Self::Failed(why.clone()),
        }
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl QuicError {
    /// The same as an error of input and output.
    #[must_use]
    pub fn into_io(self) -> io::Error {
        match self {
            Self::System(why) => why,
            why @ (Self::Reset(_) | Self::Stopped(_)) => {
                io::Error::new(io::ErrorKind::ConnectionReset, why.to_string())
            }
            why => io::Error::new(io::ErrorKind::ConnectionAborted, why.to_string()),
        }
    }
}
