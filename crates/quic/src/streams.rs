//! Operations on the streams of a connection, for [`crate::Endpoint`] and [`crate::MultiEndpoint`].

use crate::{connection::Connection, error::QuicError};
use quinn_proto::{Dir, ReadError, StreamId};
use std::task::Poll;

/// Opens a stream; `None` during the handshake, or if the peer's stream limit is reached.
pub(crate) fn open(connection: &mut Connection, dir: Dir) -> Option<StreamId> {
    if !connection.is_ready() {
        return None;
    }
    connection.quic.streams().open(dir)
}

/// Accepts a stream of the peer; `None` during the handshake. The peer's first unidirectional stream has its settings
/// and was accepted by [`crate::credit::settings_stream`].
pub(crate) fn accept(connection: &mut Connection, dir: Dir) -> Option<StreamId> {
    if !connection.is_ready() {
        return None;
    }
    connection.quic.streams().accept(dir)
}

/// Writes some of these bytes, as soon as there is room.
pub(crate) fn write(connection: &mut Connection, id: StreamId, bytes: &[u8]) -> Poll<Result<usize, QuicError>> {
    if let Ok(Some(code)) = connection.quic.send_stream(id).stopped() {
        return Poll::Ready(Err(QuicError::Stopped(code.into_inner())));
    }
    match connection.send_queues.write(id, bytes) {
        0 if !bytes.is_empty() => Poll::Pending,
        count => Poll::Ready(Ok(count)),
    }
}

/// Whether a stream to the peer has ended: `None` if the peer has acknowledged all of it, else the code with which the
/// peer has stopped it.
pub(crate) fn ended(connection: &mut Connection, id: StreamId) -> Poll<Result<Option<u64>, QuicError>> {
    match connection.quic.send_stream(id).stopped() {
        // QUIC forgets a stream once all of it is acknowledged.
        Err(_) => Poll::Ready(Ok(None)),
        Ok(Some(code)) => Poll::Ready(Ok(Some(code.into_inner()))),
        Ok(None) => Poll::Pending,
    }
}

pub(crate) fn read(connection: &mut Connection, id: StreamId, into: &mut [u8]) -> Poll<Result<usize, QuicError>> {
    let mut stream = connection.quic.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return Poll::Ready(Ok(0)) };
    let mut count = 0;
    let mut end = None;
    while count < into.len() {
        match chunks.next(into.len() - count) {
            Ok(Some(chunk)) => {
                into[count..count + chunk.bytes.len()].copy_from_slice(&chunk.bytes);
                count += chunk.bytes.len();
            }
            Ok(None) => {
                end = Some(Ok(()));
                break;
            }
            Err(ReadError::Blocked) => break,
            Err(ReadError::Reset(code)) => {
                end = Some(Err(QuicError::Reset(code.into_inner())));
                break;
            }
        }
    }
    // Reading may free enough of the window for a MAX_STREAM_DATA frame.
    connection.needs_transmit = chunks.finalize().should_transmit();
    match (count, end) {
        (0, None) => Poll::Pending,
        (0, Some(Err(why))) => Poll::Ready(Err(why)),
        (count, _) => Poll::Ready(Ok(count)),
    }
}
