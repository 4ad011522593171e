//! Spurious recoveries and timeouts are undone; others are not.

use crate::support::Path;
use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair, sender};
use shallop_control::{any, cubic, reno};
use shallop_core::{BitsPerSec, Bytes, Span, Time};
use shallop_proto::tcp::{Config, Detection, Flags, Spurious, Stack};
use shallop_proto::{Endpoint, tcp::segment::SegmentState};

const DSACK: Spurious = Spurious { dsack: true, ..Spurious::OFF };
const TIMESTAMPS: Spurious = Spurious { timestamps: true, ..Spurious::OFF };
const FRTO: Spurious = Spurious { frto: true, ..Spurious::OFF };
const EACH: [Spurious; 3] = [DSACK, TIMESTAMPS, FRTO];

fn linux(spurious: Spurious) -> Config {
    Config { handshake: false, spurious, ..Stack::LINUX_IDEAL.tcp }
}

/// A sender with ten segments in flight since 0 ms. A reduction leaves `after` of its window of ten.
fn ten(config: &Config, after: u64) -> SenderHarness {
    let mut hand = SenderHarness::new(config, Spy::shrinking(10, after));
    assert_eq!(hand.leaving().len(), 10);
    hand
}

/// A sender of ten segments in fast recovery since 80 ms: segments 1, 2 and 3 have arrived, 0 was retransmitted, and 10
/// was sent.
fn recovering(spurious: Spurious) -> SenderHarness {
    let mut hand = ten(&linux(spurious), 5);
    assert_eq!(hand.sends_after_ack(ms(80), 0, &[(1, 4)]), [0, 10]);
    assert_eq!((hand.spy().losses.len(), window(&hand)), (1, 5));
    hand
}

fn window(hand: &SenderHarness) -> u64 {
    hand.spy().window.get() / SEGMENT
}

/// The number of undone recoveries and of retransmissions found spurious.
fn undone(hand: &SenderHarness) -> (u64, u64) {
    let report = hand.sender.counters();
    (report.undos, report.spurious_retransmits)
}

/// RFC 2883, 5.2: the first of several segments is delayed and retransmitted, and arrives before its retransmission.
#[test]
fn a_fast_retransmit_caused_by_reordering_is_undone_when_the_duplicate_is_reported() {
    let mut hand = recovering(DSACK);
    hand.ack(ms(81), 4, &[]);
    hand.take();
    assert_eq!((window(&hand), undone(&hand)), (5, (0, 0)), "the retransmission may have filled the gap");
    hand.ack(ms(160), 4, &[(0, 1)]);
    assert_eq!((window(&hand), undone(&hand)), (10, (1, 1)));
    assert_eq!((hand.spy().undos.len(), hand.spy().exits.len()), (1, 1), "recovery is over");
    hand.take();
    assert_eq!(hand.sender.scoreboard.pipe(), 10 * SEGMENT, "the window is used");
}

/// RFC 3522, 3.2: an echoed timestamp older than the retransmission's shows at once that the original arrived.
#[test]
fn a_fast_retransmit_caused_by_reordering_is_undone_when_the_timestamp_of_the_original_is_echoed() {
    let mut hand = recovering(TIMESTAMPS);
    hand.echo(ms(81), 4, &[], ms(0));
    assert_eq!((window(&hand), undone(&hand).0), (10, 1));
    assert_eq!(hand.spy().exits.len(), 1);
    let prior = hand.spy().undos[0];
    assert_eq!(prior.prior_cwnd, Bytes::new(10 * SEGMENT));
    assert_eq!(prior.prior_ssthresh, Bytes::MAX, "it was not known");
}

#[test]
fn a_fast_retransmit_that_filled_the_gap_is_not_undone() {
    for spurious in [Spurious::LINUX, DSACK, TIMESTAMPS, FRTO, Spurious::OFF] {
        let mut hand = recovering(spurious);
        hand.echo(ms(160), 4, &[], ms(80));
        hand.take();
        hand.ack(ms(161), 10, &[]);
        assert_eq!((window(&hand), undone(&hand)), (5, (0, 0)), "{spurious:?}");
        assert_eq!(hand.spy().exits.len(), 1, "recovery is over");
    }
}

#[test]
fn nothing_is_undone_without_a_detection_method() {
    let mut hand = recovering(Spurious::OFF);
    hand.echo(ms(81), 4, &[], ms(0));
    hand.ack(ms(160), 10, &[(0, 1)]);
    assert_eq!((window(&hand), undone(&hand)), (5, (0, 0)));
}

/// RFC 3708, 2: an undo requires that every retransmission was unnecessary.
#[test]
fn one_needed_retransmission_of_two_prevents_the_undo() {
    for needed in [false, true] {
        let mut hand = ten(&linux(DSACK), 8);
        hand.ack(ms(80), 0, &[(2, 6)]);
        assert_eq!(hand.leaving()[..2], [0, 1]);
        hand.ack(ms(160), 10, &[]);
        hand.ack(ms(161), 10, &[(0, 1)]);
        assert_eq!((window(&hand), undone(&hand)), (8, (0, 1)));
        if !needed {
            hand.ack(ms(162), 10, &[(1, 2)]);
        }
        assert_eq!((window(&hand), undone(&hand).0), if needed { (8, 0) } else { (10, 1) });
    }
}

#[test]
fn duplicates_made_by_the_network_prove_nothing() {
    // Given a real loss, and a network that duplicates two segments which were sent once.
    let mut hand = recovering(DSACK);
    hand.ack(ms(81), 0, &[(2, 3), (1, 4)]);
    hand.ack(ms(82), 0, &[(3, 4), (1, 4)]);
    hand.echo(ms(160), 4, &[], ms(80));
    hand.ack(ms(161), 10, &[]);
    assert_eq!((window(&hand), undone(&hand).0), (5, 0));
}

/// Linux waits until no retransmission is in flight: new segments are sent, but no further retransmissions.
#[test]
fn an_original_that_arrives_during_a_retransmission_holds_back_further_ones() {
    // Given segments 0, 1 and 2 marked lost, of which 0 and 1 were retransmitted,
    let mut hand = ten(&linux(TIMESTAMPS), 6);
    assert_eq!(hand.sends_after_ack(ms(80), 0, &[(3, 6)]), [0, 1]);
    assert_eq!(hand.sender.scoreboard.lost, SEGMENT);
    // when the original of 0 arrives while the retransmission of 1 is in flight,
    hand.echo(ms(81), 1, &[(3, 7)], ms(0));
    assert_eq!(hand.leaving(), [10, 11], "new, and not 2");
    assert_eq!((window(&hand), undone(&hand).0), (6, 0));
    // then the undo waits for the retransmission of 1.
    hand.echo(ms(82), 2, &[(3, 7)], ms(0));
    assert_eq!((window(&hand), undone(&hand).0), (10, 1));
    let board = &hand.sender.scoreboard;
    assert!(board.segment(2).is_some_and(|segment| segment.state == SegmentState::InFlight && !segment.retransmitted));
}

/// A sender after a timeout at 1 s: segment 0 was retransmitted, and the window is one segment. Tail loss probes are
/// off, as they would come first.
fn timed_out(spurious: Spurious) -> SenderHarness {
    let config = Config { detection: Detection::Sack, ..linux(spurious) };
    let mut hand = ten(&config, 1);
    assert_eq!(hand.advance(ms(1_001)), [(ms(1_000), 0)]);
    assert_eq!((hand.spy().timeouts.len(), window(&hand)), (1, 1));
    hand
}

/// RFC 5682, 3.1: after the timeout, two acknowledgements advance, the second for data that was not retransmitted.
#[test]
fn a_timeout_of_delayed_segments_is_undone_by_f_rto() {
    let mut hand = timed_out(FRTO);
    // When the first acknowledgement covers the retransmission, new segments are sent instead of 1 (step 2b).
    assert_eq!(hand.sends_after_ack(ms(1_010), 1, &[]), [10]);
    assert_eq!((window(&hand), undone(&hand).0), (1, 0));
    // When the second one covers 1, which was sent once, the timeout was spurious (step 3b).
    hand.ack(ms(1_011), 2, &[]);
    assert_eq!((window(&hand), undone(&hand).0), (10, 1));
    assert_eq!(hand.leaving(), [11], "nine are in flight, and nothing is sent again");
    assert_eq!((hand.sender.counters().retransmits, hand.spy().exits.len()), (1, 1));
}

#[test]
fn a_timeout_is_spurious_if_the_next_ack_covers_more_than_the_retransmission() {
    let mut hand = timed_out(FRTO);
    hand.ack(ms(1_010), 2, &[]);
    assert_eq!((window(&hand), undone(&hand).0), (10, 1));
}

/// RFC 5682, 3.1, step 3a: the new segments arrive, and those in flight at the timeout are missing.
#[test]
fn a_timeout_after_a_loss_is_not_undone() {
    for spurious in [FRTO, Spurious::LINUX] {
        let mut hand = timed_out(spurious);
        assert_eq!(hand.sends_after_ack(ms(1_080), 1, &[]), [10]);
        assert_eq!(hand.sends_after_ack(ms(1_160), 1, &[(10, 11)]), [1], "back to the repair");
        assert_eq!(hand.sends_after_ack(ms(1_240), 2, &[(10, 11)]), [2]);
        assert_eq!((window(&hand), undone(&hand)), (1, (0, 0)));
    }
}

#[test]
fn a_timeout_of_delayed_segments_is_undone_when_the_timestamp_of_an_original_is_echoed() {
    let mut hand = timed_out(TIMESTAMPS);
    hand.echo(ms(1_010), 1, &[], ms(0));
    assert_eq!((window(&hand), undone(&hand).0), (10, 1));
    assert_eq!(hand.leaving(), [10]);
    assert_eq!(hand.sender.counters().retransmits, 1);
}

/// RFC 2883, 5.3: all acknowledgements of a window are lost, so the retransmission is unnecessary.
#[test]
fn a_timeout_for_lost_acknowledgements_is_undone_when_the_duplicate_is_reported() {
    let mut hand = timed_out(DSACK);
    hand.ack(ms(1_080), 10, &[(0, 1)]);
    assert_eq!((window(&hand), undone(&hand)), (10, (1, 1)));
    assert_eq!(hand.spy().exits.len(), 1);
}

#[test]
fn undo_after_a_second_timeout_restores_the_window_before_the_first() {
    for spurious in EACH {
        let mut hand = timed_out(spurious);
        let left = hand.advance(ms(3_001));
        assert_eq!(left, [(ms(3_000), 0)]);
        hand.echo(ms(3_010), 10, &[(0, 1)], ms(0));
        let all_reported = spurious != DSACK;
        if !all_reported {
            assert_eq!(undone(&hand).0, 0, "one of two");
            hand.ack(ms(3_011), 10, &[(0, 1)]);
        }
        assert_eq!((window(&hand), undone(&hand).0), (10, 1), "{spurious:?}");
    }
}

/// A clock of 16 bits cannot distinguish timestamps half a minute old from new ones.
#[test]
fn timestamps_half_a_minute_apart_are_not_compared() {
    let mut hand = timed_out(TIMESTAMPS);
    let left = hand.advance(ms(40_000));
    let last = left.last().map(|&(at, _)| at).unwrap_or_default();
    assert_eq!(last, ms(31_000), "after 1, 3, 7 and 15 s");
    hand.echo(ms(40_000), 1, &[], last);
    assert_eq!((window(&hand), undone(&hand).0), (1, 0), "the fifth retransmission was the first to arrive");
}

/// RFC 3168, 6.1.2: a mark requires the reduction even without a loss.
#[test]
fn a_reduction_for_a_mark_is_never_undone() {
    // A mark with the acknowledgement that shows the loss, and one in the round trip before.
    for before in [false, true] {
        let mut hand = ten(&linux(Spurious::LINUX), 5);
        let echo = Flags::ACK | Flags::ECE;
        if before {
            hand.answer(ms(79), 1, &[], echo);
            assert_eq!((hand.spy().marks.len(), window(&hand)), (1, 5));
            hand.take();
        }
        hand.answer(ms(80), u64::from(before), &[(2, 5)], if before { Flags::ACK } else { echo });
        hand.take();
        hand.echo(ms(81), 5, &[], ms(0));
        assert_eq!(undone(&hand).0, 1, "recovery ends");
        assert_eq!((hand.spy().undos.len(), window(&hand)), (0, 5), "the window stays");
    }
}

/// Linux, `tcp_try_undo_recovery`: the acknowledgement that ends recovery may prove that it was spurious.
#[test]
fn recovery_that_ends_with_an_originals_timestamp_is_undone() {
    let mut hand = recovering(Spurious::LINUX);
    hand.echo(ms(81), 10, &[], ms(0));
    assert_eq!((window(&hand), undone(&hand).0), (10, 1));
    assert_eq!(hand.spy().exits.len(), 1);
}

#[test]
fn segments_marked_lost_are_in_flight_again_after_an_undo() {
    let mut hand = timed_out(FRTO);
    let board = &hand.sender.scoreboard;
    assert_eq!((board.pipe(), board.lost), (SEGMENT, 9 * SEGMENT));
    hand.ack(ms(1_010), 2, &[]);
    let board = &hand.sender.scoreboard;
    assert_eq!((board.pipe(), board.lost), (8 * SEGMENT, 0));
    // All of it is acknowledged as if nothing had happened.
    hand.ack(ms(1_011), 10, &[]);
    assert_eq!(hand.sender.scoreboard.pipe(), 0);
}

const SIZE: u64 = 20_000 * SEGMENT;

/// A link that stalls once for longer than the RTO: an example of RFC 5682, 1.
#[test]
fn controllers_continue_as_before_after_a_path_stalled_for_longer_than_the_rto() {
    let controllers = [
        any::Config::Reno(reno::Config::LINUX_IDEAL),
        any::Config::Cubic(cubic::Config::LINUX_IDEAL),
        any::Config::Cubic(cubic::Config::RFC),
    ];
    let path = Path { rate: BitsPerSec::at_least_one(100_000_000), ..Path::clean() };
    let still = (ms(200), ms(700));
    for controller in controllers {
        let run = |spurious| {
            let config = linux(spurious);
            let mut pair = pair(&config, &controller, SIZE, path)
                .with_extra_delay(move |at: Time| if at >= still.0 { at.max(still.1) } else { at });
            let before = {
                pair.run(still.0);
                sender(&pair).cwnd()
            };
            pair.run(still.1 + Span::from_ms(12));
            let (after, report) = (sender(&pair).cwnd(), pair.ends[0].counters());
            assert!(pair.run(ms(20_000)));
            assert_eq!(pair.carried(), vec![(0, SIZE)]);
            (before, after, report.timeouts, report.undos)
        };
        let (before, after, timeouts, undone) = run(Spurious::LINUX);
        assert_eq!((timeouts, undone), (1, 1), "{controller:?}");
        assert!(after >= before, "{controller:?}: {before:?}, then {after:?}");
        let (before, after, timeouts, undone) = run(Spurious::OFF);
        assert_eq!((timeouts, undone), (1, 0), "{controller:?}");
        assert!(after < before, "{controller:?}: {before:?}, then {after:?}");
    }
}

#[test]
fn undo_keeps_the_rate_on_a_path_that_reorders() {
    // One packet of 200 is up to 9 ms late; the round trip is 10 ms.
    let path = Path { reorder: 0.005, late: Span::from_ms(9), ..Path::clean() };
    let run = |spurious| {
        let config = linux(spurious);
        let control = any::Config::Reno(reno::Config::LINUX_IDEAL);
        let pair = pair(&config, &control, 20_000 * SEGMENT, path).complete_by(ms(60_000));
        let report = pair.ends[0].counters();
        assert_eq!(report.retransmits.min(report.spurious_retransmits), report.spurious_retransmits);
        (pair.now.since_start(), report)
    };
    let ((with, report), (without, _)) = (run(Spurious::LINUX), run(Spurious::OFF));
    assert!(report.undos > 0 && report.spurious_retransmits > 0, "{report:?}");
    assert!(with * 2 < without, "{with:?} against {without:?}");
}
