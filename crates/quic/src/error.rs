//! Errors of endpoints, connections and streams.

use std::io;

/// The longest text of a peer, bytes.
const MAX_TEXT: usize = 1_000;

/// Makes a text of a peer fit for terminals and logs: truncates it to 1,000 bytes, and replaces control characters,
/// line ends and marks that change the direction of text by spaces.
pub fn tidy(text: &str) -> String {
    let is_obeyed = |of: char| {
        of.is_control()
            || matches!(of, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let fits = |(at, of): &(usize, char)| at + of.len_utf8() <= MAX_TEXT;
    text.char_indices().take_while(fits).map(|(_, of)| if is_obeyed(of) { ' ' } else { of }).collect()
}

/// Why an endpoint, a connection or a stream failed.
#[derive(Debug, thiserror::Error)]
pub enum QuicError {
    /// A system call failed.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A setting is out of bounds.
    #[error("{0}")]
    Settings(String),
    /// A certificate or a key is unusable.
    #[error("{0}")]
    Identity(String),
    /// The arguments of `connect` are unusable.
    #[error("cannot connect: {0}")]
    Connect(#[from] quinn_proto::ConnectError),
    /// No address of the host answered within this time, seconds.
    #[error("no answer for {0} s")]
    NoAnswer(u64),
    /// The connection timed out, was closed by this side, or violated QUIC.
    #[error("the connection has ended: {0}")]
    Lost(String),
    /// The server has another code than this client.
    #[error("the other end has another code")]
    WrongCode,
    /// The endpoint and all its connections have ended, because its socket failed or its thread panicked.
    #[error("the endpoint has failed: {0}")]
    Failed(String),
    /// The peer has closed the connection.
    #[error("the peer has closed the connection{}", because(reason))]
    Closed {
        /// The error code of the peer's application.
        code: u64,
        /// The reason, empty if the peer gave none.
        reason: String,
    },
    /// The peer has reset its stream with this application error code (RFC 9000, 19.4).
    #[error("the peer has broken the stream off, with code {0}")]
    Reset(u64),
    /// The peer has asked to stop sending, with this application error code (RFC 9000, 19.5).
    #[error("the peer wants no more of the stream, with code {0}")]
    Stopped(u64),
    /// A write to a stream that was finished.
    #[error("the stream was finished before")]
    Finished,
    /// A stream has more bytes than this limit.
    #[error("the stream has more than {0} bytes")]
    TooLong(usize),
}

/// Why a connection has ended.
#[derive(Clone, Debug)]
pub(crate) enum CloseReason {
    /// The peer's application has closed the connection.
    ByPeer { code: u64, reason: String },
    /// The server has refused the proof of this client's code.
    WrongCode,
    /// The connection was lost, or closed by this side.
    Lost(String),
    /// The endpoint's thread has ended.
    Failed(String),
}

impl From<&CloseReason> for QuicError {
    fn from(close: &CloseReason) -> Self {
        match close {
            CloseReason::ByPeer { code, reason } => Self::Closed { code: *code, reason: reason.clone() },
            CloseReason::WrongCode => Self::WrongCode,
            CloseReason::Lost(why) => Self::Lost(why.clone()),
            CloseReason::Failed(why) => Self::Failed(why.clone()),
        }
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

impl QuicError {
    /// Converts to an I/O error: `ConnectionReset` for a stream that the peer ended, else `ConnectionAborted`.
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

#[cfg(test)]
mod tests {
    use super::tidy;

    #[test]
    fn texts_of_peers_are_truncated_and_have_no_control_characters() {
        assert_eq!(tidy("a\u{1b}[31m\nb\u{202e}c"), "a [31m b c");
        assert_eq!(tidy(&"ü".repeat(2000)).len(), 1000);
    }
}
