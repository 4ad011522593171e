//! Known answers: what theory or the standards say a window must be.

mod support;

use shallop_control::any::{AnyWindow, Config};
use shallop_control::options::Host;
use shallop_control::{
    Ack, Cubic, Loss, Reno, Start, Window, cubic, dctcp, gemini, hystart, reno, vegas,
};
use shallop_core::{Bytes, Span};
use support::{Course, SEGMENT, number, start, table};

fn segments(window: &impl Window) -> f64 {
    window.window().ratio(SEGMENT)
}

/// A CUBIC of this form whose window was `from` segments when a loss was found.
fn cubic_after_loss_at(from: f64, config: cubic::Config) -> (Cubic, Course) {
    let window = Bytes::new((SEGMENT.get() as f64 * from) as u64);
    let start = Start { window, threshold: window, ..start() };
    let mut cubic = Cubic::new(&config, &start);
    let course = Course::new(Span::from_us(1));
    cubic.on_loss(&course.loss(&cubic));
    (cubic, course)
}

const PLAIN: cubic::Config = cubic::Config {
    reno_friendly: false,
    slow_start: hystart::Config::STANDARD,
    ..cubic::Config::RFC
};

#[test]
fn cubic_follows_its_curve() {
    for row in table(include_str!("../vectors/cubic.csv")) {
        let [peak, delay, time, window] = [0, 1, 2, 3].map(|field| number(row[field]));
        let (mut cubic, mut course) = cubic_after_loss_at(peak, PLAIN);
        assert!((cubic.peak() - peak).abs() < 1e-9);
        // Acknowledgements every tenth of a millisecond, each of enough to let the window follow the curve.
        let steps = (time * 1e4) as u64;
        for _ in 0..steps {
            course.now += Span::from_us(100);
            let ack = course.facts(&cubic, cubic.window());
            cubic.on_ack(&ack);
        }
        let error = (cubic.segments() - window).abs() / window;
        assert!(error < 1e-3, "{} instead of {window} after {time} of {delay} s", cubic.segments());
    }
}

#[test]
fn mean_windows_under_regular_loss_are_those_of_theory() {
    for row in table(include_str!("../vectors/mean_window.csv")) {
        let [rtt, loss, expected] = [1, 2, 3].map(|field| number(row[field]));
        let config = match row[0] {
            "reno" => Config::Reno(reno::Config::RFC),
            _ => Config::Cubic(cubic::Config {
                slow_start: hystart::Config::STANDARD,
                ..cubic::Config::RFC
            }),
        };
        let near = SEGMENT * (expected * 1.2) as u64;
        let mut window = config.build(&Start { window: near, threshold: near, ..start() });
        let mut course = Course::new(Span::from_us(rtt as u64));
        let every = (1.0 / loss).round() as u64;
        let mean = course.mean_window(&mut window, every, (400_000 / every).clamp(8, 40));
        assert!((mean / expected - 1.0).abs() < 0.05, "{row:?}: {mean}");
    }
}

#[test]
fn a_second_loss_below_the_peak_lowers_the_peak_further() {
    let (mut cubic, mut course) = cubic_after_loss_at(100.0, PLAIN);
    while cubic.segments() < 80.0 {
        course.segment(&mut cubic);
    }
    cubic.on_loss(&course.loss(&cubic));
    assert!((cubic.peak() - 68.0).abs() < 0.01, "{}", cubic.peak());
    assert!((cubic.segments() - 56.0).abs() < 0.01, "{}", cubic.segments());
}

#[test]
fn the_papers_beta_keeps_four_fifths() {
    let (cubic, _) = cubic_after_loss_at(100.0, cubic::Config { decrease: 0.8, ..PLAIN });
    assert!((cubic.segments() - 80.0).abs() < 1e-9);
}

#[test]
fn linux_measures_a_reduction_by_the_window_and_the_rfc_by_what_was_in_flight() {
    let window = |config: cubic::Config| {
        let start = Start { window: SEGMENT * 100, ..start() };
        let mut cubic = Cubic::new(&config, &start);
        cubic.on_loss(&Course::new(Span::from_ms(1)).loss_of(SEGMENT * 50));
        cubic.segments()
    };
    assert!((window(cubic::Config::RFC) - 35.0).abs() < 1e-9);
    assert!((window(cubic::Config::LINUX) - 70.02).abs() < 0.01);
}

#[test]
fn one_segment_is_the_least_after_a_mark_and_two_after_a_loss() {
    for config in [Config::Reno(reno::Config::RFC), Config::Cubic(cubic::Config::RFC)] {
        let shrunk = |by: fn(&mut AnyWindow, &Loss)| {
            let mut window = config.build(&Start { window: SEGMENT, ..start() });
            let loss = Course::new(Span::from_ms(1)).loss(&window);
            by(&mut window, &loss);
            (segments(&window), window.slow_start_threshold().ratio(SEGMENT))
        };
        assert_eq!(shrunk(AnyWindow::on_loss), (2.0, 2.0));
        assert_eq!(shrunk(AnyWindow::on_mark), (1.0, 2.0));
        assert_eq!(shrunk(|window, loss| window.on_rto(loss, true)), (1.0, 2.0));
    }
}

#[test]
fn one_window_of_data_shrinks_the_window_once() {
    for config in [Config::Reno(reno::Config::RFC), Config::Cubic(cubic::Config::RFC)] {
        let mut window = config.build(&Start { window: SEGMENT * 40, ..start() });
        let course = Course::new(Span::from_ms(10));
        window.on_mark(&course.loss(&window));
        let marked = window.window();
        window.on_loss(&Loss { after_mark: true, ..course.loss(&window) });
        assert_eq!(window.window(), marked);
    }
}

#[test]
fn a_window_that_is_not_the_limit_does_not_grow_and_the_curve_waits() {
    let (mut cubic, mut course) = cubic_after_loss_at(100.0, PLAIN);
    course.rtt = Span::from_ms(1);
    course.round(&mut cubic);
    let before = cubic.segments();
    course.limited = false;
    (0..30_000).for_each(|_| course.round(&mut cubic));
    assert!((cubic.segments() - before).abs() < 1e-9, "{} seconds later", course.now);
    course.limited = true;
    course.round(&mut cubic);
    assert!((cubic.segments() - before) < 0.1, "{} against {before}", cubic.segments());
}

#[test]
fn a_timeout_repeated_for_the_same_byte_keeps_the_threshold() {
    let mut reno = Reno::new(&reno::Config::RFC, &Start { window: SEGMENT * 40, ..start() });
    let course = Course::new(Span::from_ms(10));
    reno.on_rto(&course.loss(&reno), true);
    reno.on_rto(&course.loss(&reno), false);
    assert_eq!((segments(&reno), reno.slow_start_threshold()), (1.0, SEGMENT * 20));
}

#[test]
fn slow_start_doubles_and_hands_the_rest_to_congestion_avoidance() {
    let mut reno = Reno::new(&reno::Config::LINUX, &Start { threshold: SEGMENT * 64, ..start() });
    let mut course = Course::new(Span::from_ms(10));
    let mut windows = vec![];
    for _ in 0..5 {
        course.round(&mut reno);
        windows.push(segments(&reno));
    }
    assert_eq!(windows, [20.0, 40.0, 64.0, 65.0, 66.0]);
}

#[test]
fn a_stretched_acknowledgement_adds_one_segment_by_the_rfc_and_all_in_linux() {
    let grown = |config| {
        let mut reno = Reno::new(&config, &start());
        reno.on_ack(&Course::new(Span::from_ms(10)).facts(&reno, SEGMENT * 4));
        segments(&reno)
    };
    assert_eq!((grown(reno::Config::RFC), grown(reno::Config::LINUX)), (11.0, 14.0));
}

#[test]
fn cubic_grows_by_no_more_than_half_in_a_round_trip() {
    let (mut cubic, mut course) = cubic_after_loss_at(100.0, cubic::Config { scale: 1e6, ..PLAIN });
    course.rtt = Span::from_ms(100);
    for _ in 0..5 {
        let before = cubic.segments();
        course.round(&mut cubic);
        assert!(cubic.segments() <= before * 1.5, "{before} to {}", cubic.segments());
        assert!(cubic.segments() > before * 1.45);
    }
}

#[test]
fn after_a_silence_ns_2_has_the_first_window_and_others_no_more_than_they_had() {
    let after = |host| {
        let mut reno = Reno::new(&reno::Config::of(host), &start());
        reno.on_rto(&Course::new(Span::from_ms(1)).loss(&reno), true);
        let before = segments(&reno);
        reno.on_idle(Span::from_secs(1));
        (before, segments(&reno))
    };
    let first = segments(&Reno::new(&reno::Config::RFC, &start()));
    assert_eq!(after(Host::Ns2), (1.0, first));
    assert_eq!(after(Host::Linux), (1.0, 1.0));
    assert!(first > 1.0, "{first}");
}

/// Slow start over round trips of these lengths; gives the window after each and whether slow start is over.
fn slow_start_over(exit: hystart::Exit, rtts: &[Span]) -> Vec<(u64, bool)> {
    let slow_start = hystart::Config { limit: 8, exit };
    let mut reno = Reno::new(&reno::Config { slow_start, ..reno::Config::RFC }, &start());
    let mut course = Course::new(rtts[0]);
    let round = |&rtt: &Span| {
        course.rtt = rtt;
        course.round(&mut reno);
        (segments(&reno) as u64, reno.slow_start_threshold() < Bytes::MAX)
    };
    rtts.iter().map(round).collect()
}

#[test]
fn hystart_plus_plus_slows_down_when_the_delay_rises_by_an_eighth_and_stops_five_rounds_later() {
    let ms = Span::from_ms;
    let calm = slow_start_over(hystart::Exit::PlusPlus, &[ms(100), ms(100), ms(112), ms(112)]);
    assert_eq!(calm.last(), Some(&(160, false)), "12 ms is below the threshold of 12.5");
    // The first acknowledgements of a round trip are still of the round before, so the rise shows in the second.
    let risen = [100, 100, 113, 113, 113, 113, 113, 113, 113].map(ms);
    let windows = slow_start_over(hystart::Exit::PlusPlus, &risen);
    let grown: Vec<_> = windows.iter().map(|&(window, _)| window).take(6).collect();
    assert_eq!(grown, [20, 40, 80, 100, 125, 157], "a quarter of the pace");
    assert_eq!(windows.iter().position(|&(_, over)| over), Some(7), "{windows:?}");
}

#[test]
fn hystart_plus_plus_resumes_when_the_delay_falls_again() {
    let rtts = [100, 100, 120, 100, 100].map(Span::from_ms);
    let windows = slow_start_over(hystart::Exit::PlusPlus, &rtts);
    assert!(windows.iter().all(|&(_, over)| !over));
    assert_eq!(windows[4].0, windows[3].0 * 2);
}

#[test]
fn classic_hystart_stops_at_a_delay_an_eighth_above_the_shortest() {
    let slow = hystart::Exit::Classic(hystart::Classic {
        burst: Bytes::new(1),
        ..hystart::Classic::LINUX
    });
    let windows = slow_start_over(slow, &[100, 100, 113].map(Span::from_ms));
    assert!(windows[2].1, "{windows:?}");
    let ns3 = hystart::Classic { delay_max: Span::from_secs(1), ..hystart::Classic::LINUX };
    let tolerant =
        slow_start_over(hystart::Exit::Classic(ns3), &[400, 400, 420].map(Span::from_ms));
    assert!(!tolerant[2].1, "a rise of 20 ms is below an eighth of 400: {tolerant:?}");
}

/// When classic `HyStart` stops by the length of a train: in which round trip, and at how many segments.
fn train_stops(pacing: bool) -> Option<(u64, u64)> {
    let exit =
        hystart::Exit::Classic(hystart::Classic { burst: SEGMENT, ..hystart::Classic::LINUX });
    let slow_start = hystart::Config { limit: 1, exit };
    let config = reno::Config { slow_start, pacing, ..reno::Config::RFC };
    let mut reno = Reno::new(&config, &start());
    let mut course = Course::new(Span::from_us(100));
    // A bottleneck of one segment a microsecond: each window comes back as a train, then there is silence.
    let mut left_at = None;
    for round in 0..5 {
        let train = reno.window().get() / SEGMENT.get();
        for _ in 0..train {
            course.now += Span::from_us(1);
            course.una += SEGMENT.get();
            reno.on_ack(&course.facts(&reno, SEGMENT));
        }
        course.now += Span::from_us(100 - train.min(100));
        if reno.slow_start_threshold() < Bytes::MAX {
            left_at.get_or_insert((round, train));
        }
    }
    left_at
}

#[test]
fn classic_hystart_stops_when_a_train_fills_half_the_round_trip_or_all_of_it_if_it_was_paced() {
    assert_eq!(train_stops(false), Some((3, 80)), "40 segments last 40 us, 80 more than half");
    assert_eq!(train_stops(true), Some((4, 160)), "a paced window takes half by itself");
}

#[test]
fn an_acknowledgement_that_echoes_a_mark_adds_nothing() {
    for config in [Config::Reno(reno::Config::RFC), Config::Cubic(cubic::Config::RFC)] {
        for threshold in [Bytes::MAX, SEGMENT] {
            let mut window = config.build(&Start { threshold, ..start() });
            let before = window.window();
            let course = Course::new(Span::from_ms(10));
            let facts = course.facts(&window, before);
            window.on_ack(&Ack { marked: before, ..facts });
            assert_eq!(window.window(), before);
            window.on_ack(&facts);
            assert!(window.window() > before);
        }
    }
}

#[test]
fn an_acknowledgement_that_leaves_the_first_gap_open_adds_nothing() {
    let configs = [
        Config::Reno(reno::Config::RFC),
        Config::Cubic(cubic::Config::RFC),
        Config::Cubic(cubic::Config::LINUX),
        Config::Dctcp(dctcp::Config::RFC),
        Config::Gemini(gemini::Config::THESIS),
        Config::Vegas(vegas::Config::LINUX),
    ];
    for config in configs {
        for threshold in [Bytes::MAX, SEGMENT] {
            let mut window = config.build(&Start { threshold, ..start() });
            let before = window.window();
            let mut course = Course::new(Span::from_ms(10));
            // A hundred windows are delivered beyond the gap, as after a timeout whose repeat was lost as well.
            for _ in 0..100 {
                course.now += course.rtt;
                let facts = course.facts(&window, before);
                window.on_ack(&Ack { advanced: Bytes::ZERO, una: 0, ..facts });
                assert_eq!(window.window(), before, "{config:?}");
            }
        }
    }
}
