//! Both ends of streams.

use std::sync::Arc;

use quinn_proto::{StreamId, VarInt};

use super::Handle;
use crate::error::QuicError;
use crate::streams;
use crate::waiting::What;

/// A stream to the peer. If it is dropped before [`SendStream::finish`], it is reset with code 0.
///
/// The bytes of a stream arrive in order and once. Up to 1 MiB that QUIC has not taken yet waits in this process, and
/// up to 16 MiB that the peer has not read at the peer; then [`SendStream::write`] waits.
pub struct SendStream {
    handle: Arc<Handle>,
    id: StreamId,
    /// Nothing more is written: the stream was finished or reset.
    ended: bool,
}

impl SendStream {
    pub(super) fn new(handle: &Arc<Handle>, id: StreamId) -> Self {
        Self { handle: Arc::clone(handle), id, ended: false }
    }

    /// The number of the stream, the same at both ends (RFC 9000, 2.1).
    #[must_use]
    pub fn id(&self) -> u64 {
        VarInt::from(self.id).into_inner()
    }

    /// Writes some of these bytes, as soon as there is room, and returns how many. A future that is dropped has written
    /// nothing.
    ///
    /// # Errors
    /// [`QuicError::Stopped`] if the peer wants no more, [`QuicError::Finished`] behind [`SendStream::finish`], and if
    /// the connection has ended.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<usize, QuicError> {
        if self.ended {
            return Err(QuicError::Finished);
        }
        let id = self.id;
        let write = |connection: &mut _| streams::write(connection, id, bytes);
        self.handle.wait_on(What::Room(id), write).await
    }

    /// Writes all of these bytes. A future that is dropped may have written a part of them.
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

    /// Ends the stream behind what was written. What was written still leaves if the stream is dropped then, and is
    /// lost if the connection is.
    pub fn finish(&mut self) {
        let id = self.id;
        if !std::mem::replace(&mut self.ended, true) {
            self.handle.with(|connection| connection.streams.finish(id));
        }
    }

    /// Ends the stream, and waits until the peer's host has acknowledged everything. Its application may not have read
    /// it yet.
    ///
    /// # Errors
    /// [`QuicError::Stopped`] if the peer wants no more, and if the connection has ended.
    pub async fn finished(mut self) -> Result<(), QuicError> {
        self.finish();
        match self.stopped().await? {
            None => Ok(()),
            Some(code) => Err(QuicError::Stopped(code)),
        }
    }

    /// Waits until the peer wants no more of this stream, and returns its code; or until it has acknowledged
    /// everything, the end included: `None`.
    ///
    /// # Errors
    /// If the connection has ended.
    pub async fn stopped(&self) -> Result<Option<u64>, QuicError> {
        let id = self.id;
        self.handle.wait(|connection| streams::over(connection, id)).await
    }

    /// Breaks the stream off: what waits is not sent, what was lost is not sent again, and the peer is told `code`,
    /// whose meaning is the application's (RFC 9000, 19.4).
    pub fn reset(mut self, code: u32) {
        let id = self.id;
        self.ended = true;
        self.handle.with(|connection| connection.streams.reset(&mut connection.quic, id, code));
    }
}

impl Drop for SendStream {
    fn drop(&mut self) {
        let (id, ended) = (self.id, self.ended);
        self.handle.with(|connection| {
            if ended {
                connection.streams.release(&mut connection.quic, id);
            } else {
                connection.streams.reset(&mut connection.quic, id, 0);
            }
        });
    }
}

/// A stream from the peer. If it is dropped before its end, the peer is asked to send no more, with code 0.
pub struct RecvStream {
    handle: Arc<Handle>,
    id: StreamId,
    ended: bool,
}

impl RecvStream {
    pub(super) fn new(handle: &Arc<Handle>, id: StreamId) -> Self {
        Self { handle: Arc::clone(handle), id, ended: false }
    }

    /// The number of the stream, the same at both ends (RFC 9000, 2.1).
    #[must_use]
    pub fn id(&self) -> u64 {
        VarInt::from(self.id).into_inner()
    }

    /// Reads some bytes, as soon as there are any, and returns how many: none at the end of the stream. A future that
    /// is dropped has read nothing.
    ///
    /// # Errors
    /// [`QuicError::Reset`] if the peer has broken the stream off, and if the connection has ended.
    pub async fn read(&mut self, into: &mut [u8]) -> Result<usize, QuicError> {
        if self.ended || into.is_empty() {
            return Ok(0);
        }
        let id = self.id;
        let read = |connection: &mut _| streams::read(connection, id, into);
        let count = self.handle.wait_on(What::Data(id), read).await?;
        self.ended = count == 0;
        Ok(count)
    }

    /// Reads to the end of the stream.
    ///
    /// # Errors
    /// As [`RecvStream::read`], or [`QuicError::TooLong`] if there are more than `most` bytes.
    pub async fn read_to_end(&mut self, most: usize) -> Result<Vec<u8>, QuicError> {
        let (mut all, mut part) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            let count = self.read(&mut part).await?;
            if count == 0 {
                return Ok(all);
            }
            if all.len() + count > most {
                return Err(QuicError::TooLong(most));
            }
            all.extend_from_slice(&part[..count]);
        }
    }

    /// Asks the peer to send no more of this stream, with a code whose meaning is the application's (RFC 9000, 19.5).
    /// What has come and was not read is dropped.
    pub fn stop(mut self, code: u32) {
        self.stop_with(code);
    }

    fn stop_with(&mut self, code: u32) {
        let (id, code) = (self.id, VarInt::from_u32(code));
        if !std::mem::replace(&mut self.ended, true) {
            // A stream that has ended meanwhile needs no stop.
            self.handle.with(|connection| connection.quic.recv_stream(id).stop(code).ok());
        }
    }
}

impl Drop for RecvStream {
    fn drop(&mut self) {
        self.stop_with(0);
    }
}
