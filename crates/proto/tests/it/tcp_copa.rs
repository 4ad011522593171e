//! Copa on a path with a buffer: the queue that it keeps, alone, among Copa flows, and among flows that fill the
//! buffer.

use crate::support::shared_bottleneck::SharedBottleneck;
use crate::support::tcp::{ms, plain};
use shallop_control::any::{self, AnyWindow};
use shallop_control::copa::{self, Mode};
use shallop_control::{cubic, reno};
use shallop_core::{BitsPerSec, Bytes, Seed, Span, Time};
use shallop_proto::tcp::{Config, Stack};

fn control(mode: Mode, delta: f64) -> any::Config {
    any::Config::Copa(copa::Config { delta, mode })
}

const CONTROL: any::Config = any::Config::Copa(copa::Config::PAPER);

fn copa(bench: &SharedBottleneck, flow: usize) -> &copa::Copa {
    match bench.controller(flow) {
        AnyWindow::Copa(copa) => copa,
        other => panic!("{other:?}"),
    }
}

/// A path of `megabits` Mb/s and `delay` ms each way.
fn path(megabits: u64, delay: u64) -> SharedBottleneck {
    let rate = BitsPerSec::at_least_one(megabits * 1_000_000);
    SharedBottleneck::new(rate, Span::from_ms(delay), Bytes::new(1_000_000))
}

#[test]
fn flows_fill_the_path_with_two_and_a_half_packets_each_queued_and_five_at_most() {
    for (flows, mode) in [(1, Mode::Auto), (2, Mode::Auto), (5, Mode::Auto), (5, Mode::Default)] {
        let mut bench = path(100, 5);
        (0..flows).for_each(|_| bench.add(&plain(), &control(mode, 0.5), Time::ZERO, None));
        bench.run(ms(2_000));
        let shares = bench.run_shares(ms(6_000));
        let sum: f64 = shares.iter().sum();
        assert!(sum > 0.99, "{shares:?}");
        let fair = 1.0 / f64::from(flows);
        assert!(shares.iter().all(|share| (share / fair - 1.0).abs() < 0.1), "{shares:?}");
        // Half a packet on average, and one at most, is in service and not queued.
        let (mean, most) = bench.backlog_since_reset();
        let (mean, most) = ((mean - 0.5) / f64::from(flows), (most - 1.0) / f64::from(flows));
        assert!((2.0..3.0).contains(&mean) && (4.0..5.5).contains(&most), "{mean} and {most}");
    }
}

#[test]
fn the_queue_of_one_flow_empties_every_five_round_trips() {
    let mut bench = path(100, 5);
    bench.add(&plain(), &CONTROL, Time::ZERO, None);
    bench.run(ms(2_000));
    let (mut turns, mut last, mut grew, mut lows) = (0, 0.0, true, vec![f64::MAX]);
    bench.watch(ms(4_000), |bench| {
        let window = copa(bench, 0).cwnd();
        if (window > last) != grew && (window - last).abs() > 1e-9 {
            (turns, grew) = (turns + 1, !grew);
            if grew {
                lows.push(f64::MAX);
            }
        }
        last = window;
        if let Some(lows) = lows.last_mut() {
            *lows = lows.min(bench.backlog());
        }
    });
    let period = Span::from_ms(2_000).ratio(bench.base_rtt()) / f64::from(turns / 2);
    assert!((4.5..5.8).contains(&period), "{period} round trips");
    let whole = &lows[1..lows.len() - 1];
    assert!(whole.iter().all(|&lows| lows < 1.0), "{whole:?}");
}

#[test]
fn copa_settles_from_slow_start_on_paths_of_every_length() {
    for (megabits, delay, by) in [(20, 10, 1_500), (500, 1, 500), (100, 20, 4_000)] {
        let mut bench = path(megabits, delay);
        bench.add(&plain(), &CONTROL, Time::ZERO, None);
        bench.run(ms(by));
        let shares = bench.run_shares(ms(by + 1_000));
        let (mean, _) = bench.backlog_since_reset();
        assert!(shares[0] > 0.99 && mean < 5.0, "{megabits} Mb/s: {shares:?}, {mean}");
    }
}

#[test]
fn twice_the_delta_gives_half_the_share() {
    let mut bench = path(100, 5);
    bench.add(&plain(), &control(Mode::Default, 0.25), Time::ZERO, None);
    bench.add(&plain(), &control(Mode::Default, 0.5), Time::ZERO, None);
    bench.run(ms(2_000));
    let shares = bench.run_shares(ms(6_000));
    let ratio = shares[0] / shares[1];
    assert!((1.8..2.2).contains(&ratio), "{shares:?}");
}

#[test]
fn copa_competes_with_flows_that_fill_a_deep_buffer() {
    for other in [any::Config::Cubic(cubic::Config::RFC), any::Config::Reno(reno::Config::RFC)] {
        let part = |mode| {
            let mut bench = path(50, 10);
            bench.buffer = Bytes::new(400_000);
            bench.add(&plain(), &control(mode, 0.5), Time::ZERO, None);
            bench.add(&plain(), &other, ms(3_000), None);
            bench.run(ms(3_300));
            let mut filled = None;
            bench.watch(ms(5_000), |bench| {
                // The first time that the queue was long.
                if filled.is_none() && bench.backlog() > 100.0 {
                    filled = Some(bench.now);
                }
                let rtts = filled.map_or(0.0, |at| (bench.now - at).as_secs_f64() / 0.1);
                let right = mode == Mode::Default || copa(bench, 0).is_competitive();
                assert!(rtts < 6.0 || right, "{rtts} round trips later");
            });
            bench.run(ms(10_000));
            bench.run_shares(ms(30_000))
        };
        let (competing, yielding) = (part(Mode::Auto), part(Mode::Default));
        assert!(competing[0] > 3.0 * yielding[0], "{competing:?} and {yielding:?}");
        assert!(competing[0] > 0.2 && yielding[0] < 0.1, "{competing:?} and {yielding:?}");
    }
}

#[test]
fn copa_returns_to_its_delta_after_competing_flows_end() {
    let mut bench = path(50, 10);
    bench.buffer = Bytes::new(400_000);
    bench.add(&plain(), &CONTROL, Time::ZERO, None);
    bench.add(&plain(), &any::Config::Cubic(cubic::Config::RFC), ms(3_000), Some(20_000_000));
    bench.run(ms(5_000));
    assert!(copa(&bench, 0).is_competitive() && copa(&bench, 0).delta() < 0.3);
    bench.run(ms(14_000));
    assert_eq!(bench.flows[1].received(), 20_000_000);
    let shares = bench.run_shares(ms(16_000));
    let (mean, _) = bench.backlog_since_reset();
    assert!((copa(&bench, 0).delta() - 0.5).abs() < 1e-9 && shares[0] > 0.95 && mean < 6.0);
}

#[test]
fn random_losses_cost_little_throughput() {
    for config in [plain(), Config { handshake: true, ..Stack::LINUX_IDEAL.tcp }] {
        let mut bench = path(50, 5);
        let mut chance = Seed::new(3).stream("loss", 0);
        bench.drop_rule = Some(Box::new(move |_, _| chance.chance(0.01)));
        bench.add(&config, &CONTROL, Time::ZERO, None);
        bench.run(ms(2_000));
        let shares = bench.run_shares(ms(9_000));
        assert!(shares[0] > 0.9, "{shares:?}");
    }
}
