//! What endpoints of both kinds, with futures and without, do with the streams of a connection.

use std::task::Poll;

use quinn_proto::{Dir, ReadError, StreamId};

use crate::connection::Connection;
use crate::error::QuicError;

/// Whether QUIC may have something to send after what a user has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It may.
    Sends,
    /// It has nothing more than before.
    Nothing,
}

/// Opens a stream; `None` while it is not known how data leaves, or if the peer takes no more streams.
pub(crate) fn open(connection: &mut Connection, dir: Dir) -> Option<StreamId> {
    if !connection.is_ready() {
        return None;
    }
    connection.quic.streams().open(dir)
}

/// A stream that the peer has opened. Its first one has its settings, and is for nobody else.
pub(crate) fn accept(connection: &mut Connection, dir: Dir) -> Option<StreamId> {
    if !connection.is_ready() {
        return None;
    }
    connection.quic.streams().accept(dir)
}

/// Writes some of these bytes, once there is room.
pub(crate) fn write(
    connection: &mut Connection,
    id: StreamId,
    bytes: &[u8],
) -> Poll<Result<usize, QuicError>> {
    if let Ok(Some(code)) = connection.quic.send_stream(id).stopped() {
        return Poll::Ready(Err(QuicError::Stopped(code.into_inner())));
    }
    match connection.streams.write(id, bytes) {
        0 if !bytes.is_empty() => Poll::Pending,
        count => Poll::Ready(Ok(count)),
    }
}

/// Whether a stream to the peer is over: the peer has everything, or wants no more and has said so with a code.
pub(crate) fn over(
    connection: &mut Connection,
    id: StreamId,
) -> Poll<Result<Option<u64>, QuicError>> {
    match connection.quic.send_stream(id).stopped() {
        // QUIC forgets a stream of which everything was acknowledged.
        Err(_) => Poll::Ready(Ok(None)),
        Ok(Some(code)) => Poll::Ready(Ok(Some(code.into_inner()))),
        Ok(None) => Poll::Pending,
    }
}

/// Reads what has arrived of a stream.
pub(crate) fn read(
    connection: &mut Connection,
    id: StreamId,
    into: &mut [u8],
) -> Poll<Result<usize, QuicError>> {
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
    // The driver sends what follows from it: more room for the peer, from time to time.
    let sends = chunks.finalize().should_transmit();
    connection.effect = if sends { Effect::Sends } else { Effect::Nothing };
    match (count, end) {
        (0, None) => Poll::Pending,
        (0, Some(Err(why))) => Poll::Ready(Err(why)),
        (count, _) => Poll::Ready(Ok(count)),
    }
}
