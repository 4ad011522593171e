//! Vegas: known answers of its window update, and the cwnd at which a flow settles.

use crate::support::{FixedRtt, SEGMENT, number, start, table};
use shallop_control::vegas::{Clock, Config, diff};
use shallop_control::{Start, Vegas, Window};
use shallop_core::{Bytes, Span};

const BASE_RTT: Span = Span::from_us(100);

fn config(clock: Clock) -> Config {
    Config { clock, ..Config::EXACT }
}

/// Vegas with this cwnd in packets and this ssthresh.
fn vegas(config: &Config, cwnd: u64, initial_ssthresh: Bytes) -> (Vegas, FixedRtt) {
    let start = Start { initial_window: SEGMENT * cwnd, initial_ssthresh, ..start() };
    (Vegas::new(config, &start), FixedRtt::new(BASE_RTT))
}

fn packets(window: &impl Window) -> u64 {
    window.window().get() / SEGMENT.get()
}

/// Acknowledges one window. Its last ACK ends a round trip of Vegas if the ACK of an earlier segment began that round
/// trip.
fn round(vegas: &mut Vegas, path: &mut FixedRtt) {
    for _ in 0..packets(vegas) {
        path.segment(vegas);
    }
}

#[test]
fn cwnd_stays_with_two_to_four_packets_queued_and_changes_by_one_otherwise() {
    for row in table(include_str!("../../vectors/vegas.csv")) {
        let clock = if row[0] == "exact" { Clock::Exact } else { Clock::Microseconds };
        let [cwnd, rtt, diff, next_cwnd] = [1, 2, 3, 4].map(|field| number(row[field]) as u64);
        let (mut vegas, mut path) = vegas(&config(clock), cwnd, SEGMENT);
        // One packet without a queue, then a round trip with the RTT of the table.
        path.segment(&mut vegas);
        path.rtt = Span::from_ns(rtt);
        round(&mut vegas, &mut path);
        assert_eq!(packets(&vegas), next_cwnd, "{row:?}");
        let ticks = |ns: u64| if row[0] == "exact" { ns } else { ns / 1_000 + 1 };
        assert_eq!(self::diff(cwnd, ticks(100_000), ticks(rtt)), diff, "{row:?}");
    }
}
