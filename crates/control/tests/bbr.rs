//! Known answers of BBR, and what it makes of losses, of silence and of a path that is held empty.

mod support;

use shallop_control::bbr::{Bbr, Config, Mode};
use shallop_control::{Ack, Start, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use support::narrow::Narrow;
use support::{Course, SEGMENT, number, start, table};

fn rate(megabits: f64) -> BitsPerSec {
    BitsPerSec::at_least_one((megabits * 1e6) as u64)
}

fn pace(bbr: &Bbr) -> f64 {
    bbr.pacing().expect("BBR always paces").get() as f64 / 1e6
}

/// A flow that has settled on a path, at the beginning of a phase that cruises.
fn settled(config: &Config, rate: BitsPerSec, base: Span) -> (Bbr, Narrow) {
    let (mut bbr, mut path) = (Bbr::new(config, &start()), Narrow::new(rate, base));
    (0..60).for_each(|_| path.round(&mut bbr));
    while bbr.mode() != Mode::ProbeBandwidth(3) {
        path.segment(&mut bbr);
    }
    (bbr, path)
}

fn ten_ms() -> (Bbr, Narrow) {
    settled(&Config::LINUX, rate(100.0), Span::from_ms(10))
}

#[test]
fn the_first_pace_is_the_first_window_a_round_trip_times_the_high_gain() {
    for row in table(include_str!("../vectors/bbr_pacing.csv")) {
        let [window, segment, rtt, expected] = [0, 1, 2, 3].map(|field| number(row[field]));
        let segment = Bytes::new(segment as u64);
        let start = Start { segment, window: segment * window as u64, ..start() };
        let mut bbr = Bbr::new(&Config::LINUX, &start);
        if rtt > 0.0 {
            bbr.on_handshake(Time::ZERO, Span::from_us(rtt as u64));
        }
        assert!((pace(&bbr) / expected - 1.0).abs() < 1e-4, "{row:?}: {}", pace(&bbr));
    }
}

/// A round of a path that delivers at this rate, with a full path in flight.
fn round(bbr: &mut Bbr, now: Time, delivered: Bytes, megabits: f64) -> Bytes {
    let course = Course::new(Span::from_ms(10));
    let acked = rate(megabits).bytes_in(course.rtt);
    let (prior_delivered, delivered) = (delivered, delivered + acked);
    let sample = shallop_control::RateSample {
        delivered: acked,
        interval: course.rtt,
        prior_delivered,
        app_limited: false,
    };
    let facts = course.facts(bbr, acked);
    bbr.on_ack(&Ack { now, delivered, rate: Some(sample), in_flight: acked * 3, ..facts });
    delivered
}

#[test]
fn startup_ends_after_three_rounds_without_growth_by_a_quarter() {
    let mut last = (String::new(), Bbr::new(&Config::LINUX, &start()), Time::ZERO, Bytes::ZERO);
    for row in table(include_str!("../vectors/bbr_startup.csv")) {
        if last.0 != row[0] {
            let bbr = Bbr::new(&Config::LINUX, &start());
            last = (row[0].to_owned(), bbr, Time::ZERO, Bytes::ZERO);
        }
        let (_, bbr, now, delivered) = &mut last;
        *now += Span::from_ms(10);
        *delivered = round(bbr, *now, *delivered, number(row[1]));
        let expected = if row[2] == "1" { Mode::Drain } else { Mode::Startup };
        assert_eq!(bbr.mode(), expected, "{row:?}");
    }
}

#[test]
fn startup_never_slows_down() {
    let mut bbr = Bbr::new(&Config::LINUX, &start());
    let (mut now, mut delivered, mut before) = (Time::ZERO, Bytes::ZERO, 0.0);
    for megabits in [10.0, 20.0, 5.0, 1.0] {
        now += Span::from_ms(10);
        delivered = round(&mut bbr, now, delivered, megabits);
        assert!(bbr.mode() == Mode::Startup && pace(&bbr) >= before, "{megabits}: {before}");
        before = pace(&bbr);
    }
    assert!((before - 20.0 * 739.0 / 256.0 * 0.99).abs() < 0.01, "{before}");
}

#[test]
fn the_window_is_twice_the_product_with_room_for_bursts() {
    for row in table(include_str!("../vectors/bbr_window.csv")) {
        let [megabits, rtt, quantum, window] = [0, 1, 2, 3].map(|field| number(row[field]));
        let config = Config { send_quantum: Bytes::new(quantum as u64), ..Config::LINUX };
        let (bbr, _) = settled(&config, rate(megabits), Span::from_us(rtt as u64));
        assert!(
            (bbr.window().ratio(SEGMENT) - window).abs() < 1e-9,
            "{row:?}: {}",
            bbr.window().ratio(SEGMENT)
        );
        assert!((pace(&bbr) / megabits - 0.99).abs() < 1e-3, "{row:?}: {}", pace(&bbr));
    }
}

#[test]
fn a_cycle_of_eight_phases_takes_eight_round_trips_and_sends_what_the_path_carries() {
    let (mut bbr, mut path) = ten_ms();
    let (mut phases, mut gains, mut began) = (vec![3], vec![], path.now);
    while phases.len() < 33 {
        path.segment(&mut bbr);
        let Mode::ProbeBandwidth(phase) = bbr.mode() else { panic!("{:?}", bbr.mode()) };
        if phases.last() != Some(&phase) {
            let round_trips = (path.now - began).ratio(path.base);
            // The phase that drains may be shorter, the one that probes longer.
            assert!((0.2..1.6).contains(&round_trips), "{phases:?}: {round_trips}");
            (began, phases) = (path.now, [phases, vec![phase]].concat());
            gains.push(pace(&bbr) / 100.0);
        }
    }
    assert!(phases.windows(2).all(|pair| pair[1] == (pair[0] + 1) % 8), "{phases:?}");
    let (cycle, mean) = (&gains[..8], gains.iter().sum::<f64>() / gains.len() as f64);
    assert!((mean - 0.99).abs() < 1e-3, "{mean}: {cycle:?}");
    let elapsed = (path.now - Time::ZERO).ratio(path.base);
    let (mut bbr, mut path) = ten_ms();
    let settled = (path.now - Time::ZERO).ratio(path.base);
    assert!(((elapsed - settled) / 4.0 - 8.0).abs() < 0.5, "{elapsed} after {settled}");
    path.segment(&mut bbr);
}

#[test]
fn the_cycle_begins_anywhere_but_with_the_phase_that_drains() {
    let mut begun = [0; 8];
    for draw in 0..700 {
        let mut bbr = Bbr::new(&Config::LINUX, &Start { draw, ..start() });
        let mut path = Narrow::new(rate(10.0), Span::from_ms(10));
        loop {
            path.segment(&mut bbr);
            if let Mode::ProbeBandwidth(phase) = bbr.mode() {
                begun[phase] += 1;
                break;
            }
        }
    }
    assert_eq!(begun[1], 0);
    let fair = |&(phase, count): &(usize, &i32)| phase == 1 || (70..=130).contains(count);
    assert!(begun.iter().enumerate().all(|each| fair(&each)), "{begun:?}");
}

#[test]
fn the_round_trip_is_probed_for_a_fiftieth_of_the_time_and_the_rate_is_not_forgotten() {
    let (mut bbr, mut path) = settled(&Config::LINUX, rate(12.0), Span::from_ms(4));
    let (mut began, mut probes) = (None, vec![]);
    let mut before = bbr.window();
    while path.now < Time::after_start(Span::from_secs(45)) {
        path.segment(&mut bbr);
        let probing = bbr.mode() == Mode::ProbeRtt;
        match began {
            None if probing => began = Some(path.now),
            Some(at) if !probing => {
                assert!(bbr.window() >= before, "restored");
                probes.push((at, path.now - at));
                began = None;
            }
            Some(_) => assert_eq!(bbr.window(), SEGMENT * 4),
            None => before = bbr.window(),
        }
        let believed = bbr.believed().map_or(0.0, |rate| rate.get() as f64 / 12e6);
        assert!((0.999..1.01).contains(&believed), "{believed} at {:?}", path.now);
    }
    assert!(probes.len() == 4, "{probes:?}");
    for pair in probes.windows(2) {
        let every = pair[1].0 - pair[0].0;
        assert!((10.2..10.22).contains(&every.as_secs_f64()), "{probes:?}");
        let part = pair[0].1.ratio(every);
        assert!((0.0196..0.0205).contains(&part), "{part}: {probes:?}");
    }
}

#[test]
fn samples_the_application_limited_count_only_if_they_are_higher() {
    let (mut bbr, mut path) = ten_ms();
    path.limited = false;
    path.rate = rate(50.0);
    (0..30).for_each(|_| path.round(&mut bbr));
    let believed = |bbr: &Bbr| bbr.believed().map_or(0, BitsPerSec::get) / 1_000_000;
    assert_eq!(believed(&bbr), 100);
    path.rate = rate(200.0);
    (0..30).for_each(|_| path.round(&mut bbr));
    assert!(believed(&bbr) > 105, "{}", believed(&bbr));
}

#[test]
fn a_recovery_sends_what_arrives_for_a_round_then_grows_and_ends_with_the_window_it_began_with() {
    let (mut bbr, mut path) = ten_ms();
    let before = bbr.window();
    bbr.on_loss(&path.loss());
    assert_eq!(bbr.window(), before, "nothing happens before the acknowledgement is read");
    path.lose(3);
    let flight = path.in_flight;
    path.segment(&mut bbr);
    assert_eq!(bbr.window(), flight, "what was in flight: as much leaves as arrived");
    while path.delivered.get() % (flight.get() / 2) > SEGMENT.get() {
        path.segment(&mut bbr);
        assert!(bbr.window() <= flight);
    }
    // When the round is over the window grows by what is acknowledged, up to its target.
    (0..3).for_each(|_| path.round(&mut bbr));
    assert!(bbr.window() > flight + SEGMENT * 20, "{}", bbr.window().ratio(SEGMENT));
    // A further loss is taken off, then the end restores what was.
    path.lost = SEGMENT * 50;
    path.segment(&mut bbr);
    assert!(bbr.window() <= before - SEGMENT * 40);
    bbr.on_recovery_exit(path.now);
    path.segment(&mut bbr);
    assert!(bbr.window() + SEGMENT * 4 >= before, "{}", bbr.window().ratio(SEGMENT));
}

#[test]
fn a_timeout_leaves_one_segment_then_four_then_one_more_for_each_that_arrives() {
    let (mut bbr, mut path) = ten_ms();
    let (before, paced) = (bbr.window(), pace(&bbr));
    bbr.on_rto(&path.loss(), true);
    assert_eq!(bbr.window(), SEGMENT);
    path.in_flight = SEGMENT;
    path.lost = before;
    path.segment(&mut bbr);
    assert_eq!(bbr.window(), SEGMENT * 4);
    let mut windows = vec![];
    for _ in 0..5 {
        path.segment(&mut bbr);
        windows.push(bbr.window().ratio(SEGMENT));
    }
    assert_eq!(windows, [5.0, 6.0, 7.0, 8.0, 9.0]);
    assert!((pace(&bbr) / paced - 1.0).abs() < 0.27, "the model is as it was");
    bbr.on_recovery_exit(path.now);
    path.segment(&mut bbr);
    assert!(bbr.window() + SEGMENT * 4 >= before);
}

#[test]
fn marks_do_nothing() {
    let (mut bbr, path) = ten_ms();
    let before = (bbr.window(), bbr.pacing());
    bbr.on_mark(&path.loss());
    assert_eq!((bbr.window(), bbr.pacing()), before);
}

#[test]
fn after_a_silence_for_want_of_data_it_sends_at_the_rate_it_knows_and_does_not_probe_the_round_trip()
 {
    let (mut bbr, mut path) = ten_ms();
    while bbr.mode() != Mode::ProbeBandwidth(0) {
        path.segment(&mut bbr);
    }
    assert!((pace(&bbr) - 123.75).abs() < 0.1);
    bbr.on_restart(path.now, false);
    assert!((pace(&bbr) - 123.75).abs() < 0.1, "it was not for want of data");
    path.now += Span::from_secs(20);
    bbr.on_restart(path.now, true);
    assert!((pace(&bbr) - 99.0).abs() < 0.1, "{}", pace(&bbr));
    path.in_flight = SEGMENT * 10;
    path.segment(&mut bbr);
    assert!(matches!(bbr.mode(), Mode::ProbeBandwidth(_)), "{:?}", bbr.mode());
}

#[test]
fn a_policers_rate_is_kept_to_for_48_rounds() {
    // The most rounds in a row at one pace, on a path that loses a segment for each four it delivers.
    let longest = |policer| {
        let config = Config { policer, ..Config::LINUX };
        let (mut bbr, mut path) = settled(&config, rate(20.0), Span::from_ms(10));
        let (mut longest, mut since, mut last) = (Bytes::ZERO, Bytes::ZERO, 0.0);
        for _ in 0..200 * path.product().get() / SEGMENT.get() {
            path.lost = SEGMENT / 4;
            path.segment(&mut bbr);
            if (pace(&bbr) - last).abs() > 0.01 {
                (since, last) = (path.delivered, pace(&bbr));
            }
            longest = longest.max(path.delivered - since);
        }
        longest.ratio(path.product())
    };
    let (with, without) = (longest(true), longest(false));
    assert!((46.0..54.0).contains(&with) && without < 7.0, "{with} and {without}");
}
