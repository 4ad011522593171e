//! `NewReno`, CUBIC and slow start: cwnd compared with the RFCs and with theory; rules of all loss-based controllers.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::any::Config;
use shallop_control::{Cubic, Reno, Start, Window, cubic, hystart, loss, reno};
use shallop_core::{Bytes, Span};

/// CUBIC without the Reno-friendly region.
const CUBIC_ONLY: cubic::Config =
    cubic::Config { reno_friendly: false, slow_start: hystart::Config::STANDARD, ..cubic::Config::RFC };

#[test]
fn cubic_follows_w_cubic() {
    for row in table(include_str!("../../vectors/cubic.csv")) {
        let [w_max, k, t, expected] = [0, 1, 2, 3].map(|field| number(row[field]));
        let cwnd = Bytes::new((SEGMENT.get() as f64 * w_max) as u64);
        let start = Start { initial_window: cwnd, initial_ssthresh: cwnd, ..start() };
        let (mut cubic, mut path) = (Cubic::new(&CUBIC_ONLY, &start), FixedRtt::new(Span::from_us(1)));
        cubic.on_loss(&path.loss(&cubic));
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
