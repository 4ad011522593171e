//! The connection that a transfer needs: reliable streams, over QUIC or in a test's memory.

use crate::protocol::token::Token;
use std::{io, net::IpAddr};

/// A connection with reliable unidirectional streams.
pub trait Link: Send + Sync {
    /// Opens a stream to the peer, and waits while the peer's stream limit is reached.
    ///
    /// # Errors
    /// The link is closed or lost.
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>>;

    /// Waits for the next stream of the peer; `None` if the peer has closed the link.
    ///
    /// # Errors
    /// The link is lost, or was closed by this side.
    fn accept_uni(&self) -> io::Result<Option<Box<dyn io::Read + Send>>>;

    /// The address of the peer, whose threads are bounded.
    fn peer(&self) -> Option<IpAddr> {
        None
    }

    /// Notes whose transfer this is, before it begins.
    fn begins(&self, _token: Token) {}

    /// Ends earlier transfers with the token of this one whose sender no longer answers. Returns whether one has ended.
    fn end_silent(&self) -> bool {
        false
    }

    /// Closes the link. All calls on both sides that wait for it return, and bytes in transit may be lost.
    fn close(&self, reason: &str);
}

/// The sending half of a stream. If it is dropped without [`finish`](Outgoing::finish), the peer's reads fail.
pub trait Outgoing: io::Write + Send {
    /// Ends the stream after the bytes that were written.
    ///
    /// # Errors
    /// The link is closed or lost, or the peer has dropped the stream.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The error of a link that the peer has closed too early.
pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the peer has closed it")
}
