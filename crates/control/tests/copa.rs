//! Known answers of Copa, and when it takes others for buffer fillers.

mod support;

use shallop_control::copa::{Config, Copa, Mode};
use shallop_control::{Ack, Start, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use support::narrow::Narrow;
use support::{Course, SEGMENT, number, start, table};

/// A flow out of slow start, with this window, that has seen these delays: the shortest, then one that stands.
fn standing(config: &Config, window: f64, shortest: Span, now: Span) -> (Copa, Course) {
    let window = Bytes::new((SEGMENT.get() as f64 * window) as u64);
    let mut copa = Copa::new(config, &Start { window, ..start() });
    let mut course = Course::new(shortest);
    let mut tiny = |course: &Course, rtt| {
        let facts = course.facts(&copa, Bytes::ZERO);
        copa.on_ack(&Ack { rtt: Some(rtt), smoothed_rtt: shortest, ..facts });
    };
    tiny(&course, shortest);
    // A queue that lets it leave slow start whatever its window, then one as large as it is to be.
    course.now += shortest * 4;
    tiny(&course, shortest * 50);
    course.now += shortest * 12;
    course.rtt = now;
    tiny(&course, now);
    (copa, course)
}

/// One round trip; the first acknowledgement begins a round.
fn round(copa: &mut Copa, course: &mut Course) {
    let segments = copa.window().get() / SEGMENT.get();
    for nth in 0..segments {
        course.now += course.rtt / segments;
        let facts = course.facts(copa, SEGMENT);
        copa.on_ack(&Ack { round_start: nth == 0, ..facts });
    }
}

#[test]
fn a_flow_rests_where_its_rate_is_the_inverse_of_delta_times_the_queueing_delay() {
    for row in table(include_str!("../vectors/copa.csv")) {
        let [delta, shortest, now, window] = [0, 1, 2, 3].map(|field| number(row[field]));
        let [shortest, now] = [shortest, now].map(|us| Span::from_us(us as u64));
        for (part, grows) in [(0.998, true), (1.002, false)] {
            let config = Config { delta, ..Config::PAPER };
            let (mut copa, course) = standing(&config, window * part, shortest, now);
            let before = copa.segments();
            copa.on_ack(&course.facts(&copa, SEGMENT));
            assert_eq!(copa.segments() > before, grows, "{row:?}: {before}");
            let step = (copa.segments() - before).abs();
            assert!((step * before * delta - 1.0).abs() < 1e-6, "{row:?}: {step}");
        }
    }
}

#[test]
fn a_round_trip_moves_the_window_by_two_segments_at_delta_a_half() {
    let ms = Span::from_ms;
    for (queued, moved) in [(ms(0), 2.0), (ms(50), -2.0)] {
        let (mut copa, mut course) = standing(&Config::PAPER, 100.0, ms(100), ms(100) + queued);
        let before = copa.segments();
        round(&mut copa, &mut course);
        let change = copa.segments() - before;
        assert!((change - moved).abs() < 0.05, "{change} instead of {moved}");
    }
}

#[test]
fn the_velocity_doubles_after_three_more_round_trips_in_one_direction_and_is_not_kept_for_the_other()
 {
    let ms = Span::from_ms;
    let (mut copa, mut course) = standing(&Config::PAPER, 400.0, ms(100), ms(100));
    let velocity = |copa: &mut Copa, course: &mut Course| {
        round(copa, course);
        copa.velocity()
    };
    let up: Vec<_> = (0..9).map(|_| velocity(&mut copa, &mut course)).collect();
    assert_eq!(up, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    course.rtt = ms(150);
    // The delay that stands is that of half a round trip.
    let down: Vec<_> = (0..6).map(|_| velocity(&mut copa, &mut course)).collect();
    assert_eq!(down[1..], [1.0, 1.0, 1.0, 2.0, 4.0]);
}

#[test]
fn slow_start_doubles_until_the_target_is_exceeded() {
    let mut copa = Copa::new(&Config::PAPER, &start());
    let mut path = Narrow::new(BitsPerSec::at_least_one(100_000_000), Span::from_ms(10));
    let mut windows = vec![];
    while copa.is_slow_start() {
        path.round(&mut copa);
        windows.push(copa.segments());
    }
    assert!(windows.len() >= 4, "{windows:?}");
    let doubled = windows[2..5].iter().zip(&windows[1..]).map(|(after, before)| after / before);
    assert!(doubled.into_iter().all(|ratio| (1.9..=2.0).contains(&ratio)), "{windows:?}");
    let product = path.product().ratio(SEGMENT);
    let left = windows[windows.len() - 1];
    assert!((product..2.83 * product).contains(&left), "{windows:?} on a path of {product}");
}

#[test]
fn it_competes_when_the_queue_was_not_nearly_empty_for_five_round_trips() {
    let ms = Span::from_ms;
    for (mode, rounds) in [(Mode::Auto, 6), (Mode::Default, 99), (Mode::Competitive, 0)] {
        let config = Config { mode, ..Config::PAPER };
        let (mut copa, mut course) = standing(&config, 100.0, ms(100), ms(200));
        let mut passed = 0;
        while passed < 20 && !copa.is_competing() {
            round(&mut copa, &mut course);
            passed += 1;
        }
        assert_eq!(passed, rounds.min(20), "{mode:?}");
        if mode == Mode::Default {
            assert!((copa.delta() - 0.5).abs() < 1e-9);
            continue;
        }
        // Then 1 / delta grows by one each round trip,
        let inverse = 1.0 / copa.delta();
        (0..10).for_each(|_| round(&mut copa, &mut course));
        assert!((1.0 / copa.delta() - inverse - 10.0).abs() < 1e-9);
        // and is halved by a loss, in whose round trip it does not grow, down to what it is without competition.
        copa.on_loss(&course.loss(&copa));
        let halved = 1.0 / copa.delta();
        assert!((halved * 2.0 - inverse - 10.0).abs() < 1e-9);
        round(&mut copa, &mut course);
        assert!((1.0 / copa.delta() - halved).abs() < 1e-9);
        (0..9).for_each(|_| copa.on_loss(&course.loss(&copa)));
        assert!((copa.delta() - 0.5).abs() < 1e-9);
        // When the queue empties, it no longer competes.
        (0..3).for_each(|_| round(&mut copa, &mut course));
        course.rtt = ms(100);
        round(&mut copa, &mut course);
        assert_eq!(copa.is_competing(), mode == Mode::Competitive);
        assert_eq!((copa.delta() - 0.5).abs() < 1e-9, mode == Mode::Auto, "{}", copa.delta());
    }
}

#[test]
fn losses_and_marks_do_nothing_to_a_flow_that_does_not_compete() {
    let ms = Span::from_ms;
    let (mut copa, course) = standing(&Config::PAPER, 100.0, ms(100), ms(101));
    copa.on_loss(&course.loss(&copa));
    copa.on_mark(&course.loss(&copa));
    copa.on_recovery_exit(course.now);
    assert!((copa.segments() - 100.0).abs() < 1e-3 && (copa.delta() - 0.5).abs() < 1e-9);
}

#[test]
fn a_timeout_leaves_two_segments_and_slow_start() {
    let ms = Span::from_ms;
    let (mut copa, mut course) = standing(&Config::PAPER, 100.0, ms(100), ms(100));
    copa.on_rto(&course.loss(&copa), true);
    assert!((copa.segments() - 2.0).abs() < 1e-9 && copa.is_slow_start());
    round(&mut copa, &mut course);
    assert!((copa.segments() - 4.0).abs() < 1e-9);
}

#[test]
fn packets_leave_at_two_windows_a_standing_round_trip() {
    let ms = Span::from_ms;
    let mut copa = Copa::new(&Config::PAPER, &start());
    assert_eq!(copa.pacing(), None, "no round trip is known");
    copa.on_handshake(Time::ZERO, ms(100));
    let first = copa.pacing().map(BitsPerSec::get);
    assert_eq!(first, Some(2 * 10 * 1460 * 8 * 10));
    let (copa, _) = standing(&Config::PAPER, 50.0, ms(100), ms(200));
    let paced = copa.pacing().map_or(0.0, |pace| pace.get() as f64);
    assert!((paced / (2.0 * 50.0 * 1460.0 * 8.0 / 0.2) - 1.0).abs() < 1e-3, "{paced}");
}

#[test]
fn a_window_that_is_not_the_limit_does_not_grow() {
    let ms = Span::from_ms;
    let (mut copa, mut course) = standing(&Config::PAPER, 100.0, ms(100), ms(100));
    course.limited = false;
    (0..20).for_each(|_| round(&mut copa, &mut course));
    assert!((copa.segments() - 100.0).abs() < 1e-3 && copa.velocity() <= 1.0);
}
