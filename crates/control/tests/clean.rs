//! CLEAN's law: its integers are those of the tables, which another program computed, and stay close to the formulas.

mod support;

use proptest::prelude::*;
use shallop_control::Clean;
use shallop_control::clean::{
    Config, Decrease, MOST_WINDOW, Passed, SEGMENT, cube_root, curve, delay, left, ticks,
};
use shallop_control::ewma::Marked;
use shallop_core::{Span, Time};
use support::{number, table};

fn whole(field: &str) -> u64 {
    field.parse().expect("a whole number")
}

fn ns(ns: u64) -> Time {
    Time::after_start(Span::from_ns(ns))
}

#[test]
fn the_curve_is_that_of_the_table_and_of_the_formula() {
    for row in table(include_str!("../vectors/clean_curve.csv")) {
        let [scale, peak, lost, elapsed, k, window] = [0, 1, 2, 3, 4, 5].map(|at| whole(row[at]));
        let scale = scale as u32;
        assert_eq!(delay(scale, lost), k, "{row:?}");
        assert_eq!(curve(scale, peak, k, ticks(elapsed)), window, "{row:?}");
        // A tick is a 1,024th of a second: no closer than what the curve rises in two.
        let (real_k, real) = (number(row[6]), number(row[7]));
        assert!((k as f64 / 1024.0 - real_k).abs() < 1.0 / 1024.0, "{row:?}");
        let off = (elapsed as f64 * 1e-9).min(2_200.0) - real_k;
        let slope = 3.0 * f64::from(scale) / 1024.0 * off * off;
        let error = (window as f64 / 1024.0 - real).abs();
        assert!(error <= slope * 2.0 / 1024.0 + 2.0 / 1024.0, "{row:?}: {error} off");
    }
}

#[test]
fn flows_are_those_of_the_table_segment_by_segment() {
    let (mut config, mut flow, mut seen) = (Config::default(), None, 0);
    for row in table(include_str!("../vectors/clean_flow.csv")) {
        let [segment, most, allowed, now, seq, marked] =
            [3, 4, 5, 6, 7, 8].map(|at| whole(row[at]));
        if !row[0].is_empty() {
            let decrease = if row[0] == "half" { Decrease::Half } else { Decrease::Marked };
            let (initial, alpha) = (whole(row[1]) as u32, whole(row[2]) as u32);
            config = Config { decrease, initial, alpha, ..Config::default() };
            flow = Some(Clean::new(&config, seq as u32));
        } else if let Some(flow) = &mut flow {
            let (seq, segment, allowed) = (seq as u32, segment as u16, allowed as u32);
            let passed = Passed { now: ns(now), seq, marked: marked == 1, allowed, segment, most };
            flow.on_data(&config, &passed);
        }
        let flow = flow.as_ref().expect("a flow begins before its segments");
        let held = [flow.window(), flow.alpha().into(), flow.answered().into()];
        assert_eq!(held, [9, 10, 11].map(|at| whole(row[at])), "{row:?}");
        assert_eq!(u64::from(flow.is_slow_start()), whole(row[12]), "{row:?}");
        seen += 1;
    }
    assert!(seen > 200, "{seen} rows");
}

/// A flow that passes its window every 10 ms; those of its windows for which `marked` says so end in a mark.
fn rounds(config: &Config, count: u64, marked: impl Fn(u64, u64) -> bool) -> Vec<(u64, u32)> {
    let mut flow = Clean::new(config, 0);
    let (mut seq, mut held) = (0u32, vec![]);
    for round in 0..count {
        let window = flow.window() / SEGMENT;
        for place in 0..window {
            let at = round * 10_000_000 + place * 10_000_000 / window;
            let last = place + 1 == window && marked(round, window);
            let passed = Passed {
                now: ns(at),
                seq,
                marked: last,
                allowed: seq,
                segment: 1000,
                most: MOST_WINDOW,
            };
            flow.on_data(config, &passed);
            seq = seq.wrapping_add(1000);
        }
        held.push((flow.window() / SEGMENT, flow.alpha()));
    }
    held
}

#[test]
fn slow_start_doubles_each_round_trip_until_the_first_mark() {
    let rounds = rounds(&Config::default(), 6, |_, window| window > 150);
    let windows: Vec<u64> = rounds.iter().map(|round| round.0).collect();
    // 160 pass, the last with a mark: 159 more, then less alpha / 2, where alpha is 1 less a sixteenth four times.
    assert_eq!(windows[..4], [20, 40, 80, 160]);
    assert_eq!(rounds[4], (319 - (319 * 792 / 2048) - 1, 792));
}

#[test]
fn half_is_left_by_one_rule_and_nearly_all_by_the_other_where_marks_are_few() {
    assert_eq!(left(100 * SEGMENT, Decrease::Half, 0), 50 * SEGMENT);
    assert_eq!(left(100 * SEGMENT, Decrease::Marked, Marked::ONE), 50 * SEGMENT);
    assert_eq!(left(100 * SEGMENT, Decrease::Marked, 64), 100 * SEGMENT - 3_200);
    assert_eq!(left(100 * SEGMENT, Decrease::Marked, 0), 100 * SEGMENT);
    // Halved from 840 segments it takes 3 s until 690 fill the path of docs/clean.md again, and 10 s to be back.
    let segments = |lost: u64, secs: u64| {
        let k = delay(410, lost * SEGMENT);
        curve(410, 840 * SEGMENT, k, ticks(secs * 1_000_000_000)) / SEGMENT
    };
    assert_eq!([0, 2, 3, 11].map(|secs| segments(420, secs)), [420, 622, 693, 840]);
    assert_eq!([0, 2, 3, 5].map(|secs| segments(60, secs)), [780, 825, 835, 839]);
}

#[test]
fn a_silence_stands_still_on_the_curve() {
    let config = Config { initial: 100, ..Config::default() };
    let mut flow = Clean::new(&config, 0);
    let data = |seq, at, marked| Passed {
        now: ns(at),
        seq,
        marked,
        allowed: seq,
        segment: 1000,
        most: MOST_WINDOW,
    };
    flow.on_data(&config, &data(0, 1_000_000, true));
    let (mut still, mut moving) = (flow, flow);
    still.on_silence(Span::from_secs(5));
    still.on_data(&config, &data(1000, 5_001_000_000, false));
    moving.on_data(&config, &data(1000, 5_001_000_000, false));
    assert!(still.window() < flow.window() + SEGMENT / 8, "{still:?}");
    assert!(moving.window() > flow.window() + 45 * SEGMENT, "{moving:?}");
}

proptest! {
    #[test]
    fn nothing_breaks_what_a_window_is(
        packets in prop::collection::vec(
            (any::<u32>(), 0u64..1 << 45, any::<bool>(), any::<u16>(), any::<u64>()), 1..80),
        decrease in prop::sample::select(vec![Decrease::Half, Decrease::Marked]),
        (scale, shift, alpha) in (any::<u32>(), 0u32..12, any::<u32>()),
        (initial, least) in (any::<u32>(), 0u32..1000),
    ) {
        let config = Config { decrease, scale, shift, alpha, initial, least };
        let mut flow = Clean::new(&config, 7);
        for (seq, at, marked, segment, most) in packets {
            let before = flow.window();
            flow.on_data(&config, &Passed { now: ns(at), seq, marked, allowed: seq, segment, most });
            prop_assert!((SEGMENT..=MOST_WINDOW).contains(&flow.window()));
            prop_assert!(flow.alpha() <= Marked::ONE);
            prop_assert!(!marked || flow.window() <= before, "a mark lets nothing grow");
            prop_assert!(flow.window() <= before.max(most));
        }
    }

    #[test]
    fn a_cube_root_is_the_largest_that_fits(of in any::<u64>()) {
        let root = u128::from(cube_root(of));
        prop_assert!(root.pow(3) <= u128::from(of) && (root + 1).pow(3) > u128::from(of));
    }

    #[test]
    fn the_curve_begins_where_the_reduction_ended(
        scale in 1u32..=4096, peak in SEGMENT..=MOST_WINDOW, part in 0u64..=1024,
    ) {
        let lost = peak / 1024 * part;
        let begin = curve(scale, peak, delay(scale, lost), 0);
        // K is rounded down: above by what the curve rises in a tick, and never below.
        prop_assert!(begin >= peak - lost);
        let k = delay(scale, lost) + 1;
        prop_assert!(u128::from(begin - (peak - lost)) <= ((3 * u128::from(scale) * u128::from(k).pow(2)) >> 30) + 1);
    }
}
