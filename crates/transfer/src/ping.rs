//! Measurements of a path, for `shallop ping` and `shallop send --for`: round trips over a stream, the losses of
//! emulation packets and data at a given rate, and the rate at which zeros arrive. The peer discards what it receives.
//!
//! The first byte of a bidirectional stream gives its purpose: `E` (bytes are returned), `L` (bytes are discarded) or
//! `C` (bytes are counted). Transfers of files use unidirectional streams only.

use crate::{activity::Activity, protocol::pause_if_short};
use pollster::block_on;
use shallop_core::{BitsPerSec, Span};
use shallop_quic::{Connection, CreditStats, PathStats, QuicError, RecvStream, SendMode, SendStream};
use std::time::{Duration, Instant};

/// The first byte of a stream whose bytes are returned.
const ECHO: u8 = b'E';
/// The first byte of a stream whose bytes are discarded.
const LOAD: u8 = b'L';
/// The first byte of a stream whose bytes are counted. The answer is the number of bytes and the time from the first to
/// the last in nanoseconds, each as a big-endian `u64`.
const COUNT: u8 = b'C';
/// The most bytes that the server returns on an echo stream.
const MAX_ECHO: usize = 64;
/// The most bytes that the server discards on a load stream: more than a minute at 10 Gb/s.
const MAX_LOAD: u64 = 100 << 30;
/// The length of a full packet on the wire, preamble and gap included, bytes.
const FRAME: u64 = 1_538;
/// The length of the IP packet of a full packet, bits.
const PACKET_BITS: f64 = 1_500.0 * 8.0;
/// The length of the answer to [`COUNT`], bytes.
const ANSWER: usize = 16;
/// The length of a read or write, bytes.
const CHUNK: usize = 1 << 18;

/// Measures the time until a few bytes come back over a stream. With data on credits it includes the waiting times of
/// both hosts.
///
/// # Errors
/// The connection is lost, or the answer is wrong. Without an answer within `limit`, the connection is closed.
pub fn round_trip(connection: &Connection, limit: Duration) -> Result<Duration, QuicError> {
    let cancel = || connection.close(0, b"no answer to a ping");
    let no_answer = || QuicError::Lost("the peer does not answer pings".to_owned());
    Activity::default().watched(limit, cancel, || echo(connection))?.ok_or_else(no_answer)?
}

fn echo(connection: &Connection) -> Result<Duration, QuicError> {
    let begun = Instant::now();
    let asked = std::process::id().to_be_bytes();
    block_on(async {
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(&[&[ECHO], &asked[..]].concat()).await?;
        send.finish();
        let answer = recv.read_to_end(MAX_ECHO).await?;
        if answer == asked {
            Ok(begun.elapsed())
        } else {
            Err(QuicError::Lost("the peer does not answer pings".to_owned()))
        }
    })
}

/// The packets that [`load`] sent, and the losses among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Load {
    /// The time during which data was offered, seconds.
    pub seconds: f64,
    /// Full packets that fit into the requested rate and time: the number of emulation packets that the rate needs.
    pub asked: u64,
    /// Emulation packets that this host sent.
    pub emulated: u64,
    /// Credits that this host received.
    pub granted: u64,
    /// Credits that this host skipped because it was late.
    pub skipped: u64,
    pub data_packets: u64,
    /// QUIC packets that this host declared lost (RFC 9002, 6).
    pub data_lost: u64,
    /// Whether data was sent on credits at the end.
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

    /// The rate of data that was not lost, with the headers of its packets, bits a second.
    pub fn data_bps(&self) -> f64 {
        let arrived = self.data_packets.saturating_sub(self.data_lost) as f64;
        if self.seconds > 0.0 { arrived * PACKET_BITS / self.seconds } else { 0.0 }
    }

    /// The fraction of emulation packets without a credit, 0 to 1; 0 if none was sent.
    pub fn emulation_loss(&self) -> f64 {
        fraction(self.emulated.saturating_sub(self.granted), self.emulated)
    }

    /// The fraction of data packets declared lost, 0 to 1; 0 if none was sent.
    pub fn data_loss(&self) -> f64 {
        fraction(self.data_lost, self.data_packets)
    }
}

/// Offers data at `rate` for `time`, discards what is still queued, and counts losses after `settle`, which should be
/// longer than the waiting time and a few round trips.
///
/// # Errors
/// The connection is lost.
pub fn load(connection: &Connection, rate: BitsPerSec, time: Duration, settle: Duration) -> Result<Load, QuicError> {
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
        // Dropping the unfinished stream resets it and discards queued bytes.
        Ok::<_, QuicError>(begun.elapsed())
    })?;
    std::thread::sleep(settle);
    let load = Load::between(&before, &count());
    let on_credits = connection.send_mode() == SendMode::Credits;
    Ok(Load { seconds: offered.as_secs_f64(), asked, on_credits, ..load })
}

/// The bytes that arrived at the peer, as the peer reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub bytes: u64,
    /// The time from the first byte to the last.
    pub time: Duration,
}

/// Sends zeros for `time`, as fast as possible. `written` is called with the length of each write, bytes.
///
/// # Errors
/// The connection is lost, or the peer does not report its count.
pub fn send_for(connection: &Connection, time: Duration, written: &mut dyn FnMut(u64)) -> Result<Arrived, QuicError> {
    let begun = Instant::now();
    let answer = block_on(async {
        let (mut send, mut recv) = connection.open_bi().await?;
        send.write_all(&[COUNT]).await?;
        let chunk = vec![0; CHUNK];
        while begun.elapsed() < time {
            written(send.write(&chunk).await? as u64);
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

/// Serves a stream that the client of a measurement has opened. Calls `note` when bytes arrive.
///
/// # Errors
/// The connection is lost, or the first byte of the stream is unknown.
pub fn answer(mut send: SendStream, mut recv: RecvStream, note: &dyn Fn()) -> Result<(), QuicError> {
    let mut kind = [0];
    block_on(async {
        match recv.read(&mut kind).await {
            Ok(0) | Err(QuicError::Reset(_)) => return Ok(()),
            read => read?,
        };
        match kind[0] {
            ECHO => {
                let asked = recv.read_to_end(MAX_ECHO).await?;
                send.write_all(&asked).await?;
                send.finish();
                Ok(())
            }
            LOAD => match discard(&mut recv, note).await {
                // [`load`] resets its stream at the end.
                Err(QuicError::Reset(_)) => Ok(()),
                read => read,
            },
            COUNT => {
                let Arrived { bytes, time } = count_bytes(&mut recv, note).await?;
                let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
                send.write_all(&[bytes.to_be_bytes(), time.to_be_bytes()].concat()).await?;
                send.finish();
                Ok(())
            }
            other => Err(QuicError::Lost(format!("a stream of kind {other}, which is no ping"))),
        }
    })
}

async fn discard(recv: &mut RecvStream, note: &dyn Fn()) -> Result<(), QuicError> {
    let (mut buffer, mut all) = (vec![0; CHUNK], 0);
    loop {
        let count = recv.read(&mut buffer).await?;
        all += count as u64;
        note();
        if count == 0 || all > MAX_LOAD {
            return Ok(());
        }
    }
}

async fn count_bytes(recv: &mut RecvStream, note: &dyn Fn()) -> Result<Arrived, QuicError> {
    let mut buffer = vec![0; CHUNK];
    let (mut bytes, mut first, mut last) = (0, None, None);
    loop {
        let count = recv.read(&mut buffer).await?;
        if count == 0 {
            let time = first.zip(last).map(|(first, last): (Instant, Instant)| last - first);
            return Ok(Arrived { bytes, time: time.unwrap_or_default() });
        }
        bytes += count as u64;
        note();
        last = Some(Instant::now());
        first = first.or(last);
        pause_if_short(count, u64::MAX);
    }
}

/// `part / whole`, or 0 if `whole` is 0.
fn fraction(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn span(time: Duration) -> Span {
    Span::from_ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
