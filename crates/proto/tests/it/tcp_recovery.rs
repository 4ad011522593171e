//! How TCP finds losses and repairs them.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair, plain, us};
use crate::support::{CapturedPacket, Path};
use shallop_control::{any, reno};
use shallop_core::{Ecn, Span, Time};
use shallop_proto::tcp::{Config, Detection, EcnConfig, Flags, Head, Stack};
use shallop_proto::{Endpoint, tcp::segment::SegmentState};

const FOREVER: Time = Time::LAST;

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
fn a_segment_is_lost_with_three_sacked_above_and_not_with_two() {
    let mut hand = SenderHarness::new(&plain(), Spy::new(10)).started();
    assert_eq!(hand.sends_after_ack(ms(10), 0, &[(2, 3), (5, 6)]), [10, 11]);
    hand.ack(ms(11), 0, &[(8, 9), (5, 6), (2, 3)]);
    let board = &hand.sender.scoreboard;
    let lost: Vec<_> = (0..12).filter(|&n| board.segment(n).is_some_and(|r| r.state == SegmentState::Lost)).collect();
    assert_eq!(lost, [0, 1], "3 and 4 have two above them");
    assert_eq!(hand.spy().losses.len(), 1);
}

#[test]
fn nextseg_rules_3_and_4_retransmit_possibly_lost_segments_and_the_tail_once() {
    // Given a message of ten segments, all sent, of which only 2, 5 and 8 arrived.
    let mut hand = SenderHarness::sized(&plain(), Spy::new(10), Some(10)).started();
    hand.ack(ms(10), 0, &[(2, 3), (5, 6), (8, 9)]);
    // Then 0 and 1 are sent as lost, the possibly lost ones as far as the reduction allows, and at last the tail.
    let mut left = hand.leaving();
    assert_eq!(left[..2], [0, 1]);
    for now in 20..26 {
        let next = left.len() as u64;
        hand.ack(ms(now), u64::from(next > 1), &[(2, 3), (5, 6), (8, 9)]);
        left.extend(hand.leaving());
    }
    assert_eq!(left, [0, 1, 3, 4, 6, 7, 9]);
}

#[test]
fn rack_marks_a_segment_lost_a_quarter_round_trip_after_a_later_delivery() {
    // Given a path with a minimum round trip of 80 ms that has reordered.
    let mut hand = SenderHarness::new(&rack(), Spy::new(3)).started();
    hand.ack(ms(80), 0, &[(1, 2)]);
    hand.ack(ms(80), 2, &[]);
    assert_eq!(hand.sends_after_ack(ms(85), 3, &[]), [3, 4, 5]);
    // When a segment that was sent just after a lost one is acknowledged after 100 ms,
    hand.ack(ms(185), 3, &[(4, 5)]);
    let left = hand.leaving();
    assert!(left.iter().all(|&number| number > 5), "not lost yet: {left:?}");
    // then the lost one is marked 120 ms after it was sent: a round trip and a quarter of the minimum.
    let left = hand.advance(ms(400));
    assert_eq!(left.first(), Some(&(ms(85 + 120), 3)));
}

#[test]
fn rack_does_not_wait_after_three_sacked_segments_on_a_path_without_reordering() {
    let mut hand = SenderHarness::new(&rack(), Spy::new(10)).started();
    hand.ack(ms(80), 0, &[(1, 2)]);
    assert!(!hand.leaving().contains(&0));
    hand.ack(ms(81), 0, &[(1, 4)]);
    assert_eq!(hand.leaving()[0], 0);
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
fn a_tail_loss_probe_is_sent_two_round_trips_after_the_last_segment() {
    // Given a smoothed round trip of 100 ms and a tail of two segments that is lost,
    let mut hand = SenderHarness::sized(&rack(), Spy::new(2), Some(4)).started();
    assert_eq!(hand.sends_after_ack(ms(100), 2, &[]), [2, 3]);
    // then the last segment is sent again 200 ms later, long before the timeout,
    let left = hand.advance(ms(2_000));
    assert_eq!(left[0], (ms(300), 3));
    // and the timeout of 300 ms (round trip and minimum deviation) runs from there.
    assert_eq!(left[1], (ms(600), 2));
}

#[test]
fn a_probe_with_one_segment_in_flight_waits_for_a_delayed_acknowledgement() {
    let mut hand = SenderHarness::sized(&rack(), Spy::new(2), Some(3)).started();
    assert_eq!(hand.sends_after_ack(ms(100), 2, &[]), [2]);
    assert_eq!(hand.advance(ms(2_000))[0], (ms(340), 2));
}

#[test]
fn a_probe_that_repaired_a_loss_reduces_the_window_and_a_needless_one_does_not() {
    for (needless, reductions) in [(false, 1), (true, 0)] {
        let mut hand = SenderHarness::new(&rack(), Spy::new(2)).started();
        assert_eq!(hand.sends_after_ack(ms(100), 2, &[]), [2, 3]);
        // A receive window of two segments allows no new data, so the probe is a retransmission.
        let closed = Head { ack: 2 * SEGMENT, flags: Flags::ACK, window: 2, scale: 10, ..Head::default() };
        hand.sender.on_packet(ms(100), &closed, Ecn::NotEct);
        assert_eq!(hand.advance(ms(320)), [(ms(300), 3)]);
        if needless {
            hand.ack(ms(400), 4, &[]);
            hand.ack(ms(401), 4, &[(3, 4)]);
        } else {
            hand.ack(ms(400), 4, &[]);
        }
        hand.take();
        hand.answer(ms(500), 6, &[], Flags::ACK | Flags::ECE);
        assert_eq!(hand.spy().losses.len(), reductions);
        assert_eq!(hand.spy().marks.len(), 1 - reductions, "a mark in the same window is answered with it");
    }
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

#[test]
fn a_timeout_retransmits_exactly_what_was_not_received() {
    let mut hand = SenderHarness::new(&plain(), Spy::shrinking(10, 1)).started();
    assert_eq!(hand.sends_after_ack(ms(10), 0, &[(4, 6)]), [10, 11]);
    // Without acknowledgements the first missing segment is sent after a timeout, and again after a doubled one.
    let left = hand.advance(ms(1_000));
    let first = ms(200);
    assert_eq!(left[..2], [(first, 0), (first + Span::from_ms(400), 0)]);
    let timeouts: Vec<_> = hand.spy().timeouts.iter().map(|&(_, first)| first).collect();
    assert_eq!(timeouts, [true, false]);
    // With acknowledgements the others follow, but not those that were received.
    let mut repeated = vec![];
    for (at, next) in [(1_001, 1), (1_002, 2), (1_003, 3), (1_004, 6), (1_005, 7), (1_006, 8)] {
        hand.ack(ms(at), next, if next < 4 { &[(4, 6)] } else { &[] });
        repeated.extend(hand.leaving());
    }
    assert_eq!(repeated, [1, 2, 3, 6, 7, 8]);
}

#[test]
fn the_controller_knows_when_snd_una_advances() {
    // Given a timeout after which four segments are sent again, and the first of them is lost again,
    let mut hand = SenderHarness::new(&plain(), Spy::shrinking(10, 4)).started();
    let left = hand.advance(ms(3_500));
    assert_eq!(left.iter().map(|&(_, number)| number).collect::<Vec<_>>(), [0, 1, 2, 3]);
    // when the other segments are acknowledged selectively,
    for (at, last) in [(3_501, 2), (3_502, 3), (3_503, 4), (3_504, 5)] {
        hand.ack(ms(at), 0, &[(1, last)]);
        hand.take();
    }
    hand.ack(ms(3_505), 5, &[]);
    // then only the last acknowledgement advances SND.UNA.
    let told = hand.spy().acks.iter().map(|ack| (ack.acked_sacked.get(), ack.snd_una_advance.get()));
    let beyond = (SEGMENT, 0);
    let last = (SEGMENT, 5 * SEGMENT);
    assert_eq!(told.collect::<Vec<_>>(), [beyond, beyond, beyond, beyond, last]);
}

#[test]
fn the_initial_rto_holds_until_the_first_sample() {
    for (stack, first) in [(Stack::NS2, 3_000), (Stack::NS3, 1_000), (Stack::LINUX_IDEAL, 1_000)] {
        let config = Config { detection: Detection::Sack, ..stack.tcp };
        let mut hand = SenderHarness::new(&config, Spy::new(2)).started();
        assert_eq!(hand.advance(FOREVER.min(ms(first + 1)))[0], (ms(first), 0));
    }
}

/// Both stacks of Linux, the one with the kernel's habits first.
const LINUX: [Config; 2] = [Stack::LINUX.tcp, Stack::LINUX_IDEAL.tcp];

/// Kernel: `tcp_enter_loss`, which leaves the threshold while data of a reduction is in flight.
#[test]
fn a_timeout_in_linuxs_fast_recovery_does_not_reduce_again() {
    let reduces = LINUX.map(|config| {
        let mut hand = SenderHarness::new(&config, Spy::shrinking(20, 10)).started();
        hand.ack(ms(10), 0, &[(1, 8)]);
        hand.take();
        hand.advance(ms(2_000));
        assert_eq!(hand.spy().losses.len(), 1);
        hand.spy().timeouts[0].1
    });
    assert_eq!(reduces, [false, true]);
}

/// Kernel: `FLAG_LOST_RETRANS` in `tcp_fastretrans_alert`.
#[test]
fn in_linux_a_retransmission_that_is_lost_after_a_timeout_begins_a_fast_recovery() {
    let losses = LINUX.map(|config| {
        let mut hand = SenderHarness::new(&config, Spy::shrinking(20, 10)).started();
        hand.advance(ms(2_500));
        assert_eq!(hand.spy().timeouts.len(), 1);
        hand.ack(ms(2_510), 0, &[(1, 2)]);
        hand.spy().losses.len()
    });
    assert_eq!(losses, [1, 0]);
}

/// Kernel: `tcp_is_cwnd_limited`.
#[test]
fn in_linuxs_slow_start_a_window_grows_that_is_used_by_more_than_half() {
    let limited = |config: Config| {
        [9, 12].map(|segments| {
            let mut hand = SenderHarness::sized(&config, Spy::new(20), Some(segments)).started();
            hand.ack(ms(10), 4, &[]);
            hand.spy().acks[0].is_cwnd_limited
        })
    };
    assert_eq!(LINUX.map(limited), [[false, true], [false, false]]);
}

/// Kernel: `tcp_schedule_loss_probe`. New data that is sent while the window shrinks for a mark stops RACK's timer.
#[test]
fn in_linux_data_that_is_sent_in_a_reduction_for_a_mark_stops_the_timer_of_reordering() {
    let ecn = EcnConfig { ecn_gradual: true, ..EcnConfig::EXACT };
    let repeated = LINUX.map(|config| {
        let mut hand = SenderHarness::new(&Config { ecn, ..config }, Spy::shrinking(20, 10)).started();
        hand.answer(ms(10), 4, &[(6, 7)], Flags::ACK | Flags::ECE);
        assert_eq!(hand.leaving()[0], 20, "new data");
        hand.advance(ms(15)).iter().any(|&(_, number)| number == 4)
    });
    assert_eq!(repeated, [false, true]);
}
