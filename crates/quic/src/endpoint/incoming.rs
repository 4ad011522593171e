//! Accepts streams of either direction, and checks that the peer is alive.

use super::{Connection, RecvStream, SendStream};
use crate::{connection, error::QuicError, streams};
use quinn_proto::Dir;
use std::time::{Duration, Instant};

/// The interval at which [`Connection::is_alive`] looks for an answer.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A stream that the peer has opened.
pub enum AnyStream {
    /// A unidirectional stream, which only the peer writes.
    Uni(RecvStream),
    /// A bidirectional stream, which both sides write.
    Bi(SendStream, RecvStream),
}

impl Connection {
    /// Waits for the next stream of the peer of either direction; bidirectional streams come first.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn accept_any(&self) -> Result<AnyStream, QuicError> {
        let accept = |connection: &mut connection::Connection| {
            let mut of = |dir| Some((dir, streams::accept(connection, dir)?));
            of(Dir::Bi).or_else(|| of(Dir::Uni))
        };
        let (dir, id) = self.handle.wait_for(accept).await?;
        Ok(match dir {
            Dir::Uni => AnyStream::Uni(RecvStream::new(&self.handle, id)),
            Dir::Bi => {
                let (send, recv) = self.bidirectional(id);
                AnyStream::Bi(send, recv)
            }
        })
    }

    /// Sends a PING frame and blocks until the peer sends any frame, for at most `limit` plus three smoothed round
    /// trips. False if nothing arrives or the connection has ended.
    pub fn is_alive(&self, limit: Duration) -> bool {
        // Frames are counted after their packet was authenticated.
        let received = |connection: &mut connection::Connection| {
            let frames = connection.quic.stats().frame_rx;
            connection.close_reason.is_none().then_some(frames.acks + frames.stream + frames.ping)
        };
        let asked = self.handle.with(|connection| {
            connection.quic.ping();
            (received(connection), connection.quic.rtt())
        });
        let Some((Some(before), rtt)) = asked else { return false };
        let until = Instant::now() + limit + rtt * 3;
        while Instant::now() < until {
            match self.handle.with(received).flatten() {
                None => return false,
                Some(now) if now > before => return true,
                Some(_) => std::thread::sleep(POLL_INTERVAL),
            }
        }
        false
    }
}
