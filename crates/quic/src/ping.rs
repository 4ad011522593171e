//! What `shallop ping` does: round trips over a stream, and credits asked for at a rate, to see what the path does with
//! emulation packets and with data. What is sent for it carries nothing, and the peer drops it.
//!
//! A stream of a ping begins with a byte that says what it is: [`ECHO`], whose bytes come back, or [`LOAD`], whose
//! bytes are dropped. Files never use streams in both directions.

use std::time::{Duration, Instant};

use pollster::block_on;
use shallop_core::BitsPerSec;

use crate::config::span;
use crate::endpoint::{Connection, RecvStream, SendStream};
use crate::error::QuicError;
use crate::path::Path;
use crate::path_stats::PathStats;
use crate::stats::{CreditStats, part};
use crate::within::within;

/// A stream whose bytes come back.
const ECHO: u8 = b'E';
/// A stream whose bytes are dropped.
const LOAD: u8 = b'L';
/// Bytes of an echo, at most.
const MOST_ECHO: usize = 64;
/// Bytes of a load, at most: more than a minute at 10 Gb/s.
const MOST_LOAD: u64 = 100 << 30;
/// What is written and read at a time, bytes.
const CHUNK: usize = 1 << 16;

/// The time until a few bytes have come back over a stream. Over a connection on credits it contains the waiting time
/// of both ends.
///
/// # Errors
/// If the connection is lost, or the peer answers something else, or nothing for as long as `patience`. The connection
/// is closed in the last case.
pub fn round_trip(connection: &Connection, patience: Duration) -> Result<Duration, QuicError> {
    let cancel = || connection.close(0, b"no answer to a ping");
    let no_answer = || QuicError::Lost("the peer does not answer pings".to_owned());
    within(patience, cancel, || echo(connection)).ok_or_else(no_answer)?
}

fn echo(connection: &Connection) -> Result<Duration, QuicError> {
    let begun = Instant::now();
    let asked = std::process::id().to_be_bytes();
    block_on(async {
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(&[&[ECHO], &asked[..]].concat()).await?;
        send.finish();
        let answer = recv.read_to_end(MOST_ECHO).await?;
        if answer == asked {
            Ok(begun.elapsed())
        } else {
            Err(QuicError::Lost("the peer does not answer pings".to_owned()))
        }
    })
}

/// What came of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Load {
    /// How long data was offered, seconds.
    pub seconds: f64,
    /// Emulation packets sent.
    pub emulated: u64,
    /// Credits that came back for them.
    pub granted: u64,
    /// Credits that were skipped since this host was late.
    pub skipped: u64,
    /// Data packets sent.
    pub data_packets: u64,
    /// QUIC packets that were declared lost.
    pub data_lost: u64,
    /// Whether data left on credits at the end.
    pub on_credits: bool,
}

impl Load {
    fn between(before: &(CreditStats, PathStats), after: &(CreditStats, PathStats)) -> Self {
        let (credits, path) = after;
        Self {
            emulated: credits.emulated - before.0.emulated,
            granted: credits.granted - before.0.granted,
            skipped: credits.skipped - before.0.skipped,
            data_packets: credits.data_packets - before.0.data_packets,
            data_lost: path.packets_lost - before.1.packets_lost,
            ..Self::default()
        }
    }

    /// The part of emulation packets without a credit; zero if none was sent.
    #[must_use]
    pub fn emulation_loss(&self) -> f64 {
        part(self.emulated.saturating_sub(self.granted), self.emulated)
    }

    /// The part of data packets that was declared lost; zero if none was sent.
    #[must_use]
    pub fn data_loss(&self) -> f64 {
        part(self.data_lost, self.data_packets)
    }
}

/// Offers data at this rate for so long. What waits at the end is not sent any more; after `settle`, which should be
/// longer than the waiting time and a few round trips, what was lost is known and counted.
///
/// # Errors
/// If the connection is lost.
pub fn load(
    connection: &Connection,
    rate: BitsPerSec,
    time: Duration,
    settle: Duration,
) -> Result<Load, QuicError> {
    let mut left = rate.bytes_in(span(time)).get();
    let count = || (connection.stats(), connection.path_stats());
    let (before, begun) = (count(), Instant::now());
    let offered = block_on(async {
        let (mut send, _recv) = connection.open_bi().await?;
        send.write_all(&[LOAD]).await?;
        let chunk = vec![0; CHUNK];
        while left > 0 && begun.elapsed() < time {
            let count = left.min(CHUNK as u64) as usize;
            left -= send.write(&chunk[..count]).await? as u64;
        }
        std::thread::sleep(time.saturating_sub(begun.elapsed()));
        // The stream is broken off here: what waits in it is not sent.
        Ok::<_, QuicError>(begun.elapsed())
    })?;
    std::thread::sleep(settle);
    let load = Load::between(&before, &count());
    let on_credits = connection.path() == Path::Credits;
    Ok(Load { seconds: offered.as_secs_f64(), on_credits, ..load })
}

/// Answers one stream of a ping.
///
/// # Errors
/// If the connection is lost, or this is no ping.
pub fn answer(mut send: SendStream, mut recv: RecvStream) -> Result<(), QuicError> {
    let mut kind = [0];
    block_on(async {
        match recv.read(&mut kind).await {
            Ok(0) | Err(QuicError::Reset(_)) => return Ok(()),
            read => read?,
        };
        match kind[0] {
            ECHO => {
                let asked = recv.read_to_end(MOST_ECHO).await?;
                send.write_all(&asked).await?;
                send.finish();
                Ok(())
            }
            LOAD => match drop_all(&mut recv).await {
                // Who loads breaks off.
                Err(QuicError::Reset(_)) => Ok(()),
                read => read,
            },
            other => Err(QuicError::Lost(format!("a stream of kind {other}, which is no ping"))),
        }
    })
}

async fn drop_all(recv: &mut RecvStream) -> Result<(), QuicError> {
    let (mut buffer, mut all) = (vec![0; CHUNK], 0);
    loop {
        let count = recv.read(&mut buffer).await?;
        all += count as u64;
        if count == 0 || all > MOST_LOAD {
            return Ok(());
        }
    }
}
