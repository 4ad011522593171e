//! What can go wrong.

use std::io;

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
    /// The connection has ended.
    #[error("the connection has ended: {0}")]
    Lost(String),
    /// The peer has closed the connection, for this reason.
    #[error("the peer has closed the connection{}", because(.0))]
    Closed(String),
    /// The peer has broken the stream off.
    #[error("the peer has broken the stream off")]
    Broken,
    /// A stream is longer than it may be, in bytes.
    #[error("the stream has more than {0} bytes")]
    TooLong(usize),
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
            why @ Self::Broken => io::Error::new(io::ErrorKind::ConnectionReset, why.to_string()),
            why => io::Error::new(io::ErrorKind::ConnectionAborted, why.to_string()),
        }
    }
}
