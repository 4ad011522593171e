//! CLEAN: its integers equal tables that another program computed, and stay close to the formulas.

use crate::support::{number, table};
use proptest::prelude::*;
use shallop_control::Clean;
use shallop_control::binary::{Fraction, Gain};
use shallop_control::clean::{
    Config, DataPacket, Decrease, Increase, MAX_WINDOW, SEGMENT, cube_root, k, reduced_window, ticks, w_cubic, w_root,
};
use shallop_control::ewma::Alpha;
use shallop_core::{Span, Time};

fn whole(field: &str) -> u64 {
    field.parse().expect("a whole number")
}

fn ns(ns: u64) -> Time {
    Time::after_start(Span::from_ns(ns))
}

#[test]
fn the_cubic_function_matches_the_table_and_the_formula() {
    for row in table(include_str!("../../vectors/clean_curve.csv")) {
        let [c, w_max, reduction, t, k, window] = [0, 1, 2, 3, 4, 5].map(|at| whole(row[at]));
        let c = c as u32;
        assert_eq!(self::k(c, reduction), k, "{row:?}");
        assert_eq!(w_cubic(c, w_max, k, ticks(t)), window, "{row:?}");
        // A tick is 1/1024 s. The error is at most the change of the function in two ticks.
        let (real_k, real) = (number(row[6]), number(row[7]));
        assert!((k as f64 / 1024.0 - real_k).abs() < 1.0 / 1024.0, "{row:?}");
        let from_k = (t as f64 * 1e-9).min(2_200.0) - real_k;
        let slope = 3.0 * f64::from(c) / 1024.0 * from_k * from_k;
        let error = (window as f64 / 1024.0 - real).abs();
        assert!(error <= slope * 2.0 / 1024.0 + 2.0 / 1024.0, "{row:?}: {error} off");
    }
}

#[test]
fn the_state_of_flows_matches_the_table_after_every_data_packet() {
    let (mut config, mut flow, mut rows) = (Config::default(), None, 0);
    for row in table(include_str!("../../vectors/clean_flow.csv")) {
        let [mss, growth_limit, window_edge, now, seq, ce] = [3, 4, 5, 6, 7, 8].map(|at| whole(row[at]));
        if !row[0].is_empty() {
            let decrease = if row[0] == "half" { Decrease::Half } else { Decrease::Marked };
            let increase = if row[0] == "root" { Increase::Root } else { Increase::Cubic };
            let (initial, alpha) = (whole(row[1]) as u32, whole(row[2]) as u32);
            let (initial_window, alpha_initial) = (initial, Fraction::new(alpha));
            config = Config { decrease, increase, initial_window, alpha_initial, ..Config::default() };
            flow = Some(Clean::new(&config, seq as u32));
        } else if let Some(flow) = &mut flow {
            let (seq, mss, window_edge) = (seq as u32, mss as u16, window_edge as u32);
            let (now, ce) = (ns(now), ce == 1);
            let port = (whole(row[13]) as u32, whole(row[14]) as u32);
            let packet = DataPacket { now, seq, ce, window_edge, port, mss, growth_limit };
            flow.on_data(&config, &packet);
        }
        let flow = flow.as_ref().expect("a flow begins before its packets");
        let state = [flow.window_size, flow.alpha().into(), flow.ecn_cwr_seq.into()];
        assert_eq!(state, [9, 10, 11].map(|at| whole(row[at])), "{row:?}");
        assert_eq!(u64::from(flow.is_slow_start), whole(row[12]), "{row:?}");
        rows += 1;
    }
    assert!(rows > 200, "{rows} rows");
}

/// A data packet of 1,000 bytes.
fn data(seq: u32, at: u64, ce: bool) -> DataPacket {
    let (now, window_edge) = (ns(at), seq);
    DataPacket { now, seq, ce, window_edge, port: (0, 0), mss: 1000, growth_limit: MAX_WINDOW }
}

/// Window, in segments, and alpha of a flow after each of `count` round trips of 10 ms. The last packet of a round trip
/// carries CE if `ce` is true for the window at its beginning.
fn rounds(config: &Config, count: u64, ce: impl Fn(u64) -> bool) -> Vec<(u64, u32)> {
    let mut flow = Clean::new(config, 0);
    let (mut seq, mut states) = (0u32, vec![]);
    for round in 0..count {
        let window = flow.window_size / SEGMENT;
        for nth in 0..window {
            let at = round * 10_000_000 + nth * 10_000_000 / window;
            flow.on_data(config, &data(seq, at, nth + 1 == window && ce(window)));
            seq = seq.wrapping_add(1000);
        }
        states.push((flow.window_size / SEGMENT, flow.alpha()));
    }
    states
}

#[test]
fn slow_start_doubles_the_window_per_round_trip_until_the_first_mark() {
    let rounds = rounds(&Config::default(), 6, |window| window > 150);
    let windows: Vec<u64> = rounds.iter().map(|round| round.0).collect();
    // Of 160 packets the last is marked: the window grows by 159 segments, and is then reduced by alpha / 2. alpha has
    // decayed by a sixteenth four times.
    assert_eq!(windows[..4], [20, 40, 80, 160]);
    assert_eq!(rounds[4], (319 - (319 * 792 / 2048) - 1, 792));
}

#[test]
fn a_mark_reduces_the_window_by_half_or_by_alpha_half() {
    assert_eq!(reduced_window(100 * SEGMENT, Decrease::Half, 0), 50 * SEGMENT);
    assert_eq!(reduced_window(100 * SEGMENT, Decrease::Marked, Alpha::MAX), 50 * SEGMENT);
    assert_eq!(reduced_window(100 * SEGMENT, Decrease::Marked, 64), 100 * SEGMENT - 3_200);
    assert_eq!(reduced_window(100 * SEGMENT, Decrease::Marked, 0), 100 * SEGMENT);
    // From half of 840 segments, the window takes 3 s to the 690 segments that fill the path of docs/clean.md, and 10 s
    // to 840 segments.
    let segments = |reduction: u64, secs: u64| {
        let k = k(410, reduction * SEGMENT);
        w_cubic(410, 840 * SEGMENT, k, ticks(secs * 1_000_000_000)) / SEGMENT
    };
    assert_eq!([0, 2, 3, 11].map(|secs| segments(420, secs)), [420, 622, 693, 840]);
    assert_eq!([0, 2, 3, 5].map(|secs| segments(60, secs)), [780, 825, 835, 839]);
}

#[test]
fn flows_that_see_the_marks_of_one_port_become_equal() {
    // 840 segments fill the path and its queue; windows of data end together.
    let config = Config { increase: Increase::Root, ..Config::default() };
    for count in [2_u32, 80] {
        let first = Config { initial_window: 838, ..config };
        let mut flows: Vec<_> = (0..count).map(|at| Clean::new(if at == 0 { &first } else { &config }, 0)).collect();
        let (mut port, mut ended) = ((0, 0), None);
        for round in 0..300_u64 {
            let full = flows.iter().map(|flow| flow.window_size).sum::<u64>() > 840 * SEGMENT;
            port = (port.0 + 840, port.1 + if full { 400 } else { 0 });
            for flow in &mut flows {
                flow.on_data(&config, &DataPacket { port, ..data(round as u32 * 10_000_000, round, full) });
            }
            let root = |flow: &Clean| (flow.window_size as f64).sqrt();
            ended = ended.or((root(&flows[0]) / root(&flows[1]) < 1.26).then_some(round));
        }
        // The bound of docs/clean.md: 229 windows of data with two flows, and 64 until alpha is common.
        assert!(ended.is_some_and(|rounds| rounds <= 293), "{count} flows: {ended:?}");
    }
    assert_eq!(w_root(1024, 100 * SEGMENT), 110 * SEGMENT + SEGMENT / 4, "10 and a half, squared");
}

#[test]
fn idle_time_does_not_count_as_time_of_the_cubic_function() {
    let config = Config { initial_window: 100, ..Config::default() };
    let mut flow = Clean::new(&config, 0);
    flow.on_data(&config, &data(0, 1_000_000, true));
    let (mut idle, mut active) = (flow, flow);
    idle.on_idle(Span::from_secs(5));
    idle.on_data(&config, &data(1000, 5_001_000_000, false));
    active.on_data(&config, &data(1000, 5_001_000_000, false));
    assert!(idle.window_size < flow.window_size + SEGMENT / 8, "{idle:?}");
    assert!(active.window_size > flow.window_size + 45 * SEGMENT, "{active:?}");
}

proptest! {
    #[test]
    fn the_window_stays_within_its_bounds(
        packets in prop::collection::vec(
            (any::<u32>(), 0u64..1 << 45, any::<bool>(), any::<u16>(), any::<u64>()), 1..80),
        decrease in prop::sample::select(vec![Decrease::Half, Decrease::Marked]),
        root in any::<bool>(),
        (scale, shift, alpha) in (any::<u32>(), 0u32..12, any::<u32>()),
        (initial, least) in (any::<u32>(), 0u32..1000),
    ) {
        let config = Config {
            decrease,
            increase: if root { Increase::Root } else { Increase::Cubic },
            scale: Fraction::new(scale),
            gain: Gain::new(shift),
            alpha_initial: Fraction::new(alpha),
            min_window: least,
            initial_window: initial,
        };
        let mut flow = Clean::new(&config, 7);
        for (seq, at, ce, mss, growth_limit) in packets {
            let (before, now, window_edge, port) = (flow.window_size, ns(at), seq, (at as u32, seq));
            let packet = DataPacket { now, seq, ce, window_edge, port, mss, growth_limit };
            flow.on_data(&config, &packet);
            let window = flow.window_size;
            prop_assert!((SEGMENT..=MAX_WINDOW).contains(&window));
            prop_assert!(flow.alpha() <= Alpha::MAX);
            prop_assert!(root || !ce || window <= before, "a marked packet does not grow the window");
            prop_assert!(window <= before.max(growth_limit));
        }
    }

    #[test]
    fn the_cube_root_is_rounded_down(value in any::<u64>()) {
        let root = u128::from(cube_root(value));
        prop_assert!(root.pow(3) <= u128::from(value) && (root + 1).pow(3) > u128::from(value));
    }

    #[test]
    fn the_cubic_function_starts_at_the_reduced_window(
        c in 1u32..=4096, w_max in SEGMENT..=MAX_WINDOW, part in 0u64..=1024,
    ) {
        let reduction = w_max / 1024 * part;
        let (w_min, k) = (w_max - reduction, k(c, reduction));
        let start = w_cubic(c, w_max, k, 0);
        // K is rounded down, so the start is above W_min by at most the change of the function in one tick.
        prop_assert!(start >= w_min);
        let slope = (3 * u128::from(c) * u128::from(k + 1).pow(2)) >> 30;
        prop_assert!(u128::from(start - w_min) <= slope + 1);
    }
}
