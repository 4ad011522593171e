//! Tests whether the switches of a path meter emulation packets, and serve them before data.
//!
//! A test sends trains of emulation packets, a quarter of them with the DSCP of data
//! ([`path_probe`](shallop_quic::path_probe)). Above the meter's rate, a path with a meter drops emulation packets and
//! spares that quarter; a path without one treats both alike, and so do busy hosts. While data fills the link,
//! emulation packets overtake that quarter on a path that serves them first, and are lost on one that serves data
//! first.

use shallop_core::{BitsPerSec, Span};
use shallop_quic::path_probe::{CONTROL, ProbeCounts, ProbePlan};
use shallop_quic::{Config, Connection, QuicError};
use std::time::{Duration, Instant};

/// An emulation packet and its data packet on the wire, over IPv4, bits.
const PAIR_BITS: f64 = (84.0 + 1_538.0) * 8.0;
/// The multiple of the meter's rate at which emulation packets are sent to find the meter.
pub const ABOVE: f64 = 3.0;
/// The multiple of the meter's rate at which emulation packets are sent beside data.
pub const BELOW: f64 = 0.5;
/// The packets of a train, many times what a meter's queue of 8 packets and its burst hold.
const TRAIN: u32 = 200;
/// The most and the fewest trains of a test.
const TRAINS: (u32, u32) = (3, 20);
/// The time for all trains, if the rate allows more than the fewest.
const TIME: Duration = Duration::from_secs(1);
/// The time between two trains.
const PAUSE: Duration = Duration::from_millis(10);
/// The time to wait for answers after the last packet, besides twice the waiting time of credits.
const SETTLE: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_millis(5);
/// The least number of packets of each kind for a finding.
const LEAST: (u64, u64) = (200, 60);
/// The loss of emulation packets above that of the control group, of the packets that the hosts did not lose, which
/// shows a meter. Of trains that could show one, a meter drops 0.25 or more.
const METERED: f64 = 0.15;
/// The emulation packets that a meter passes at once: 8 of its queue and a burst of 2.
const QUEUE: f64 = 10.0;
/// A train could have shown a meter if the meter passes at most this fraction of its emulation packets.
const PASSED: f64 = 0.75;
/// The standard errors by which a difference is shown. Of 10^8 paths without a meter, one seems to have one.
const ERRORS: f64 = 6.0;
/// The largest loss of the control group with which the absence of a meter can be seen, and of emulation packets with
/// which it can be seen that they are served first.
const MOST_LOST: f64 = 0.3;
/// The loss of emulation packets beside data, above that of the control group, which shows that data is served first.
const STARVED: f64 = 0.02;
/// The largest such loss with which emulation packets are served first.
const NOT_STARVED: f64 = 0.01;

/// The emulation packets a second that a meter for a link of this rate passes.
pub fn meter_rate(link: BitsPerSec) -> f64 {
    link.get() as f64 / PAIR_BITS
}

/// The packets of a test at a multiple of the meter's rate.
fn plan(link: BitsPerSec, multiple: f64) -> ProbePlan {
    let gap = (1.0 - CONTROL) / (meter_rate(link) * multiple);
    let train = Duration::from_secs_f64((gap * f64::from(TRAIN)).min(TIME.as_secs_f64()));
    let fitting = TIME.as_secs_f64() / (train + PAUSE).as_secs_f64();
    let trains = (fitting as u32).clamp(TRAINS.0, TRAINS.1);
    let gap = Span::from_ns((gap * 1e9) as u64);
    ProbePlan { trains, packets: TRAIN, gap, pause: Span::from(PAUSE) }
}

/// Sends the packets of a test at a multiple of the meter's rate, and waits for their answers. Returns the counts of
/// each train; none if the peer answers no emulation packets.
///
/// # Errors
/// The connection is lost.
pub fn probe(connection: &Connection, config: &Config, multiple: f64) -> Result<Vec<ProbeCounts>, QuicError> {
    let settle = config.wait * 2 + SETTLE;
    if !connection.start_probe(plan(config.link, multiple)) {
        return Ok(Vec::new());
    }
    let mut over: Option<Instant> = None;
    loop {
        std::thread::sleep(LOOK);
        let Some((trains, is_over)) = connection.probed() else {
            return Err(QuicError::Lost("the connection has ended during a test".to_owned()));
        };
        let since = is_over.then(|| *over.get_or_insert_with(Instant::now));
        let sum = ProbeCounts::sum(&trains);
        let waits = [sum.emulation, sum.control].iter().any(|of| of.answered < of.sent);
        if since.is_some_and(|since| !waits || since.elapsed() >= settle) {
            return Ok(trains);
        }
    }
}

/// Whether a path meters emulation packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metering {
    /// The path dropped emulation packets and not those with the DSCP of data.
    Metered,
    /// The path passed emulation packets far above the meter's rate.
    Unmetered,
    /// No emulation packet was answered.
    Unanswered,
    /// This host could not send, or the peer could not receive, fast enough to see a meter.
    Slow,
    /// Too many packets of both kinds were lost, in the hosts or on the path.
    Lossy,
}

/// What the trains of a test above the meter's rate say.
pub fn metering(trains: &[ProbeCounts], link: BitsPerSec) -> Metering {
    let sum = ProbeCounts::sum(trains);
    if sum.emulation.answered == 0 && (sum.control.answered == 0 || is_enough(&sum)) {
        return Metering::Unanswered;
    }
    let shown = |sum: &ProbeCounts| sum.difference() / (1.0 - sum.control.loss()).max(0.01);
    if is_enough(&sum) && shown(&sum) >= METERED && sum.difference() >= ERRORS * sum.error() {
        return Metering::Metered;
    }
    // Packets that were answered at one instant have an unknown rate.
    let could_show = |of: &&ProbeCounts| {
        let seconds = of.seconds.max(of.answered_over);
        of.answered_over > 0.0 && QUEUE + meter_rate(link) * seconds <= PASSED * of.emulation.sent as f64
    };
    let fast: Vec<ProbeCounts> = trains.iter().filter(could_show).copied().collect();
    let fast = ProbeCounts::sum(&fast);
    if !is_enough(&fast) {
        return Metering::Slow;
    }
    let is_clear = fast.control.loss() <= MOST_LOST
        && fast.difference() + ERRORS / 2.0 * fast.error() < METERED * (1.0 - fast.control.loss());
    if is_clear { Metering::Unmetered } else { Metering::Lossy }
}

fn is_enough(sum: &ProbeCounts) -> bool {
    sum.emulation.sent >= LEAST.0 && sum.control.sent >= LEAST.1
}

/// Whether so many emulation packets were lost that those that arrived do not stand for all.
pub fn is_lossy(sum: &ProbeCounts) -> bool {
    sum.emulation.loss() > MOST_LOST
}

/// Which of both kinds a path serves first while data fills its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    EmulationFirst,
    DataFirst,
    /// No packets have overtaken others, or they were too few.
    Open,
}

/// What the trains of a test below the meter's rate say that were sent while data filled the link. If data did not fill
/// it, no packet has overtaken another.
pub fn order(trains: &[ProbeCounts]) -> Order {
    let sum = ProbeCounts::sum(trains);
    if !is_enough(&sum) {
        return Order::Open;
    }
    let (difference, error) = (sum.difference(), sum.error());
    if difference >= STARVED && difference >= ERRORS * error {
        Order::DataFirst
    } else if difference < NOT_STARVED && !is_lossy(&sum) && sum.overtaking() >= ERRORS {
        Order::EmulationFirst
    } else {
        Order::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::{Seed, Stream};
    use shallop_quic::path_probe::Answered;

    const LINK: BitsPerSec = BitsPerSec::at_least_one(100_000_000);

    /// A train whose emulation packets leave at `multiple` of the meter's rate. Of both kinds, emulation packets and
    /// those with the DSCP of data, these parts are answered, within a second after these times.
    fn train(multiple: f64, parts: [f64; 2], least: [f64; 2], random: &mut Stream) -> ProbeCounts {
        let mut of = |sent, kind: usize| {
            let mut of = Answered { sent, ..Answered::default() };
            for _ in 0..sent {
                if random.chance(parts[kind]) {
                    of.answer(least[kind] + random.unit());
                }
            }
            of
        };
        let (emulation, control) = (of(150, 0), of(50, 1));
        let seconds = 150.0 / (meter_rate(LINK) * multiple);
        ProbeCounts { emulation, control, seconds, answered_over: seconds }
    }

    fn trains(multiple: f64, parts: [f64; 2], least: [f64; 2], seed: u64) -> Vec<ProbeCounts> {
        let mut random = Seed::new(seed).stream("trains", 0);
        (0..20).map(|_| train(multiple, parts, least, &mut random)).collect()
    }

    #[test]
    fn a_meter_is_seen_only_where_emulation_packets_alone_are_dropped() {
        use Metering::{Lossy, Metered, Slow, Unanswered, Unmetered};
        for (multiple, emulation, control, found) in [
            (2.0, 0.57, 1.0, Metered),
            (2.0, 0.3, 0.5, Metered),
            (0.3, 0.5, 1.0, Metered),
            (2.0, 1.0, 1.0, Unmetered),
            (2.0, 0.9, 0.9, Unmetered),
            (2.0, 0.95, 0.75, Unmetered),
            (2.0, 0.55, 0.55, Lossy),
            (2.0, 0.1, 0.1, Lossy),
            (1.2, 1.0, 1.0, Slow),
            (0.3, 0.6, 0.6, Slow),
            (2.0, 0.0, 1.0, Unanswered),
            (2.0, 0.0, 0.0, Unanswered),
        ] {
            for seed in 0..200 {
                let trains = trains(multiple, [emulation, control], [0.0; 2], seed);
                assert_eq!(metering(&trains, LINK), found, "{emulation} {control} {seed}");
            }
        }
        assert_eq!(metering(&[], LINK), Unanswered);
    }

    #[test]
    fn no_path_is_without_a_meter_if_packets_arrived_more_slowly_than_one_and_a_half_times_its_rate() {
        use Metering::{Metered, Slow, Unmetered};
        let unhurt = trains(3.0, [1.0; 2], [0.0; 2], 1);
        let dropped = trains(3.0, [0.4, 1.0], [0.0; 2], 1);
        for (arrived, found) in [(2.9, Unmetered), (1.6, Unmetered), (1.4, Slow), (0.8, Slow), (f64::INFINITY, Slow)] {
            let answered_over = 150.0 / (meter_rate(LINK) * arrived);
            let at = |of: &[ProbeCounts]| -> Vec<ProbeCounts> {
                of.iter().map(|of| ProbeCounts { answered_over, ..*of }).collect()
            };
            assert_eq!(metering(&at(&unhurt), LINK), found, "{arrived}");
            assert_eq!(metering(&at(&dropped), LINK), Metered, "{arrived}");
        }
    }

    #[test]
    fn packets_with_losses_of_the_hosts_never_show_a_meter() {
        for seed in 0..3_000 {
            let mut random = Seed::new(seed).stream("hosts", 0);
            // Hosts lose a part of what they get, another one for each train.
            let all: Vec<ProbeCounts> = (0..20)
                .map(|_| {
                    let part = random.unit();
                    train(2.0, [part; 2], [0.0; 2], &mut random)
                })
                .collect();
            assert_ne!(metering(&all, LINK), Metering::Metered, "{seed}: {all:?}");
        }
    }

    #[test]
    fn the_order_is_seen_where_emulation_packets_are_lost_beside_data_or_overtake_it() {
        use Order::{DataFirst, EmulationFirst, Open};
        for (parts, later, found) in [
            ([1.0, 1.0], [0.0, 0.2], EmulationFirst),
            ([0.99, 0.9], [0.0, 0.2], EmulationFirst),
            ([1.0, 1.0], [0.0, 0.0], Open),
            ([1.0, 1.0], [0.2, 0.0], Open),
            ([0.4, 0.4], [0.0, 0.0], Open),
            ([0.45, 0.45], [0.0, 0.2], Open),
            ([0.5, 0.95], [0.0, 0.2], DataFirst),
            ([0.0, 0.9], [0.0, 0.0], DataFirst),
        ] {
            for seed in 0..200 {
                let trains = trains(0.5, parts, later, seed);
                assert_eq!(order(&trains), found, "{parts:?} {later:?} {seed}");
            }
        }
        assert_eq!(order(&[]), Open);
    }

    #[test]
    fn tests_take_a_second_and_more_only_on_slow_links() {
        for (mbps, above, below) in [(10, 13, 3), (100, 20, 20), (1_000, 20, 20)] {
            let link = BitsPerSec::at_least_one(mbps * 1_000_000);
            let trains = [ABOVE, BELOW].map(|multiple| plan(link, multiple).trains);
            assert_eq!(trains, [above, below], "{mbps}");
        }
        let gap = plan(LINK, ABOVE).gap.as_secs_f64();
        assert!((gap - 32.44e-6).abs() < 1e-8, "{gap}");
    }
}
