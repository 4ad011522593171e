//! The sending and the receiving half of streams.

use super::ConnectionRef;
use crate::{error::QuicError, streams, wakers::WaitFor};
use quinn_proto::{StreamId, VarInt};
use std::sync::Arc;

/// The sending half of a stream. If it is dropped before [`SendStream::finish`], the stream is reset with code 0.
///
/// The bytes of a stream arrive in order and once. [`SendStream::write`] waits while 1 MiB is queued in this process or
/// 16 MiB that the peer has not read at the peer; both limits are higher on fast links with a long waiting time.
pub struct SendStream {
    handle: Arc<ConnectionRef>,
    id: StreamId,
    /// Whether the stream was finished or reset.
    ended: bool,
}

impl SendStream {
    pub(super) fn new(handle: &Arc<ConnectionRef>, id: StreamId) -> Self {
        Self { handle: Arc::clone(handle), id, ended: false }
    }

    /// The stream ID (RFC 9000, 2.1).
    pub fn id(&self) -> u64 {
        VarInt::from(self.id).into_inner()
    }

    /// Writes some of these bytes, as soon as there is room, and returns how many. Cancelling the future writes
    /// nothing.
    ///
    /// # Errors
    /// [`QuicError::Stopped`] if the peer has stopped the stream, [`QuicError::Finished`] after [`SendStream::finish`],
    /// or the connection has ended.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<usize, QuicError> {
        if self.ended {
            return Err(QuicError::Finished);
        }
        let id = self.id;
        let write = |connection: &mut _| streams::write(connection, id, bytes);
        self.handle.wait_on(WaitFor::Room(id), write).await
    }

    /// Writes all of these bytes. Cancelling the future may leave a part of them written.
    ///
    /// # Errors
    /// As [`SendStream::write`].
    pub async fn write_all(&mut self, mut bytes: &[u8]) -> Result<(), QuicError> {
        while !bytes.is_empty() {
            let count = self.write(bytes).await?;
            bytes = &bytes[count..];
        }
        Ok(())
    }

    /// Ends the stream after the bytes that were written. They are still sent if the stream is dropped then, but not if
    /// the connection is.
    pub fn finish(&mut self) {
        let id = self.id;
        if !std::mem::replace(&mut self.ended, true) {
            self.handle.with(|connection| connection.send_queues.finish(id));
        }
    }

    /// Ends the stream and waits until the peer's QUIC has acknowledged all of it, which its application may not have
    /// read yet.
    ///
    /// # Errors
    /// [`QuicError::Stopped`] if the peer has stopped the stream, or the connection has ended.
    pub async fn finished(mut self) -> Result<(), QuicError> {
        self.finish();
        match self.stopped().await? {
            None => Ok(()),
            Some(code) => Err(QuicError::Stopped(code)),
        }
    }

    /// Waits until the peer stops the stream, and returns its code, or until it has acknowledged the whole finished
    /// stream: `None`.
    ///
    /// # Errors
    /// The connection has ended.
    pub async fn stopped(&self) -> Result<Option<u64>, QuicError> {
        let id = self.id;
        self.handle.wait(|connection| streams::ended(connection, id)).await
    }

    /// Resets the stream: queued and lost bytes are not sent, and the peer receives `code`, an application error code
    /// (RFC 9000, 19.4).
    pub fn reset(mut self, code: u32) {
        let id = self.id;
        self.ended = true;
        self.handle.with(|connection| connection.send_queues.reset(&mut connection.quic, id, code));
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        let (id, ended) = (self.id, self.ended);
        self.handle.with(|connection| {
            if ended {
                connection.send_queues.release(&mut connection.quic, id);
            } else {
                connection.send_queues.reset(&mut connection.quic, id, 0);
            }
        });
    }
}

/// The receiving half of a stream. If it is dropped before the end of the stream, the peer is asked to stop with code
/// 0.
pub struct RecvStream {
    handle: Arc<ConnectionRef>,
    id: StreamId,
    ended: bool,
}

impl RecvStream {
    pub(super) fn new(handle: &Arc<ConnectionRef>, id: StreamId) -> Self {
        Self { handle: Arc::clone(handle), id, ended: false }
    }

    /// The stream ID (RFC 9000, 2.1).
    pub fn id(&self) -> u64 {
        VarInt::from(self.id).into_inner()
    }

    /// Reads some bytes, as soon as there are any, and returns how many: 0 at the end of the stream. Cancelling the
    /// future reads nothing.
    ///
    /// # Errors
    /// [`QuicError::Reset`] if the peer has reset the stream, or the connection has ended.
    pub async fn read(&mut self, into: &mut [u8]) -> Result<usize, QuicError> {
        if self.ended || into.is_empty() {
            return Ok(0);
        }
        let id = self.id;
        let read = |connection: &mut _| streams::read(connection, id, into);
        let count = self.handle.wait_on(WaitFor::Data(id), read).await?;
        self.ended = count == 0;
        Ok(count)
    }

    /// Reads to the end of the stream.
    ///
    /// # Errors
    /// As [`RecvStream::read`], or [`QuicError::TooLong`] if there are more than `limit` bytes.
    pub async fn read_to_end(&mut self, limit: usize) -> Result<Vec<u8>, QuicError> {
        let (mut all, mut part) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let count = self.read(&mut part).await?;
            if count == 0 {
                return Ok(all);
            }
            if all.len() + count > limit {
                return Err(QuicError::TooLong(limit));
            }
            all.extend_from_slice(&part[..count]);
        }
    }

    /// Asks the peer to stop sending, with an application error code (RFC 9000, 19.5), and discards unread bytes.
    pub fn stop(mut self, code: u32) {
        self.stop_with(code);
    }

    fn stop_with(&mut self, code: u32) {
        let (id, code) = (self.id, VarInt::from_u32(code));
        if !std::mem::replace(&mut self.ended, true) {
            // The stream may have ended meanwhile.
            self.handle.with(|connection| connection.quic.recv_stream(id).stop(code).ok());
        }
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        self.stop_with(0);
    }
}
