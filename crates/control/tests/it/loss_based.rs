//! `NewReno`, CUBIC and slow start: cwnd compared with the RFCs and with theory; rules of all loss-based controllers.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::any::{AnyWindow, Config};
use shallop_control::{Ack, Cubic, Loss, Reno, Start, Window, cubic, dctcp, gemini, hystart, loss, reno, vegas};
use shallop_core::{Bytes, Span};

fn segments(window: &impl Window) -> f64 {
    window.window().ratio(SEGMENT)
}

fn cubic_after_loss_at(w_max: f64, config: cubic::Config) -> (Cubic, FixedRtt) {
    let cwnd = Bytes::new((SEGMENT.get() as f64 * w_max) as u64);
    let start = Start { initial_window: cwnd, initial_ssthresh: cwnd, ..start() };
    let mut cubic = Cubic::new(&config, &start);
    let path = FixedRtt::new(Span::from_us(1));
    cubic.on_loss(&path.loss(&cubic));
    (cubic, path)
}

/// CUBIC without the Reno-friendly region.
const CUBIC_ONLY: cubic::Config =
    cubic::Config { reno_friendly: false, slow_start: hystart::Config::STANDARD, ..cubic::Config::RFC };

#[test]
fn cubic_follows_w_cubic() {
    for row in table(include_str!("../../vectors/cubic.csv")) {
        let [w_max, k, t, expected] = [0, 1, 2, 3].map(|field| number(row[field]));
        let (mut cubic, mut path) = cubic_after_loss_at(w_max, CUBIC_ONLY);
        assert!((cubic.w_max() - w_max).abs() < 1e-9);
        // ACKs of a whole window every 0.1 ms, so that cwnd reaches the target each time.
        let acks = (t * 1e4) as u64;
        for _ in 0..acks {
            path.now += Span::from_us(100);
            let ack = path.ack(&cubic, cubic.window());
            cubic.on_ack(&ack);
        }
        let error = (cubic.cwnd() - expected).abs() / expected;
        assert!(error < 1e-3, "{} instead of {expected} at t = {t} s, K = {k} s", cubic.cwnd());
    }
}

#[test]
fn the_mean_cwnd_under_deterministic_loss_matches_the_model() {
    for row in table(include_str!("../../vectors/mean_window.csv")) {
        let [rtt, loss, expected] = [1, 2, 3].map(|field| number(row[field]));
        let config = match row[0] {
            "reno" => Config::Reno(reno::Config::RFC),
            _ => Config::Cubic(cubic::Config { slow_start: hystart::Config::STANDARD, ..cubic::Config::RFC }),
        };
        let cwnd = SEGMENT * (expected * 1.2) as u64;
        let start = Start { initial_window: cwnd, initial_ssthresh: cwnd, ..start() };
        let mut window = config.build(&start);
        let mut path = FixedRtt::new(Span::from_us(rtt as u64));
        let every = (1.0 / loss).round() as u64;
        let mean = path.mean_window(&mut window, every, (400_000 / every).clamp(8, 40));
        assert!((mean / expected - 1.0).abs() < 0.05, "{row:?}: {mean}");
    }
}

#[test]
fn fast_convergence_lowers_w_max_after_a_second_loss_below_it() {
    let (mut cubic, mut path) = cubic_after_loss_at(100.0, CUBIC_ONLY);
    while cubic.cwnd() < 80.0 {
        path.segment(&mut cubic);
    }
    cubic.on_loss(&path.loss(&cubic));
    assert!((cubic.w_max() - 68.0).abs() < 0.01, "{}", cubic.w_max());
    assert!((cubic.cwnd() - 56.0).abs() < 0.01, "{}", cubic.cwnd());
}

#[test]
fn the_rfc_reduces_flight_size_and_linux_reduces_cwnd() {
    let reduced = |config: cubic::Config| {
        let start = Start { initial_window: SEGMENT * 100, ..start() };
        let mut cubic = Cubic::new(&config, &start);
        cubic.on_loss(&FixedRtt::new(Span::from_ms(1)).loss_with(SEGMENT * 50));
        cubic.cwnd()
    };
    assert!((reduced(cubic::Config::RFC) - 35.0).abs() < 1e-9);
    assert!((reduced(cubic::Config::LINUX_IDEAL) - 70.02).abs() < 0.01);
}

#[test]
fn the_minimum_cwnd_is_one_segment_after_a_mark_and_two_after_a_loss() {
    for config in [Config::Reno(reno::Config::RFC), Config::Cubic(cubic::Config::RFC)] {
        let reduced = |by: fn(&mut AnyWindow, &Loss)| {
            let mut window = config.build(&Start { initial_window: SEGMENT, ..start() });
            let loss = FixedRtt::new(Span::from_ms(1)).loss(&window);
            by(&mut window, &loss);
            (segments(&window), window.slow_start_threshold().ratio(SEGMENT))
        };
        assert_eq!(reduced(AnyWindow::on_loss), (2.0, 2.0));
        assert_eq!(reduced(AnyWindow::on_mark), (1.0, 2.0));
        assert_eq!(reduced(|window, loss| window.on_rto(loss, true)), (1.0, 2.0));
    }
}

#[test]
fn cwnd_does_not_grow_and_t_does_not_advance_while_the_sender_is_app_limited() {
    let (mut cubic, mut path) = cubic_after_loss_at(100.0, CUBIC_ONLY);
    path.rtt = Span::from_ms(1);
    path.round(&mut cubic);
    let before = cubic.cwnd();
    path.is_cwnd_limited = false;
    (0..30_000).for_each(|_| path.round(&mut cubic));
    assert!((cubic.cwnd() - before).abs() < 1e-9, "at {}", path.now);
    path.is_cwnd_limited = true;
    path.round(&mut cubic);
    assert!((cubic.cwnd() - before) < 0.1, "{} against {before}", cubic.cwnd());
}

#[test]
fn cubic_grows_by_at_most_half_of_cwnd_per_round_trip() {
    let config = cubic::Config { scale: 1e6, ..CUBIC_ONLY };
    let (mut cubic, mut path) = cubic_after_loss_at(100.0, config);
    path.rtt = Span::from_ms(100);
    for _ in 0..5 {
        let before = cubic.cwnd();
        path.round(&mut cubic);
        assert!(cubic.cwnd() <= before * 1.5, "{before} to {}", cubic.cwnd());
        assert!(cubic.cwnd() > before * 1.45);
    }
}

/// Round trip and cwnd in which the length of the ACK train makes classic `HyStart` end slow start.
fn ack_train_exit(pacing: bool) -> Option<(u64, u64)> {
    let exit = hystart::Exit::Classic(hystart::Classic { burst: SEGMENT, ..hystart::Classic::LINUX });
    let slow_start = hystart::Config { limit: 1, exit, ..hystart::Config::STANDARD };
    let config = reno::Config { loss: loss::Config { slow_start, ..loss::Config::RFC }, pacing };
    let mut reno = Reno::new(&config, &start());
    let mut path = FixedRtt::new(Span::from_us(100));
    // The bottleneck delivers one segment per microsecond: each window returns as one ACK train, followed by a gap.
    let mut exit = None;
    for round in 0..5 {
        let train = reno.window().get() / SEGMENT.get();
        for _ in 0..train {
            path.now += Span::from_us(1);
            path.snd_una += SEGMENT.get();
            reno.on_ack(&path.ack(&reno, SEGMENT));
        }
        path.now += Span::from_us(100 - train.min(100));
        if reno.slow_start_threshold() < Bytes::MAX {
            exit.get_or_insert((round, train));
        }
    }
    exit
}

#[test]
fn classic_hystart_ends_slow_start_when_the_ack_train_is_longer_than_half_an_rtt_or_an_rtt_if_paced() {
    assert_eq!(ack_train_exit(false), Some((3, 80)), "40 segments take 40 us, 80 more than 50 us");
    assert_eq!(ack_train_exit(true), Some((4, 160)), "pacing alone makes the train half an RTT");
}

#[test]
fn an_ack_with_ecn_echo_does_not_grow_cwnd() {
    for config in [Config::Reno(reno::Config::RFC), Config::Cubic(cubic::Config::RFC)] {
        for initial_ssthresh in [Bytes::MAX, SEGMENT] {
            let mut window = config.build(&Start { initial_ssthresh, ..start() });
            let before = window.window();
            let path = FixedRtt::new(Span::from_ms(10));
            let ack = path.ack(&window, before);
            window.on_ack(&Ack { marked: before, ..ack });
            assert_eq!(window.window(), before);
            window.on_ack(&ack);
            assert!(window.window() > before);
        }
    }
}

#[test]
fn an_ack_that_does_not_advance_snd_una_does_not_grow_cwnd() {
    let configs = [
        Config::Reno(reno::Config::RFC),
        Config::Cubic(cubic::Config::RFC),
        Config::Cubic(cubic::Config::LINUX_IDEAL),
        Config::Dctcp(dctcp::Config::RFC),
        Config::Gemini(gemini::Config::THESIS),
        Config::Vegas(vegas::Config::LINUX_IDEAL),
    ];
    for config in configs {
        for initial_ssthresh in [Bytes::MAX, SEGMENT] {
            let mut window = config.build(&Start { initial_ssthresh, ..start() });
            let before = window.window();
            let mut path = FixedRtt::new(Span::from_ms(10));
            // A hundred windows are SACKed above the first gap, as after an RTO whose retransmission was lost, too.
            for _ in 0..100 {
                path.now += path.rtt;
                let ack = path.ack(&window, before);
                window.on_ack(&Ack { snd_una_advance: Bytes::ZERO, snd_una: 0, ..ack });
                assert_eq!(window.window(), before, "{config:?}");
            }
        }
    }
}
