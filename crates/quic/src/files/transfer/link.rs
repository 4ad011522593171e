//! What a transfer needs of a connection.

use std::io;

/// A connection between two hosts, of streams that go one way.
pub trait Link: Send + Sync {
    /// Opens a stream to the peer. Waits while there are too many.
    ///
    /// # Errors
    ///
    /// When the link is closed or lost.
    fn open_uni(&self) -> io::Result<Box<dyn Outgoing>>;

    /// Waits for the next stream of the peer; none when the peer has closed.
    ///
    /// # Errors
    ///
    /// When the link is lost, or was closed on this side.
    fn accept_uni(&self) -> io::Result<Option<Box<dyn io::Read + Send>>>;

    /// Closes the link: whatever waits in it, on this side and on the peer's, ends. Bytes under way may be lost.
    fn close(&self, reason: &str);
}

/// The writing end of a stream. Dropped without [`finish`](Outgoing::finish), the peer's reads end in an error.
pub trait Outgoing: io::Write + Send {
    /// Ends the stream: the peer reads what was written, then the end.
    ///
    /// # Errors
    ///
    /// When the link is closed or lost, or the peer has dropped the stream.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The peer has closed the link before its time.
pub(crate) fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "the peer has closed it")
}
