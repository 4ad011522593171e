//! Segmentation offload: the length of bursts, the time between them, and the wait for longer ones. Expected lengths
//! are from the integer arithmetic of Linux 6.12's `tcp_tso_autosize`, with segments of 1460 B.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, plain, us};
use shallop_core::{BitsPerSec, Span};
use shallop_proto::{Endpoint, tcp::Config, tcp::offload::autosize};

fn offload() -> Config {
    Config { gso_max_segs: u16::MAX, ..plain() }
}

fn segments(rate: u64, min_rtt: Span) -> u32 {
    autosize(BitsPerSec::new(rate), min_rtt, 1460, 2)
}

#[test]
fn a_burst_is_a_millisecond_of_the_pacing_rate_and_more_where_the_round_trip_is_short() {
    let far = Span::from_ms(100);
    // 62,500,000 B/s >> 10 is 61,035 B.
    assert_eq!(segments(500_000_000, far), 41);
    assert_eq!(segments(62_500_000, far), 5);
    assert_eq!(segments(1_000_000_000, far), 44, "65,215 B at the most");
    assert_eq!(segments(u64::MAX, far), 44);
    // 2,000 us >> 9 is 3, and 65,215 B >> 3 are 8,151 B besides 7,629 B of the rate.
    assert_eq!(segments(62_500_000, Span::from_ms(2)), 10);
    assert_eq!(segments(62_500_000, Span::from_us(511)), 44);
    assert_eq!(segments(62_500_000, Span::from_us(512)), 27, "half of it");
    // 16,383 us >> 9 is 31: nothing is left of 64 KB.
    assert_eq!(segments(62_500_000, Span::from_us(16_383)), 5);
    assert_eq!(segments(62_500_000, Span::ZERO), 5, "no sample");
}

#[test]
fn a_burst_has_minimum_length_at_low_rates_and_maximum_length_before_the_rate_is_known() {
    let rate = BitsPerSec::new(1_000_000);
    assert_eq!(autosize(rate, Span::from_ms(100), 1460, 2), 2);
    assert_eq!(autosize(rate, Span::from_ms(100), 1460, 1), 1, "BBR below 1.2 Mb/s");
    assert_eq!(autosize(None, Span::ZERO, 1460, 2), 44);
    assert_eq!(autosize(None, Span::ZERO, 9000, 2), 7);
}

#[test]
fn bursts_leave_whole_and_are_spaced_at_the_pacing_rate() {
    // 80 Mb/s: 9,765 B or 6 segments in 2^-10 s, which take 876 us.
    let spy = Spy { pace: BitsPerSec::new(80_000_000), ..Spy::new(100) };
    let mut tcp = SenderHarness::new(&offload(), spy);
    assert_eq!(tcp.leaving().len(), 12, "the first burst is not paced: it has less than ten segments");
    assert_eq!(tcp.advance(us(876)), []);
    assert_eq!(tcp.leaving(), [12, 13, 14, 15, 16, 17]);
    let sent = tcp.advance(us(2 * 876 + 1));
    assert_eq!(sent, (18..24).map(|number| (us(2 * 876), number)).collect::<Vec<_>>());
}

#[test]
fn gso_max_segs_bounds_a_burst_and_one_turns_bursts_off() {
    let left = |gso_max_segs| {
        let spy = Spy { pace: BitsPerSec::new(80_000_000), ..Spy::new(100) };
        let mut tcp = SenderHarness::new(&Config { gso_max_segs, ..offload() }, spy).started();
        tcp.advance(us(5_000)).len()
    };
    let mut alone = SenderHarness::new(
        &Config { gso_max_segs: 1, ..offload() },
        Spy { pace: BitsPerSec::new(80_000_000), ..Spy::new(100) },
    );
    assert_eq!(alone.leaving(), [0]);
    assert_eq!(alone.advance(us(147)), [(us(146), 1)]);
    // Within 5 ms after the start: 17 bursts of 292 us, 8 of 584 us, 5 of 876 us.
    assert_eq!([left(2), left(4), left(u16::MAX)], [34, 32, 30]);
}

#[test]
fn a_burst_is_at_most_half_of_the_congestion_window() {
    // 1 Gb/s: 44 segments, but a window of 24 has two bursts of 12, which take 140 us each.
    let spy = Spy { pace: BitsPerSec::new(1_000_000_000), ..Spy::new(24) };
    let mut tcp = SenderHarness::new(&offload(), spy);
    assert_eq!(tcp.leaving().len(), 12);
    assert_eq!(tcp.advance(us(150)).len(), 12);
}

/// A sender without pacing, with 30 segments in flight and a smoothed round-trip time of 10 ms. Twice 4.38 MB/s is
/// 8,554 B in 2^-10 s, 5 segments.
fn in_flight() -> SenderHarness {
    let mut tcp = SenderHarness::new(&offload(), Spy::new(30));
    assert_eq!(tcp.leaving().len(), 30);
    assert_eq!(tcp.sends_after_ack(ms(10), 20, &[]), (30..50).collect::<Vec<_>>());
    tcp
}

#[test]
fn new_data_waits_until_the_window_allows_a_burst() {
    let mut tcp = in_flight();
    for acked in [22, 24] {
        assert_eq!(tcp.sends_after_ack(ms(10), acked, &[]), [0; 0]);
    }
    assert_eq!(tcp.sends_after_ack(ms(10), 26, &[]), [50, 51, 52, 53, 54]);
    assert!(tcp.spy().acks.iter().all(|ack| ack.is_cwnd_limited), "waiting is for the window");
}

#[test]
fn new_data_does_not_wait_for_longer_than_a_millisecond_after_the_last() {
    let mut tcp = in_flight();
    assert_eq!(tcp.sends_after_ack(us(11_000), 22, &[]), [0; 0]);
    assert_eq!(tcp.sends_after_ack(us(11_001), 22, &[]), [50, 51]);
}

#[test]
fn new_data_does_not_wait_if_no_acknowledgement_is_due() {
    // The first segment in flight left at 10 ms, and the next acknowledgement is due at 20 ms.
    let mut tcp = in_flight();
    tcp.ack(ms(10), 30, &[]);
    assert_eq!(tcp.leaving().len(), 10);
    assert_eq!(tcp.sends_after_ack(us(10_500), 32, &[]), [60, 61]);
}

#[test]
fn new_data_does_not_wait_in_recovery() {
    let mut tcp = in_flight();
    assert_eq!(tcp.sends_after_ack(ms(10), 22, &[]), [0; 0]);
    assert_eq!(tcp.sends_after_ack(ms(10), 22, &[(23, 26)]), [22, 50, 51], "the lost segment, and fewer than a burst");
    assert_eq!(tcp.sends_after_ack(ms(10), 22, &[(23, 28)]), [52, 53]);
}

#[test]
fn the_end_of_an_applications_write_does_not_wait_for_the_next_write() {
    // Pieces have 44 segments: four of the first one are left.
    let mut tcp = SenderHarness::new(&offload(), Spy::new(30));
    assert_eq!(tcp.leaving().len(), 30);
    assert_eq!(tcp.sends_after_ack(ms(10), 10, &[]), (30..40).collect::<Vec<_>>());
    assert_eq!(tcp.sends_after_ack(ms(10), 13, &[]), [0; 0]);
    assert_eq!(tcp.sends_after_ack(ms(10), 14, &[]), [40, 41, 42, 43]);
}

#[test]
fn a_burst_that_has_begun_leaves_whole_even_if_the_window_shrinks() {
    let pace = BitsPerSec::new(80_000_000);
    let mut tcp = SenderHarness::new(&offload(), Spy { pace, ..Spy::shrinking(100, 10) });
    assert_eq!(tcp.leaving().len(), 12);
    tcp.advance(us(876));
    assert_eq!(tcp.sender.poll(us(876)).map(|out| out.body.start / SEGMENT), Some(12));
    assert_eq!(tcp.sends_after_ack(us(876), 0, &[(1, 5)]), [13, 14, 15, 16, 17]);
}
