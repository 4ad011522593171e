//! Vegas at a bottleneck: the queue that it keeps, and the effect of flows that start later.

use crate::support::shared_bottleneck::{Link, SharedBottleneck};
use crate::support::tcp::{SEGMENT, ms, plain};
use shallop_control::vegas::{Clock, Config};
use shallop_control::{Window, any};
use shallop_core::{BitsPerSec, Span, Time};

const LINK: Link = Link { rate: BitsPerSec::gbps(10), delay: Span::from_us(100), mark: u32::MAX };
/// Packets on the path and in service when the queue is empty: 100 us hold 81.27 frames of 1538 B.
const PATH: f64 = 82.27;

/// Flows that started `apart`, at time `end`, when their windows are constant.
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
            // All start within a round trip, so all measure the path before there is a queue.
            let mut shared = at_rest(clock, flows, LINK.delay / flows as u64, ms(45));
            let (from, before) = (shared.now, windows(&shared));
            shared.run(ms(50));
            assert_eq!(windows(&shared), before, "at rest");
            let queued = before.iter().sum::<u64>() as f64 - PATH;
            // Vegas rounds its count down, so each flow may add one more packet.
            let (least, most) = (2.0 * flows as f64, 5.0 * flows as f64);
            assert!((least..most).contains(&queued), "{flows} flows: {queued}, {before:?}");
            let (low, high) = shared.queue(from);
            assert!(high - low <= 1 && f64::from(high) < queued + 1.0, "{low} to {high}");
            assert!(shared.utilization(from) > 0.999);
        }
    }
}

#[test]
fn later_flows_mistake_the_queue_for_propagation_delay_and_take_more_of_the_link() {
    let flows = 5;
    let late = at_rest(Clock::Exact, flows, Span::from_ms(60), ms(60 * flows as u64));
    let windows = windows(&late);
    assert!(windows.windows(2).all(|pair| pair[0] < pair[1]), "in the order they came: {windows:?}");
    assert!(windows[flows - 1] > 2 * windows[0], "{windows:?}");
    let queued = windows.iter().sum::<u64>() as f64 - PATH;
    assert!(queued > 5.0 * flows as f64, "more than any that know the path: {queued}");
}
