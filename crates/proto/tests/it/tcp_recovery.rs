//! How TCP finds losses and repairs them.

use crate::support::tcp::{SEGMENT, ms, pair, plain};
use crate::support::{CapturedPacket, Path};
use shallop_control::{any, reno};
use shallop_core::{Span, Time};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, Detection, Head, Stack};

fn rack() -> Config {
    Config { handshake: false, ..Stack::LINUX_IDEAL.tcp }
}

/// Drops the first transmission of these segments.
fn losing(segments: Vec<u64>) -> impl FnMut(&CapturedPacket<Head>) -> bool + 'static {
    let mut left = segments;
    move |packet| {
        let number = packet.body.start / SEGMENT;
        let hit = packet.from == 0 && left.contains(&number);
        left.retain(|&lost| !(hit && lost == number));
        hit
    }
}

/// The times of retransmissions of a flow with a window of 64 segments that loses 8 of them.
fn repeats(detection: Detection) -> Vec<Time> {
    let config = Config { detection, initial_window: 64, ..plain() };
    let control = any::Config::Reno(reno::Config::RFC);
    let lost: Vec<_> = (0..8).map(|n| 70 + n * 3).collect();
    let pair = pair(&config, &control, 400 * SEGMENT, Path::clean()).with_drops(losing(lost)).complete_by(ms(2_000));
    assert_eq!((pair.carried(), pair.ends[0].counters().timeouts), (vec![(0, 400 * SEGMENT)], 0));
    let mut known = 0;
    let again = |packet: &&CapturedPacket<Head>| {
        let again = packet.body.start < known;
        known = known.max(packet.body.end);
        again
    };
    let data = pair.capture.iter().filter(|packet| packet.from == 0);
    let times: Vec<_> = data.filter(again).map(|packet| packet.sent).collect();
    assert_eq!(times.len(), 8, "each hole is filled once");
    times
}

#[test]
fn without_sack_each_loss_takes_a_round_trip_and_with_sack_all_take_one() {
    let round_trips = |detection| {
        let times = repeats(detection);
        (times[7] - times[0]).ratio(Span::from_ms(10))
    };
    let counted = round_trips(Detection::DuplicateAcks);
    assert!((7.0..7.3).contains(&counted), "{counted}");
    for detection in [Detection::Sack, Detection::Rack] {
        let told = round_trips(detection);
        assert!(told < 1.0, "{detection:?}: {told}");
    }
}

#[test]
fn rack_repairs_a_lost_retransmission_without_the_timeout_that_rfc_6675_needs() {
    let timeouts = |config: &Config| {
        let mut lost = vec![];
        let mut pair = pair(config, &any::Config::Reno(reno::Config::RFC), 300 * SEGMENT, Path::clean()).with_drops(
            move |packet| {
                let hit = packet.from == 0 && packet.body.start == 30 * SEGMENT && lost.len() < 2;
                if hit {
                    lost.push(packet.sent);
                }
                hit
            },
        );
        assert!(pair.run(ms(5_000)));
        pair.ends[0].counters().timeouts
    };
    assert_eq!((timeouts(&rack()), timeouts(&plain())), (0, 1));
}

#[test]
fn needless_retransmissions_widen_racks_reordering_window() {
    // Given frequent reordering by more than a quarter of the round trip,
    let path = Path { reorder: 0.02, late: Span::from_ms(9), ..Path::clean() };
    let control = any::Config::Reno(reno::Config::RFC);
    let repeats = |config: &Config| {
        let pair = pair(config, &control, 3_000 * SEGMENT, path).complete_by(ms(60_000));
        pair.ends[0].counters().retransmits
    };
    // then RACK learns to wait, and RFC 6675 does not.
    let (by_time, by_order) = (repeats(&rack()), repeats(&plain()));
    assert!(by_time * 2 < by_order, "{by_time} against {by_order}");
}
