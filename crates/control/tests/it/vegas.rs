//! Vegas: known answers of its window update, and the cwnd at which a flow settles.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::vegas::{Clock, Config, diff};
use shallop_control::{Ack, Start, Vegas, Window};
use shallop_core::{Bytes, Span};

const BASE_RTT: Span = Span::from_us(100);
/// Transmission time of a packet of 1500 B at 10 Gb/s.
const PACKET_TIME: Span = Span::from_ns(1_200);

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

/// Runs round trips through a bottleneck of 10 Gb/s, where cwnd determines the RTT. Returns cwnd after each.
fn through_bottleneck(vegas: &mut Vegas, path: &mut FixedRtt, rounds: usize) -> Vec<u64> {
    let one_round = |_| {
        path.rtt = BASE_RTT.max(PACKET_TIME * packets(vegas));
        round(vegas, path);
        packets(vegas)
    };
    (0..rounds).map(one_round).collect()
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
fn cwnd_grows_by_one_per_round_trip_without_a_queue() {
    for clock in [Clock::Exact, Clock::Microseconds] {
        let (mut vegas, mut path) = vegas(&config(clock), 20, SEGMENT);
        path.segment(&mut vegas);
        for rounds in 1..=30 {
            round(&mut vegas, &mut path);
            assert_eq!(packets(&vegas), 20 + rounds);
        }
    }
}

/// The constant cwnd of a flow in the last 20 of `rounds` round trips through the bottleneck.
fn settled_cwnd(config: &Config, initial: u64, rounds: usize) -> u64 {
    let (mut vegas, mut path) = vegas(config, initial, SEGMENT);
    path.segment(&mut vegas);
    let cwnds = through_bottleneck(&mut vegas, &mut path, rounds);
    let last = cwnds[rounds - 1];
    assert_eq!(cwnds[rounds - 20..], [last; 20], "from {initial}: {cwnds:?}");
    last
}

#[test]
fn a_single_flow_settles_with_2_7_to_4_7_packets_queued() {
    // The bandwidth-delay product is 83.3 packets: a cwnd of 86, 87 or 88 stays.
    for initial in [40, 85, 87, 120] {
        for clock in [Clock::Exact, Clock::Microseconds] {
            let cwnd = settled_cwnd(&config(clock), initial, 80);
            assert!((86..=88).contains(&cwnd), "{cwnd}");
        }
    }
}

#[test]
fn with_alpha_and_beta_ten_times_as_large_ten_times_as_many_packets_are_queued() {
    let ten = Config { alpha: 20, beta: 40, gamma: 10, ..config(Clock::Exact) };
    for initial in [40, 160] {
        let cwnd = settled_cwnd(&ten, initial, 120);
        let diff = diff(cwnd, 100_000, cwnd * 1_200);
        assert!((20..=40).contains(&diff), "{diff}");
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
fn cwnd_does_not_grow_while_the_sender_is_app_limited() {
    let (mut vegas, mut path) = vegas(&config(Clock::Exact), 20, SEGMENT);
    path.is_cwnd_limited = false;
    (0..30).for_each(|_| round(&mut vegas, &mut path));
    assert_eq!(packets(&vegas), 20);
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
