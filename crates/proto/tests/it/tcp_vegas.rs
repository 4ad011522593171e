//! Vegas through a queue: what it keeps there, and what a flow that comes late makes of it.

use crate::support::shared_bottleneck::{Link, SharedBottleneck};
use crate::support::tcp::{SEGMENT, ms, plain};
use shallop_control::vegas::{Clock, Config};
use shallop_control::{Window, any};
use shallop_core::{BitsPerSec, Span, Time};

const LINK: Link = Link { rate: BitsPerSec::gbps(10), delay: Span::from_us(100), mark: u32::MAX };
/// Packets on the way and in service when the queue is empty: 100 us hold 81.27 frames of 1538 B.
const PATH: f64 = 82.27;

/// Flows that start this much apart, when they are at rest.
fn at_rest(clock: Clock, flows: usize, apart: Span, end: Time) -> SharedBottleneck {
    let control = any::Config::Vegas(Config { clock, ..Config::EXACT });
    let mut shared = SharedBottleneck::at_once(LINK);
    shared.add_each(&plain(), &control, flows, apart);
    shared.run(end);
    shared
}

fn windows(shared: &SharedBottleneck) -> Vec<u64> {
    shared.flows.iter().map(|flow| flow.sender().controller().window().get() / SEGMENT).collect()
}

#[test]
fn flows_that_know_the_empty_path_keep_two_to_four_packets_each_in_the_queue() {
    for clock in [Clock::Exact, Clock::Microseconds] {
        for flows in [1, 2, 3, 5, 8] {
            // They start within a round trip, so all measure the path before there is a queue.
            let mut shared = at_rest(clock, flows, LINK.delay / flows as u64, ms(45));
            let (from, before) = (shared.now, windows(&shared));
            shared.run(ms(50));
            assert_eq!(windows(&shared), before, "at rest");
            let queued = before.iter().sum::<u64>() as f64 - PATH;
            // What Vegas counts is rounded down, so up to a packet each may be added.
            let (least, most) = (2.0 * flows as f64, 5.0 * flows as f64);
            assert!((least..most).contains(&queued), "{flows} flows: {queued}, {before:?}");
            let (low, high) = shared.queue(from);
            assert!(high - low <= 1 && f64::from(high) < queued + 1.0, "{low} to {high}");
            assert!(shared.utilization(from) > 0.999);
        }
    }
}

#[test]
fn flows_that_come_later_take_the_queue_for_the_path_and_more_of_the_link() {
    let flows = 5;
    let late = at_rest(Clock::Exact, flows, Span::from_ms(60), ms(60 * flows as u64));
    let windows = windows(&late);
    assert!(
        windows.windows(2).all(|pair| pair[0] < pair[1]),
        "in the order they came: {windows:?}"
    );
    assert!(windows[flows - 1] > 2 * windows[0], "{windows:?}");
    let queued = windows.iter().sum::<u64>() as f64 - PATH;
    assert!(queued > 5.0 * flows as f64, "more than any that know the path: {queued}");
}
