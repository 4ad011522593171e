//! Decides during a transfer whether data moves faster without credits: on a path whose switches meter no emulation
//! packets, credits keep no queue short and cost processor time.
//!
//! After a second on credits the path is tested ([`class_test`](crate::class_test)). If it has no meter, data leaves
//! without credits for two seconds, and the faster way of the two is kept.

use std::time::{Duration, Instant};

use shallop_core::BitsPerSec;
use shallop_quic::path_probe::ProbeCounts;
use shallop_quic::{Connection, SendMode};

use crate::class_test::{ABOVE, Metering, metering, plan};

/// The time in which the rate of data is measured.
const MEASURE: Duration = Duration::from_secs(1);
/// The time before the first measurement, and after a change of the way in which data leaves.
const START: Duration = Duration::from_millis(500);
/// The most tests of a path.
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

#[derive(Clone, Copy, Debug)]
enum State {
    /// Data has not left on credits yet.
    Waiting,
    /// The rate on credits is measured.
    OnCredits(Window),
    /// The path is tested. `over` is when the last packet had left.
    Testing {
        credits_bps: f64,
        over: Option<Instant>,
    },
    /// The rate without credits is measured.
    Plain {
        credits_bps: f64,
        window: Window,
    },
    Done,
}

/// A measurement of the rate of data.
#[derive(Clone, Copy, Debug)]
struct Window {
    from: Instant,
    /// The packets with data that had left and were not lost by then; `None` before `from`.
    packets: Option<u64>,
}

impl Window {
    fn after(now: Instant) -> Self {
        Self { from: now + START, packets: None }
    }

    /// Returns the rate at the end of the window, bits a second.
    fn rate(&mut self, now: Instant, packets: u64) -> Option<f64> {
        if now < self.from {
            return None;
        }
        let Some(before) = self.packets else {
            (self.from, self.packets) = (now, Some(packets));
            return None;
        };
        let passed = now - self.from;
        let bits = packets.saturating_sub(before) as f64 * PAYLOAD_BITS;
        (passed >= MEASURE).then(|| bits / passed.as_secs_f64())
    }
}

/// One trial of a transfer.
#[derive(Debug)]
pub struct PlainTrial {
    link: BitsPerSec,
    settle: Duration,
    tests: u32,
    /// The trains of all tests.
    trains: Vec<ProbeCounts>,
    state: State,
}

impl PlainTrial {
    /// `link` is the rate that the user gave, and `settle` the time after which answers are no longer awaited.
    pub fn new(link: BitsPerSec, settle: Duration) -> Self {
        Self { link, settle, tests: 0, trains: Vec::new(), state: State::Waiting }
    }

    /// Does what is due. Called at short intervals. Returns the result when it is known.
    pub fn poll(&mut self, now: Instant, connection: &Connection) -> Option<TrialResult> {
        if matches!(self.state, State::Done) {
            return None;
        }
        let mode = connection.send_mode();
        let packets = packets(connection);
        let (next, result) = match self.state {
            State::Waiting if mode == SendMode::Credits && packets > 0 => (State::OnCredits(Window::after(now)), None),
            State::Waiting => (State::Waiting, None),
            State::Plain { credits_bps, mut window } if mode == SendMode::Unmetered => {
                match window.rate(now, packets) {
                    None => (State::Plain { credits_bps, window }, None),
                    Some(plain) => (State::Done, Some(self.choose(connection, credits_bps, plain))),
                }
            }
            State::OnCredits(mut window) if mode == SendMode::Credits => match window.rate(now, packets) {
                None => (State::OnCredits(window), None),
                Some(credits_bps) => (self.test(connection, credits_bps), None),
            },
            State::Testing { credits_bps, over } if mode == SendMode::Credits => {
                (self.tested(now, connection, credits_bps, over), None)
            }
            // The connection has left credits for another reason, or has returned to them.
            _ => (State::Done, None),
        };
        self.state = next;
        result
    }

    fn test(&mut self, connection: &Connection, credits_bps: f64) -> State {
        self.tests += 1;
        let has_begun = connection.start_probe(plan(self.link, ABOVE));
        if has_begun { State::Testing { credits_bps, over: None } } else { State::Done }
    }

    fn tested(&mut self, now: Instant, connection: &Connection, credits_bps: f64, over: Option<Instant>) -> State {
        let Some((trains, is_over)) = connection.probed() else { return State::Done };
        let over = is_over.then(|| over.unwrap_or(now));
        if over.is_none_or(|over| now < over + self.settle) {
            return State::Testing { credits_bps, over };
        }
        self.trains.extend(trains);
        match metering(&self.trains, self.link) {
            Metering::Unmetered if connection.leave_unmetered() => {
                State::Plain { credits_bps, window: Window::after(now) }
            }
            Metering::Slow | Metering::Lossy if self.tests < TESTS => self.test(connection, credits_bps),
            _ => State::Done,
        }
    }

    fn choose(&self, connection: &Connection, credits_bps: f64, plain_bps: f64) -> TrialResult {
        let has_faster_bottleneck = plain_bps > self.link.get() as f64 * ABOVE_LIMIT;
        let is_plain = plain_bps > credits_bps && !has_faster_bottleneck;
        if !is_plain {
            connection.use_credits();
        }
        TrialResult { credits_bps, plain_bps, is_plain }
    }
}

/// The packets with data that have left and were not lost.
fn packets(connection: &Connection) -> u64 {
    let stats = connection.stats();
    let sent = stats.data_packets + stats.without_credit;
    sent.saturating_sub(connection.path_stats().packets_lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_measured_over_a_second_after_the_start() {
        let begun = Instant::now();
        let mut window = Window::after(begun);
        let at = |millis| begun + Duration::from_millis(millis);
        assert_eq!(window.rate(at(400), 9), None);
        assert_eq!(window.rate(at(600), 1_000), None);
        assert_eq!(window.rate(at(1_500), 2_000), None);
        let rate = window.rate(at(1_600), 2_000).unwrap();
        assert!((rate - 11.2e6).abs() < 1.0, "{rate}");
    }
}
