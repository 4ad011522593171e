//! Vegas: known answers of its window update, and the cwnd at which a flow settles.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::vegas::{Clock, Config, diff};
use shallop_control::{Ack, Start, Vegas, Window};
use shallop_core::{Bytes, Span};

const BASE_RTT: Span = Span::from_us(100);

fn config(clock: Clock) -> Config {
    Config { clock, ..Config::EXACT }
}

/// Vegas with this cwnd in packets and this ssthresh.
fn vegas(config: &Config, cwnd: u64, initial_ssthresh: Bytes) -> (Vegas, FixedRtt) {
    let start = Start { initial_window: SEGMENT * cwnd, initial_ssthresh, ..start() };
    (Vegas::new(config, &start), FixedRtt::new(BASE_RTT))
}

fn packets(window: &impl Window) -> u64 {
    window.window().get() / SEGMENT.get()
}

/// Acknowledges one window. Its last ACK ends a round trip of Vegas if the ACK of an earlier segment began that round
/// trip.
fn round(vegas: &mut Vegas, path: &mut FixedRtt) {
    for _ in 0..packets(vegas) {
        path.segment(vegas);
    }
}

#[test]
fn cwnd_stays_with_two_to_four_packets_queued_and_changes_by_one_otherwise() {
    for row in table(include_str!("../../vectors/vegas.csv")) {
        let clock = if row[0] == "exact" { Clock::Exact } else { Clock::Microseconds };
        let [cwnd, rtt, diff, next_cwnd] = [1, 2, 3, 4].map(|field| number(row[field]) as u64);
        let (mut vegas, mut path) = vegas(&config(clock), cwnd, SEGMENT);
        // One packet without a queue, then a round trip with the RTT of the table.
        path.segment(&mut vegas);
        path.rtt = Span::from_ns(rtt);
        round(&mut vegas, &mut path);
        assert_eq!(packets(&vegas), next_cwnd, "{row:?}");
        let ticks = |ns: u64| if row[0] == "exact" { ns } else { ns / 1_000 + 1 };
        assert_eq!(self::diff(cwnd, ticks(100_000), ticks(rtt)), diff, "{row:?}");
    }
}

#[test]
fn slow_start_ends_at_the_bandwidth_delay_product_when_more_than_gamma_packets_are_queued() {
    let (mut vegas, mut path) = vegas(&config(Clock::Exact), 64, Bytes::MAX);
    path.segment(&mut vegas);
    let before = packets(&vegas);
    path.rtt = Span::from_us(120);
    while packets(&vegas) >= before && vegas.slow_start_threshold() == Bytes::MAX {
        path.segment(&mut vegas);
    }
    // The round trip ends with the 64th ACK after the first. Each of the 63 ACKs before it adds a packet.
    let grown = before + 63;
    let target = grown * 100 / 120 + 1;
    assert_eq!((packets(&vegas), vegas.slow_start_threshold()), (target, SEGMENT * target));
}

#[test]
fn a_round_trip_with_two_rtt_samples_grows_like_reno() {
    // Every ACK is of two segments, so a small cwnd yields one or two samples and grows at any RTT.
    let (mut vegas, mut path) = vegas(&config(Clock::Exact), 3, SEGMENT);
    path.segment(&mut vegas);
    path.rtt = Span::from_ms(1);
    let mut cwnds = vec![];
    for _ in 0..4 {
        path.snd_una += 2 * SEGMENT.get();
        let ack = path.ack(&vegas, SEGMENT * 2);
        vegas.on_ack(&ack);
        cwnds.push(packets(&vegas));
    }
    assert_eq!(cwnds, [3, 4, 4, 4], "the bytes of two ACKs make up one window of three segments");
    let (mut vegas, mut path) = self::vegas(&config(Clock::Exact), 4, SEGMENT);
    path.segment(&mut vegas);
    path.rtt = Span::from_ms(1);
    (0..4).for_each(|_| path.segment(&mut vegas));
    assert_eq!(packets(&vegas), 3, "four samples of a high RTT");
}

#[test]
fn a_cwnd_that_one_ack_covers_grows_like_reno() {
    // After a loss cwnd is two segments, which one ACK covers: nothing is in flight after it, and the round trip has
    // one sample (kernel: `tcp_reno_cong_avoid`).
    let (mut vegas, mut path) = vegas(&config(Clock::Exact), 4, SEGMENT);
    path.snd_una = 4 * SEGMENT.get();
    vegas.on_loss(&path.loss(&vegas));
    vegas.on_recovery_exit(path.now);
    let mut states = vec![];
    for _ in 0..3 {
        path.snd_una += 2 * SEGMENT.get();
        let ack = path.ack(&vegas, SEGMENT * 2);
        states.push((ack.in_flight.get() / SEGMENT.get(), packets(&vegas)));
        vegas.on_ack(&ack);
    }
    assert_eq!(states, [(0, 2), (0, 2), (1, 3)], "the first ACK begins a round trip");
}

#[test]
fn rtt_samples_before_a_loss_or_mark_are_discarded() {
    for marks in [false, true] {
        let (mut vegas, mut path) = vegas(&config(Clock::Exact), 40, SEGMENT);
        path.segment(&mut vegas);
        path.rtt = Span::from_ms(1);
        (0..39).for_each(|_| path.segment(&mut vegas));
        let loss = path.loss(&vegas);
        if marks {
            vegas.on_mark(&loss);
        } else {
            vegas.on_loss(&loss);
        }
        assert_eq!(packets(&vegas), 20, "halved as by Reno");
        // cwnd stays during recovery, and a whole round trip begins afterwards.
        for _ in 0..40 {
            path.snd_una += SEGMENT.get();
            let ack = path.ack(&vegas, SEGMENT);
            vegas.on_ack(&Ack { in_cwnd_reduction: true, ..ack });
        }
        vegas.on_recovery_exit(path.now);
        path.rtt = BASE_RTT;
        (0..20).for_each(|_| path.segment(&mut vegas));
        assert_eq!(packets(&vegas), 20);
        path.segment(&mut vegas);
        assert_eq!(packets(&vegas), 21, "grows for the RTT after recovery, not the one before");
    }
}

#[test]
fn base_rtt_is_measured_again_after_idle_or_an_rto() {
    for idle in [true, false] {
        let (mut vegas, mut path) = vegas(&config(Clock::Exact), 10, SEGMENT);
        round(&mut vegas, &mut path);
        path.rtt = Span::from_us(200);
        if idle {
            vegas.on_idle(Span::from_secs(1));
        } else {
            vegas.on_rto(&path.loss(&vegas), true);
            assert_eq!(packets(&vegas), 1);
            // Until the data before the RTO is acknowledged cwnd grows as Reno's: slow start up to ssthresh, five
            // packets, then one packet per round trip.
            (0..4).for_each(|_| path.segment(&mut vegas));
            assert_eq!(packets(&vegas), 5);
            vegas.on_recovery_exit(path.now);
        }
        let before = packets(&vegas);
        (0..3).for_each(|_| round(&mut vegas, &mut path));
        assert!(packets(&vegas) > before, "base_rtt is 200 us now");
    }
}

#[test]
fn an_rtt_of_zero_counts_as_one_tick() {
    for clock in [Clock::Exact, Clock::Microseconds] {
        let (mut vegas, mut path) = vegas(&config(clock), 10, SEGMENT);
        path.rtt = Span::ZERO;
        (0..5).for_each(|_| round(&mut vegas, &mut path));
        assert!(packets(&vegas) > 10);
    }
}
