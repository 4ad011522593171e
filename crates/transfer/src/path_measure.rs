//! The measurements of `shallop ping --flashpass`: emulation packets above the meter's rate, emulation packets beside
//! data without credits, and data on credits.

use crate::class_test::{ABOVE, BELOW, Metering, Order, metering, order, probe};
use crate::ping::{Load, load, send_for};
use crate::session::{SendSession, TESTED};
use shallop_quic::path_probe::ProbeCounts;
use shallop_quic::{Config, QuicError};
use std::{thread::Builder, time::Duration};

const LOAD: Duration = Duration::from_secs(1);
/// The duration of data without credits, longer than the emulation packets beside it.
const BESIDE: Duration = Duration::from_millis(1_600);
/// The head start of that data.
const FILL: Duration = Duration::from_millis(300);
/// The time to wait for packets in flight after a test, besides twice the waiting time of credits.
const SETTLE: Duration = Duration::from_millis(200);
/// The most tests of a kind, which are repeated while they say nothing.
const TESTS: u32 = 3;

/// What was measured on a path.
#[derive(Clone, Debug, Default)]
pub struct PathMeasured {
    /// The trains of emulation packets above the meter's rate.
    pub above: Vec<ProbeCounts>,
    /// The trains of emulation packets below the meter's rate, beside data without credits.
    pub beside_data: Vec<ProbeCounts>,
    /// The rate of that data at the receiver, bits a second.
    pub plain_bps: f64,
    /// Packets of that data that were declared lost.
    pub plain_lost: u64,
    /// Data on credits at the given rate, at twice the rate if a meter was seen.
    pub load: Option<Load>,
}

impl PathMeasured {
    /// The rate of data on credits, bits a second; `None` if it was not measured.
    pub fn credits_bps(&self) -> Option<f64> {
        self.load.map(|load| load.data_bps())
    }
}

/// Measures a path whose bottleneck has the rate [`Config::link`]. `without` is a connection without credits; `connect`
/// makes one with a configuration, and `lost` turns the error of a lost one into that of `connect`.
///
/// # Errors
/// A connection fails.
pub fn measure<E>(
    config: Config, without: &SendSession, connect: impl Fn(Config) -> Result<SendSession, E>,
    lost: impl Fn(QuicError) -> E,
) -> Result<PathMeasured, E> {
    let (link, settle) = (config.link, config.wait * 2 + SETTLE);
    let testing = connect(Config { keeps_credits: true, ..config })?;
    let mut found = PathMeasured::default();
    for _ in 0..TESTS {
        let trains = probe(testing.connection(), &config, ABOVE).map_err(&lost)?;
        found.above.extend(trains);
        if !matches!(metering(&found.above, link), Metering::Slow | Metering::Lossy) {
            break;
        }
    }
    let is_metered = metering(&found.above, link) == Metering::Metered;
    for _ in 0..TESTS {
        let beside = beside_data(&testing, without, &config);
        (found.beside_data, found.plain_bps, found.plain_lost) = beside.map_err(&lost)?;
        if !is_metered || order(&found.beside_data) != Order::Open {
            break;
        }
    }
    testing.connection().close(0, TESTED);
    drop(testing);
    if !found.above.is_empty() {
        let rate = link.scale(if is_metered { 2.0 } else { 1.0 });
        let sending = connect(Config { link: rate, keeps_credits: true, ..config })?;
        found.load = Some(load(sending.connection(), rate, LOAD, settle).map_err(&lost)?);
    }
    Ok(found)
}

/// Sends emulation packets below the meter's rate while data without credits fills the link. Returns their counts, the
/// rate of data at the receiver, bits a second, and its lost packets.
fn beside_data(
    testing: &SendSession, without: &SendSession, config: &Config,
) -> Result<(Vec<ProbeCounts>, f64, u64), QuicError> {
    let lost = || without.connection().path_stats().packets_lost;
    let before = lost();
    let (trains, arrived) = std::thread::scope(|scope| {
        let connection = without.connection();
        let data = Builder::new().spawn_scoped(scope, || send_for(connection, BESIDE, &mut |_| ()))?;
        std::thread::sleep(FILL);
        let trains = probe(testing.connection(), config, BELOW);
        Ok::<_, QuicError>((trains, data.join()))
    })?;
    let failed = |_| QuicError::Failed("a thread of the measurement has panicked".to_owned());
    let arrived = arrived.map_err(failed)??;
    let rate = arrived.bytes as f64 * 8.0 / arrived.time.as_secs_f64().max(1e-3);
    Ok((trains?, rate, lost() - before))
}
