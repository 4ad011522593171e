//! Copa: the equilibrium of the target rate, velocity, mode switching, pacing.

use crate::support::bottleneck::Bottleneck;
use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::copa::{Config, Copa, Mode};
use shallop_control::{Ack, Start, Window};
use shallop_core::{BitsPerSec, Bytes, Span, Time};

/// A flow after slow start with this cwnd, minimum RTT and standing RTT.
fn flow(config: &Config, cwnd: f64, min_rtt: Span, standing_rtt: Span) -> (Copa, FixedRtt) {
    let initial_window = Bytes::new((SEGMENT.get() as f64 * cwnd) as u64);
    let mut copa = Copa::new(config, &Start { initial_window, ..start() });
    let mut path = FixedRtt::new(min_rtt);
    // An ACK with an RTT sample, of too few bytes to move cwnd.
    let mut sample = |path: &FixedRtt, rtt| {
        let ack = path.ack(&copa, Bytes::ZERO);
        copa.on_ack(&Ack { rtt: Some(rtt), srtt: min_rtt, ..ack });
    };
    sample(&path, min_rtt);
    // A queueing delay that ends slow start at any cwnd, then the requested one.
    path.now += min_rtt * 4;
    sample(&path, min_rtt * 50);
    path.now += min_rtt * 12;
    path.rtt = standing_rtt;
    sample(&path, standing_rtt);
    (copa, path)
}

/// Runs one round trip, which begins with the first ACK.
fn round(copa: &mut Copa, path: &mut FixedRtt) {
    let segments = copa.window().get() / SEGMENT.get();
    for nth in 0..segments {
        path.now += path.rtt / segments;
        let ack = path.ack(copa, SEGMENT);
        copa.on_ack(&Ack { round_start: nth == 0, ..ack });
    }
}

#[test]
fn cwnd_grows_below_and_shrinks_above_the_equilibrium_of_rate_and_target_rate() {
    for row in table(include_str!("../../vectors/copa.csv")) {
        let [delta, min_rtt, standing_rtt, cwnd] = [0, 1, 2, 3].map(|field| number(row[field]));
        let [min_rtt, standing_rtt] = [min_rtt, standing_rtt].map(|us| Span::from_us(us as u64));
        for (factor, grows) in [(0.998, true), (1.002, false)] {
            let config = Config { delta, ..Config::PAPER };
            let (mut copa, path) = flow(&config, cwnd * factor, min_rtt, standing_rtt);
            let before = copa.cwnd();
            copa.on_ack(&path.ack(&copa, SEGMENT));
            assert_eq!(copa.cwnd() > before, grows, "{row:?}: {before}");
            let step = (copa.cwnd() - before).abs();
            assert!((step * before * delta - 1.0).abs() < 1e-6, "{row:?}: {step}");
        }
    }
}

#[test]
fn cwnd_moves_by_two_segments_per_round_trip_at_a_delta_of_one_half() {
    let ms = Span::from_ms;
    for (queueing_delay, expected) in [(ms(0), 2.0), (ms(50), -2.0)] {
        let standing_rtt = ms(100) + queueing_delay;
        let (mut copa, mut path) = flow(&Config::PAPER, 100.0, ms(100), standing_rtt);
        let before = copa.cwnd();
        round(&mut copa, &mut path);
        let change = copa.cwnd() - before;
        assert!((change - expected).abs() < 0.05, "{change} instead of {expected}");
    }
}

#[test]
fn the_velocity_doubles_after_three_more_round_trips_in_one_direction_and_a_turn_resets_it() {
    let ms = Span::from_ms;
    let (mut copa, mut path) = flow(&Config::PAPER, 400.0, ms(100), ms(100));
    let velocity = |copa: &mut Copa, path: &mut FixedRtt| {
        round(copa, path);
        copa.velocity
    };
    let up: Vec<_> = (0..9).map(|_| velocity(&mut copa, &mut path)).collect();
    assert_eq!(up, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
    path.rtt = ms(150);
    // The standing RTT rises after half an SRTT, so the turn is in the first of these round trips.
    let down: Vec<_> = (0..6).map(|_| velocity(&mut copa, &mut path)).collect();
    assert_eq!(down[1..], [1.0, 1.0, 1.0, 2.0, 4.0]);
}

#[test]
fn slow_start_doubles_cwnd_until_the_rate_exceeds_the_target_rate() {
    let mut copa = Copa::new(&Config::PAPER, &start());
    let mut path = Bottleneck::new(BitsPerSec::at_least_one(100_000_000), Span::from_ms(10));
    let mut cwnds = vec![];
    while copa.in_slow_start() {
        path.round(&mut copa);
        cwnds.push(copa.cwnd());
    }
    assert!(cwnds.len() >= 4, "{cwnds:?}");
    let ratios = cwnds[2..5].iter().zip(&cwnds[1..]).map(|(after, before)| after / before);
    assert!(ratios.into_iter().all(|ratio| (1.9..=2.0).contains(&ratio)), "{cwnds:?}");
    let bdp = path.bdp().ratio(SEGMENT);
    let last = cwnds[cwnds.len() - 1];
    assert!((bdp..2.83 * bdp).contains(&last), "{cwnds:?} at a BDP of {bdp}");
}

#[test]
fn competitive_mode_begins_when_the_queue_was_not_nearly_empty_for_five_round_trips() {
    let ms = Span::from_ms;
    for (mode, rounds) in [(Mode::Auto, 6), (Mode::Default, 99), (Mode::Competitive, 0)] {
        let config = Config { mode, ..Config::PAPER };
        let (mut copa, mut path) = flow(&config, 100.0, ms(100), ms(200));
        let mut passed = 0;
        while passed < 20 && !copa.is_competitive() {
            round(&mut copa, &mut path);
            passed += 1;
        }
        assert_eq!(passed, rounds.min(20), "{mode:?}");
        if mode == Mode::Default {
            assert!((copa.delta() - 0.5).abs() < 1e-9);
            continue;
        }
        // Then 1 / delta grows by one per round trip.
        let inverse = 1.0 / copa.delta();
        (0..10).for_each(|_| round(&mut copa, &mut path));
        assert!((1.0 / copa.delta() - inverse - 10.0).abs() < 1e-9);
        // A loss halves it, down to the value of default mode. It does not grow in the round trip of a loss.
        copa.on_loss(&path.loss(&copa));
        let halved = 1.0 / copa.delta();
        assert!((halved * 2.0 - inverse - 10.0).abs() < 1e-9);
        round(&mut copa, &mut path);
        assert!((1.0 / copa.delta() - halved).abs() < 1e-9);
        (0..9).for_each(|_| copa.on_loss(&path.loss(&copa)));
        assert!((copa.delta() - 0.5).abs() < 1e-9);
        // When the queue is nearly empty, default mode returns.
        (0..3).for_each(|_| round(&mut copa, &mut path));
        path.rtt = ms(100);
        round(&mut copa, &mut path);
        assert_eq!(copa.is_competitive(), mode == Mode::Competitive);
        assert_eq!((copa.delta() - 0.5).abs() < 1e-9, mode == Mode::Auto, "{}", copa.delta());
    }
}

#[test]
fn the_pacing_rate_is_two_cwnd_per_standing_rtt() {
    let ms = Span::from_ms;
    let mut copa = Copa::new(&Config::PAPER, &start());
    assert_eq!(copa.pacing(), None, "there is no RTT sample");
    copa.on_handshake(Time::ZERO, ms(100));
    let initial = copa.pacing().map(BitsPerSec::get);
    assert_eq!(initial, Some(2 * 10 * 1460 * 8 * 10));
    let (copa, _) = flow(&Config::PAPER, 50.0, ms(100), ms(200));
    let rate = copa.pacing().map_or(0.0, |rate| rate.get() as f64);
    assert!((rate / (2.0 * 50.0 * 1460.0 * 8.0 / 0.2) - 1.0).abs() < 1e-3, "{rate}");
}
