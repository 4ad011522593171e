//! How TCP finds losses and repairs them.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair, plain, us};
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
fn after_one_loss_of_twenty_as_many_segments_leave_as_the_controller_wants() {
    for target in [10, 14] {
        // Given twenty segments in flight, the first of which is lost.
        let mut hand = SenderHarness::new(&plain(), Spy::shrinking(20, target));
        assert_eq!(hand.leaving().len(), 20);
        // When the others are acknowledged one by one,
        let mut left = vec![];
        for number in 1..22 {
            hand.ack(us(10_000 + number), 0, &[(1, number + 1)]);
            left.push(hand.leaving());
        }
        // then the first two acknowledgements release a new segment each, and the others are spread evenly.
        assert_eq!(left[..3], [vec![20], vec![21], vec![0]]);
        let during: usize = left[2..].iter().map(Vec::len).sum();
        assert_eq!(during as u64, target, "{left:?}");
        assert!(left[2..].iter().all(|now| now.len() <= 1), "{left:?}");
        assert_eq!(hand.sender.scoreboard.pipe(), target * SEGMENT);
        // When the retransmission is acknowledged, recovery is over.
        hand.ack(us(20_000), 22, &[(22, 22 + target - 1)]);
        assert_eq!((hand.spy().losses.len(), hand.spy().exits.len()), (1, 1));
        assert_eq!(hand.spy().losses[0].prior_in_flight.get(), 20 * SEGMENT);
    }
}

#[test]
fn prr_does_not_limit_a_controller_that_owns_recovery() {
    let mut hand = SenderHarness::new(&plain(), Spy { owns: true, ..Spy::new(20) }).started();
    for number in 1..10 {
        hand.ack(us(10_000 + number), 0, &[(1, number + 1)]);
        hand.take();
        assert_eq!(hand.sender.scoreboard.pipe(), 20 * SEGMENT);
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
