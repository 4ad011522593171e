//! Decides during a transfer whether data moves faster without credits: on a path whose switches meter no emulation
//! packets, credits keep no queue short and cost processor time.
//!
//! After a second on credits the path is tested ([`class_test`](crate::class_test)). If it has no meter, data leaves
//! without credits, and after a second the faster way of the two is kept.

use crate::class_test::{ABOVE, Metering, metering, probe};
use pollster::block_on;
use shallop_quic::{Config, Connection, SendMode};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time in which the rate of data is measured.
const MEASURE: Duration = Duration::from_millis(700);
/// The time before a measurement in which the rate settles.
const START: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(20);
/// The fewest packets of data in that time for a rate, 0.8 Mb/s. With fewer, nothing is compared or told.
const LEAST: u64 = 50;
const TESTS: u32 = 6;
/// The payload of a full packet, bits.
const PAYLOAD_BITS: f64 = 1_400.0 * 8.0;
/// A path that carries more than this multiple of the given rate has a faster bottleneck, whose meter was not seen.
const ABOVE_LIMIT: f64 = 1.1;

/// What a trial found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialResult {
    /// The rate of data on credits, bits a second.
    pub credits_bps: f64,
    /// The rate of data without credits, bits a second.
    pub plain_bps: f64,
    /// Whether data leaves without credits from now on.
    pub is_plain: bool,
}

/// Tries whether a transfer over this connection is faster without credits, once each time that data leaves on credits
/// after it has not, and keeps the faster way. Blocks until the connection ends.
pub fn try_without_credits(connection: &Connection, config: &Config, mut tell: impl FnMut(TrialResult)) {
    let mut mode = SendMode::Unknown;
    while let Ok(changed) = block_on(connection.send_mode_changed(mode)) {
        if changed == SendMode::Credits
            && let Some(result) = compare(connection, config)
        {
            tell(result);
        }
        mode = connection.send_mode();
    }
}

/// Compares both ways. `None` if a meter was seen, or could have been there unseen, or data leaves in another way
/// meanwhile.
fn compare(connection: &Connection, config: &Config) -> Option<TrialResult> {
    let credits_bps = rate(connection, SendMode::Credits)?;
    if !(is_unmetered(connection, config) && connection.leave_unmetered()) {
        return None;
    }
    let Some(plain_bps) = rate(connection, SendMode::Unmetered) else {
        connection.use_credits();
        return None;
    };
    let is_plain = plain_bps > credits_bps && plain_bps <= config.link.get() as f64 * ABOVE_LIMIT;
    if !is_plain {
        connection.use_credits();
    }
    Some(TrialResult { credits_bps, plain_bps, is_plain })
}

fn is_unmetered(connection: &Connection, config: &Config) -> bool {
    let mut trains = Vec::new();
    for _ in 0..TESTS {
        let Ok(more) = probe(connection, config, ABOVE) else { return false };
        trains.extend(more);
        match metering(&trains, config.link) {
            Metering::Slow | Metering::Lossy => {}
            found => return found == Metering::Unmetered,
        }
    }
    false
}

/// Measures the rate of data after its start, bits a second; `None` if data does not leave in this way all the time, or
/// is too little.
fn rate(connection: &Connection, mode: SendMode) -> Option<f64> {
    let keeps = |time: Duration| {
        let begun = Instant::now();
        loop {
            if connection.is_closed() || connection.send_mode() != mode {
                return None;
            }
            if begun.elapsed() >= time {
                return Some(begun.elapsed().as_secs_f64());
            }
            sleep(LOOK);
        }
    };
    while packets(connection) == 0 {
        keeps(LOOK)?;
    }
    keeps(START)?;
    let before = packets(connection);
    let seconds = keeps(MEASURE)?;
    let count = packets(connection).saturating_sub(before);
    (count >= LEAST).then(|| count as f64 * PAYLOAD_BITS / seconds)
}

/// The packets with data that have left and were not lost.
fn packets(connection: &Connection) -> u64 {
    let stats = connection.stats();
    let sent = stats.data_packets + stats.without_credit;
    sent.saturating_sub(connection.path_stats().packets_lost)
}
