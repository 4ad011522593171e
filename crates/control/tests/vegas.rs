//! Vegas: known answers of its evaluations, and where it comes to rest.

mod support;

use shallop_control::vegas::{Clock, Config, queued};
use shallop_control::{Ack, Start, Vegas, Window};
use shallop_core::{Bytes, Span};
use support::{Course, SEGMENT, number, start, table};

const BASE: Span = Span::from_us(100);
/// The time a packet of 1500 B takes at 10 Gb/s.
const PACKET: Span = Span::from_ns(1_200);

fn config(clock: Clock) -> Config {
    Config { clock, ..Config::EXACT }
}

fn vegas(config: &Config, window: u64, threshold: Bytes) -> (Vegas, Course) {
    let vegas = Vegas::new(config, &Start { window: SEGMENT * window, threshold, ..start() });
    (vegas, Course::new(BASE))
}

fn packets(window: &impl Window) -> u64 {
    window.window().get() / SEGMENT.get()
}

/// A window is acknowledged. After a first segment, whose acknowledgement begins a round, the last one ends it.
fn round(vegas: &mut Vegas, course: &mut Course) {
    for _ in 0..packets(vegas) {
        course.segment(vegas);
    }
}

/// Round trips through a link of 10 Gb/s, each as long as the window before makes it. Gives the window after each.
fn through_link(vegas: &mut Vegas, course: &mut Course, rounds: usize) -> Vec<u64> {
    let turn = |_| {
        course.rtt = BASE.max(PACKET * packets(vegas));
        round(vegas, course);
        packets(vegas)
    };
    (0..rounds).map(turn).collect()
}

#[test]
fn windows_with_two_to_four_packets_queued_stay_and_others_move_by_one() {
    for row in table(include_str!("../vectors/vegas.csv")) {
        let clock = if row[0] == "exact" { Clock::Exact } else { Clock::Microseconds };
        let [window, rtt, queued, next] = [1, 2, 3, 4].map(|field| number(row[field]) as u64);
        let (mut vegas, mut course) = vegas(&config(clock), window, SEGMENT);
        // One packet through the empty path, then a round as long as the table says.
        course.segment(&mut vegas);
        course.rtt = Span::from_ns(rtt);
        round(&mut vegas, &mut course);
        assert_eq!(packets(&vegas), next, "{row:?}");
        let ticks = |ns: u64| if row[0] == "exact" { ns } else { ns / 1_000 + 1 };
        assert_eq!(self::queued(window, ticks(100_000), ticks(rtt)), queued, "{row:?}");
    }
}

#[test]
fn with_an_empty_queue_the_window_grows_by_one_each_round_trip() {
    for clock in [Clock::Exact, Clock::Microseconds] {
        let (mut vegas, mut course) = vegas(&config(clock), 20, SEGMENT);
        course.segment(&mut vegas);
        for more in 1..=30 {
            round(&mut vegas, &mut course);
            assert_eq!(packets(&vegas), 20 + more);
        }
    }
}

/// The window that a flow through the link has kept for the last twenty of so many round trips.
fn rest(config: &Config, from: u64, rounds: usize) -> u64 {
    let (mut vegas, mut course) = vegas(config, from, SEGMENT);
    course.segment(&mut vegas);
    let windows = through_link(&mut vegas, &mut course, rounds);
    let last = windows[rounds - 1];
    assert_eq!(windows[rounds - 20..], [last; 20], "from {from}: {windows:?}");
    last
}

#[test]
fn a_lone_flow_comes_to_rest_with_2_7_to_4_7_packets_queued() {
    // The path holds 83.3 packets: windows of 86, 87 and 88 stay.
    for from in [40, 85, 87, 120] {
        for clock in [Clock::Exact, Clock::Microseconds] {
            let window = rest(&config(clock), from, 80);
            assert!((86..=88).contains(&window), "{window}");
        }
    }
}

#[test]
fn ten_times_the_packets_rest_with_ten_times_the_queue() {
    let ten = Config { alpha: 20, beta: 40, gamma: 10, ..config(Clock::Exact) };
    for from in [40, 160] {
        let window = rest(&ten, from, 120);
        let queued = queued(window, 100_000, window * 1_200);
        assert!((20..=40).contains(&queued), "{queued}");
    }
}

#[test]
fn slow_start_ends_where_more_than_a_packet_is_queued_at_what_the_path_holds() {
    let (mut vegas, mut course) = vegas(&config(Clock::Exact), 64, Bytes::MAX);
    course.segment(&mut vegas);
    let before = packets(&vegas);
    course.rtt = Span::from_us(120);
    // The first acknowledgements are of the round before; in slow start each of them adds a packet.
    while packets(&vegas) >= before && vegas.slow_start_threshold() == Bytes::MAX {
        course.segment(&mut vegas);
    }
    // A round of 64 packets ends with the 64th after the first; by then the window has grown by as many.
    let grown = before + 63;
    let fits = grown * 100 / 120 + 1;
    assert_eq!((packets(&vegas), vegas.slow_start_threshold()), (fits, SEGMENT * fits));
}

#[test]
fn a_round_of_two_samples_is_renos() {
    // Two segments an acknowledgement: a window of two gives one sample, and grows whatever the delay is.
    let (mut vegas, mut course) = vegas(&config(Clock::Exact), 3, SEGMENT);
    course.segment(&mut vegas);
    course.rtt = Span::from_ms(1);
    let mut windows = vec![];
    for _ in 0..4 {
        course.una += 2 * SEGMENT.get();
        let facts = course.facts(&vegas, SEGMENT * 2);
        vegas.on_ack(&facts);
        windows.push(packets(&vegas));
    }
    assert_eq!(windows, [3, 4, 4, 4], "two samples in the first round, and credit for a segment");
    let (mut vegas, mut course) = self::vegas(&config(Clock::Exact), 4, SEGMENT);
    course.segment(&mut vegas);
    course.rtt = Span::from_ms(1);
    (0..4).for_each(|_| course.segment(&mut vegas));
    assert_eq!(packets(&vegas), 3, "four samples of a long delay");
}

#[test]
fn a_window_that_one_acknowledgement_empties_grows_as_renos() {
    // After a loss the window is of two segments, which one acknowledgement tells of: nothing is in flight after it
    // (kernel: a round of one sample, `tcp_reno_cong_avoid`).
    let (mut vegas, mut course) = vegas(&config(Clock::Exact), 4, SEGMENT);
    course.una = 4 * SEGMENT.get();
    vegas.on_loss(&course.loss(&vegas));
    vegas.on_recovery_exit(course.now);
    let mut windows = vec![];
    for _ in 0..3 {
        course.una += 2 * SEGMENT.get();
        let facts = course.facts(&vegas, SEGMENT * 2);
        windows.push((facts.in_flight.get() / SEGMENT.get(), packets(&vegas)));
        vegas.on_ack(&facts);
    }
    assert_eq!(windows, [(0, 2), (0, 2), (1, 3)], "the first begins a round");
}

#[test]
fn what_was_measured_before_a_loss_or_a_mark_is_not_used_after_it() {
    for marks in [false, true] {
        let (mut vegas, mut course) = vegas(&config(Clock::Exact), 40, SEGMENT);
        course.segment(&mut vegas);
        course.rtt = Span::from_ms(1);
        (0..39).for_each(|_| course.segment(&mut vegas));
        let loss = course.loss(&vegas);
        if marks {
            vegas.on_mark(&loss);
        } else {
            vegas.on_loss(&loss);
        }
        assert_eq!(packets(&vegas), 20, "as Reno");
        // While it is repaired nothing moves, and the round that begins afterwards is a whole one.
        for _ in 0..40 {
            course.una += SEGMENT.get();
            let facts = course.facts(&vegas, SEGMENT);
            vegas.on_ack(&Ack { recovering: true, ..facts });
        }
        vegas.on_recovery_exit(course.now);
        course.rtt = BASE;
        (0..20).for_each(|_| course.segment(&mut vegas));
        assert_eq!(packets(&vegas), 20);
        course.segment(&mut vegas);
        assert_eq!(packets(&vegas), 21, "by the delay since, not by the one before");
    }
}

#[test]
fn a_silence_and_a_timeout_make_it_measure_the_path_anew() {
    for silent in [true, false] {
        let (mut vegas, mut course) = vegas(&config(Clock::Exact), 10, SEGMENT);
        round(&mut vegas, &mut course);
        course.rtt = Span::from_us(200);
        if silent {
            vegas.on_idle(Span::from_secs(1));
        } else {
            vegas.on_rto(&course.loss(&vegas), true);
            assert_eq!(packets(&vegas), 1);
            // Until what was lost is acknowledged it is Reno: slow start to five, then one a round trip.
            (0..4).for_each(|_| course.segment(&mut vegas));
            assert_eq!(packets(&vegas), 5);
            vegas.on_recovery_exit(course.now);
        }
        let before = packets(&vegas);
        (0..3).for_each(|_| round(&mut vegas, &mut course));
        assert!(packets(&vegas) > before, "200 us is the empty path now");
    }
}

#[test]
fn a_window_that_is_not_the_limit_does_not_grow() {
    let (mut vegas, mut course) = vegas(&config(Clock::Exact), 20, SEGMENT);
    course.limited = false;
    (0..30).for_each(|_| round(&mut vegas, &mut course));
    assert_eq!(packets(&vegas), 20);
}

#[test]
fn a_path_without_delay_has_a_length() {
    for clock in [Clock::Exact, Clock::Microseconds] {
        let (mut vegas, mut course) = vegas(&config(clock), 10, SEGMENT);
        course.rtt = Span::ZERO;
        (0..5).for_each(|_| round(&mut vegas, &mut course));
        assert!(packets(&vegas) > 10);
    }
}
