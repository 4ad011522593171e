//! The next stream of the peer of either kind, and whether the peer is there.

use std::time::{Duration, Instant};

use quinn_proto::Dir;

use super::{Connection, RecvStream, SendStream};
use crate::error::QuicError;
use crate::streams;

/// How often it is looked whether the peer has answered.
const LOOK: Duration = Duration::from_millis(10);

/// A stream that the peer has opened.
pub enum AnyStream {
    /// From the peer alone.
    Uni(RecvStream),
    /// In both directions.
    Bi(SendStream, RecvStream),
}

impl Connection {
    /// The next stream that the peer opens, of either kind; of two that wait, the one in both directions.
    ///
    /// # Errors
    /// If the connection is lost.
    pub async fn accept_any(&self) -> Result<AnyStream, QuicError> {
        let accept = |connection: &mut crate::connection::Connection| {
            let mut of = |dir| Some((dir, streams::accept(connection, dir)?));
            of(Dir::Bi).or_else(|| of(Dir::Uni))
        };
        let (dir, id) = self.handle.wait_for(accept).await?;
        Ok(match dir {
            Dir::Uni => AnyStream::Uni(RecvStream::new(&self.handle, id)),
            Dir::Bi => {
                let (send, recv) = self.both(id);
                AnyStream::Bi(send, recv)
            }
        })
    }

    /// Asks the peer for an acknowledgement, and waits in this thread until something comes, for as long as `patience`
    /// and three smoothed round trips. False if nothing came, or the connection has ended.
    #[must_use]
    pub fn is_alive(&self, patience: Duration) -> bool {
        // Frames count only when their packet was authentic.
        let heard = |connection: &mut crate::connection::Connection| {
            let frames = connection.quic.stats().frame_rx;
            connection.end.is_none().then_some(frames.acks + frames.stream + frames.ping)
        };
        let asked = self.handle.with(|connection| {
            connection.quic.ping();
            (heard(connection), connection.quic.rtt())
        });
        let Some((Some(before), rtt)) = asked else { return false };
        let until = Instant::now() + patience + rtt * 3;
        while Instant::now() < until {
            match self.handle.with(heard).flatten() {
                None => return false,
                Some(now) if now > before => return true,
                Some(_) => std::thread::sleep(LOOK),
            }
        }
        false
    }
}
