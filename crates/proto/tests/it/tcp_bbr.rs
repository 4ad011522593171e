//! BBR on a path with a buffer: its throughput, its queue, and its response to losses and timeouts.

use crate::support::shared_bottleneck::SharedBottleneck;
use crate::support::tcp::{SEGMENT, ms, plain};
use shallop_control::any::{self, AnyWindow};
use shallop_control::bbr::{self, Mode};
use shallop_control::{Window, reno};
use shallop_core::{BitsPerSec, Bytes, Seed, Span, Time};
use shallop_proto::tcp::{Config, Stack};

const CONTROL: any::Config = any::Config::Bbr(bbr::Config::LINUX_IDEAL);

fn bbr(bench: &SharedBottleneck, flow: usize) -> &bbr::Bbr {
    match bench.controller(flow) {
        AnyWindow::Bbr(bbr) => bbr,
        other => panic!("{other:?}"),
    }
}

/// A path of `megabits` Mb/s and `delay` ms each way, with a buffer of this many bandwidth-delay products.
fn path(megabits: u64, delay: u64, products: f64) -> SharedBottleneck {
    let rate = BitsPerSec::at_least_one(megabits * 1_000_000);
    let mut bench = SharedBottleneck::new(rate, Span::from_ms(delay), Bytes::ZERO);
    bench.buffer = Bytes::new((bench.product() * products * 1538.0) as u64);
    bench
}

/// Runs until `end`. Returns the part of the bottleneck that all flows used.
fn used(bench: &mut SharedBottleneck, end: Time) -> f64 {
    bench.run_shares(end).iter().sum()
}

#[test]
fn a_single_flow_fills_a_path_with_a_buffer_of_one_bdp() {
    for config in [plain(), Config { handshake: true, ..Stack::LINUX_IDEAL.tcp }] {
        let mut bench = path(50, 5, 1.0);
        bench.add(&config, &CONTROL, Time::ZERO, None);
        let first = used(&mut bench, ms(1_000));
        // The round trip is probed once in ten seconds.
        let (next, later) = (used(&mut bench, ms(10_000)), used(&mut bench, ms(22_000)));
        assert!(first > 0.8 && next > 0.985 && later > 0.95, "{first}, {next}, {later}");
        let believed = bbr(&bench, 0).bw().map_or(0.0, |rate| rate.get() as f64);
        let carried = 50e6 * 1460.0 / 1538.0;
        assert!((believed / carried - 1.0).abs() < 0.01, "{believed}");
    }
}

#[test]
fn the_queue_is_a_quarter_bdp_while_probing_and_nearly_empty_while_cruising() {
    let mut bench = path(100, 5, 2.0);
    bench.add(&plain(), &CONTROL, Time::ZERO, None);
    bench.run(ms(1_000));
    let (mut most, mut flight) = ([0.0f64; 8], 0);
    bench.watch(ms(9_000), |bench| {
        let Mode::ProbeBw(phase) = bbr(bench, 0).mode() else { panic!("it has settled") };
        most[phase] = most[phase].max(bench.backlog());
        flight = flight.max(bench.flows[0].sender().scoreboard.pipe() / SEGMENT);
    });
    // A quarter of the BDP, three bursts of one segment, and two segments of the smallest steps.
    let quarter = bench.product() / 4.0;
    assert!((quarter..quarter + 6.0).contains(&most[0]), "{most:?} packets, by phase");
    assert!(most[1] <= quarter + 6.0, "{most:?}");
    // From the second round trip on, the queue is nearly gone; each round trip removes a hundredth of the BDP.
    assert!(most[3..].iter().all(|&queue| queue < 5.0) && most[7] < 2.5, "{most:?}");
    assert!((flight as f64) < bench.product() * 1.25 + 7.0, "{flight}");
    assert_eq!(bench.drops, 0);
}

#[test]
fn at_most_two_bdp_and_a_burst_are_in_flight_even_among_other_flows() {
    let mut bench = path(50, 10, 4.0);
    for start in 0..3 {
        bench.add(&plain(), &CONTROL, ms(start * 500), None);
    }
    bench.run(ms(6_000));
    bench.watch(ms(9_900), |bench| {
        for (number, flow) in bench.flows.iter().enumerate() {
            let bbr = bbr(bench, number);
            let (Some(rate), Some(rtt)) = (bbr.bw(), bbr.min_rtt()) else { panic!() };
            // Three bursts of one segment, two to round up to even, two while probing, and room for ACK bunching.
            let most = rate.bytes_in(rtt).get() * 2 / SEGMENT + 12;
            assert!(flow.sender().scoreboard.pipe() / SEGMENT <= most, "{most}");
        }
    });
    let used = used(&mut bench, ms(16_000));
    assert!(used > 0.95, "{used}");
}

#[test]
fn probe_rtt_takes_a_fiftieth_of_the_time_with_four_segments() {
    let mut bench = path(20, 1, 2.0);
    bench.add(&plain(), &CONTROL, Time::ZERO, None);
    bench.run(ms(5_000));
    let (mut held, mut last, mut flight) = (Span::ZERO, bench.now, 0);
    let (mut since, mut probing) = (bench.now, false);
    bench.watch(ms(46_000), |bench| {
        if probing {
            held += bench.now - last;
        }
        last = bench.now;
        if probing != (bbr(bench, 0).mode() == Mode::ProbeRtt) {
            (probing, since) = (!probing, bench.now);
        }
        if probing && bench.now > since + Span::from_ms(20) {
            flight = flight.max(bench.flows[0].sender().scoreboard.pipe() / SEGMENT);
        }
    });
    let part = held.ratio(Span::from_ms(41_000));
    assert!(flight == 4 && (0.015..=0.02).contains(&part), "{part} with {flight}");
}

#[test]
fn random_losses_cost_little_throughput() {
    let rate = |control: &any::Config| {
        let mut bench = path(50, 10, 1.0);
        let mut chance = Seed::new(3).stream("loss", 0);
        bench.drop_rule = Some(Box::new(move |_, _| chance.chance(0.01)));
        bench.add(&plain(), control, Time::ZERO, None);
        used(&mut bench, ms(9_000))
    };
    let bbr = rate(&CONTROL);
    let reno = rate(&any::Config::Reno(reno::Config::RFC));
    assert!(bbr > 0.93 && reno < 0.25, "{bbr} and {reno}");
}

#[test]
fn bbr_is_at_full_rate_within_some_round_trips_after_an_outage() {
    let mut bench = path(50, 10, 1.0);
    let dark = ms(2_000)..ms(2_600);
    bench.drop_rule = Some(Box::new(move |now, _| dark.contains(&now)));
    bench.add(&Config { handshake: false, ..Stack::LINUX_IDEAL.tcp }, &CONTROL, Time::ZERO, None);
    used(&mut bench, ms(2_500));
    assert_eq!(bbr(&bench, 0).window(), Bytes::new(SEGMENT), "a timeout");
    used(&mut bench, ms(3_400));
    let after = used(&mut bench, ms(6_000));
    assert!(after > 0.95, "{after}");
}

#[test]
fn a_loss_reduces_the_window_until_it_is_repaired() {
    let mut bench = path(50, 10, 1.0);
    let mut lost = false;
    bench.drop_rule = Some(Box::new(move |now, _| now > ms(3_000) && !std::mem::replace(&mut lost, true)));
    bench.add(&plain(), &CONTROL, Time::ZERO, None);
    bench.run(ms(3_000));
    let segments = |bench: &SharedBottleneck| bbr(bench, 0).window().get() / SEGMENT;
    let (before, mut least) = (segments(&bench), u64::MAX);
    bench.watch(ms(3_100), |bench| least = least.min(segments(bench)));
    let after = segments(&bench);
    let product = bench.product() as u64;
    assert!((product - 2..=product * 13 / 10).contains(&least), "{before}, {least}, {after}");
    assert!(after + 2 >= before, "{before}, {least}, {after}");
}

#[test]
fn a_policers_rate_is_found_and_used_without_loss_for_48_rounds() {
    // A bucket of 40 KB that fills at 20 of the path's 100 Mb/s. Half a second has 25 round trips, some without any
    // loss.
    let lossless = |policer| {
        let (mut bench, bucket) = (path(100, 10, 1.0), 40_000.0);
        let (mut tokens, mut filled_at) = (bucket, Time::ZERO);
        bench.drop_rule = Some(Box::new(move |now, size| {
            let refill = 20e6 / 8.0 * (now - filled_at).as_secs_f64();
            (tokens, filled_at) = (f64::min(tokens + refill, bucket), now);
            let lost = tokens < size.get() as f64;
            tokens -= if lost { 0.0 } else { size.get() as f64 };
            lost
        }));
        let config = bbr::Config { policer, ..bbr::Config::LINUX_IDEAL };
        bench.add(&plain(), &any::Config::Bbr(config), Time::ZERO, None);
        let mut rates = vec![];
        for step in 1..10 {
            let before = bench.drops;
            bench.run(ms(step * 500));
            if bench.drops == before {
                rates.push(bbr(&bench, 0).bw().map_or(0.0, |rate| rate.get() as f64));
            }
        }
        rates
    };
    let (with, without) = (lossless(true), lossless(false));
    assert!(with.len() >= 3 && without.is_empty(), "{with:?} and {without:?}");
    let carried = 20e6 * 1460.0 / 1538.0;
    assert!(with.iter().all(|rate| (rate / carried - 1.0).abs() < 0.01), "{with:?}");
}
