//! What `shallop ping` and `shallop send --for` do: round trips over a stream, credits asked for at a rate, to see what
//! the path does with emulation packets and with data, and zeros sent for a time, to see how fast they arrive. What is
//! sent for it carries nothing, and the peer drops it.
//!
//! A stream of this kind begins with a byte that says what it is: `ECHO`, whose bytes come back, `LOAD`, whose
//! bytes are dropped, or `COUNT`, whose bytes are counted and dropped. Files never use streams in both directions.

use std::time::{Duration, Instant};

use pollster::block_on;
use shallop_core::BitsPerSec;

use crate::config::span;
use crate::credit::path::Path;
use crate::credit::stats::{CreditStats, part};
use crate::endpoint::{Connection, RecvStream, SendStream};
use crate::error::QuicError;
use crate::files::transfer::gather;
use crate::files::within::within;
use crate::path_stats::PathStats;

/// A stream whose bytes come back.
const ECHO: u8 = b'E';
/// A stream whose bytes are dropped.
const LOAD: u8 = b'L';
/// A stream whose bytes are dropped, and behind whose end their number comes back, and the time from the first to the
/// last in nanoseconds, each in 8 bytes, the most significant first.
const COUNT: u8 = b'C';
/// Bytes of an echo, at most.
const MOST_ECHO: usize = 64;
/// Bytes of a load, at most: more than a minute at 10 Gb/s.
const MOST_LOAD: u64 = 100 << 30;
/// Bytes of a full packet on the wire.
const FRAME: u64 = 1_538;
/// Bytes of the answer to a [`COUNT`].
const ANSWER: usize = 16;
/// What is written and read at a time, bytes.
const CHUNK: usize = 1 << 18;

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
    /// Full packets that the rate carries in that time: as many emulation packets were to be sent.
    pub asked: u64,
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
    let asked = left / FRAME;
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
    Ok(Load { seconds: offered.as_secs_f64(), asked, on_credits, ..load })
}

/// What has arrived at the peer, as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Bytes.
    pub bytes: u64,
    /// From the first of them to the last.
    pub time: Duration,
}

/// Sends zeros for so long, as fast as they leave. `tell` is told of each part that was written.
///
/// # Errors
/// If the connection is lost, or the peer does not count.
pub fn send_for(
    connection: &Connection,
    time: Duration,
    tell: &mut dyn FnMut(u64),
) -> Result<Arrived, QuicError> {
    let begun = Instant::now();
    let answer = block_on(async {
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(&[COUNT]).await?;
        let chunk = vec![0; CHUNK];
        while begun.elapsed() < time {
            tell(send.write(&chunk).await? as u64);
        }
        send.finish();
        recv.read_to_end(ANSWER).await
    });
    let numbers = |answer: Vec<u8>| {
        let (bytes, time) = answer.split_at_checked(8)?;
        let bytes = u64::from_be_bytes(bytes.try_into().ok()?);
        let time = Duration::from_nanos(u64::from_be_bytes(time.try_into().ok()?));
        Some(Arrived { bytes, time })
    };
    let does_not = || QuicError::Lost("the peer does not say what has arrived".to_owned());
    numbers(answer?).ok_or_else(does_not)
}

/// Answers one stream of a ping, or counts what arrives.
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
            COUNT => {
                let Arrived { bytes, time } = count_all(&mut recv).await?;
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                send.write_all(&[bytes.to_be_bytes(), time.to_be_bytes()].concat()).await?;
                send.finish();
                Ok(())
            }
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

async fn count_all(recv: &mut RecvStream) -> Result<Arrived, QuicError> {
    let mut buffer = vec![0; CHUNK];
    let (mut bytes, mut first, mut last) = (0, None, None);
    loop {
        let count = recv.read(&mut buffer).await?;
        if count == 0 {
            let time = first.zip(last).map(|(first, last): (Instant, Instant)| last - first);
            return Ok(Arrived { bytes, time: time.unwrap_or_default() });
        }
        bytes += count as u64;
        last = Some(Instant::now());
        first = first.or(last);
        gather(count, u64::MAX);
    }
}
