//! Segmentation offload: the length of bursts, the time between them, and the wait for longer ones. Expected lengths
//! are from the integer arithmetic of Linux 6.12's `tcp_tso_autosize`, with segments of 1460 B.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, plain, us};
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
fn gso_max_segs_bounds_a_burst_and_one_turns_bursts_off() {
    let left = |gso_max_segs| {
        let spy = Spy { pace: BitsPerSec::new(80_000_000), ..Spy::new(100) };
        let mut tcp = SenderHarness::new(&Config { gso_max_segs, ..offload() }, spy).started();
        tcp.advance(us(5_000)).len()
    };
    // Within 5 ms after the start: 17 bursts of 292 us, 8 of 584 us, 5 of 876 us.
    assert_eq!([left(2), left(4), left(u16::MAX)], [34, 32, 30]);
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

#[test]
fn a_burst_that_waits_in_the_host_when_the_application_ends_leaves_whole() {
    let pace = BitsPerSec::new(80_000_000);
    let config = Config { fq_flow_limit: 100, ..offload() };
    let mut tcp = SenderHarness::new(&config, Spy { pace, ..Spy::new(18) });
    tcp.sender = tcp.sender.lasting(Span::from_us(100));
    assert_eq!(tcp.leaving().len(), 12);
    // The rest of the window is planned as one burst, and the application ends before it leaves.
    assert_eq!(tcp.sends_after_ack(us(50), 1, &[]), Vec::<u64>::new());
    let mut bodies = vec![];
    while let Some(due) = tcp.sender.wakeup().filter(|&due| due < us(5_000)) {
        tcp.now = due;
        tcp.sender.on_timer(due);
        bodies.extend(tcp.take().into_iter().map(|out| out.body));
    }
    let whole = |number: u64| number * SEGMENT..(number + 1) * SEGMENT;
    assert_eq!(bodies, (12..19).map(whole).collect::<Vec<_>>());
    assert_eq!(tcp.sends_after_ack(us(6_000), 19, &[]), Vec::<u64>::new());
    assert!(tcp.sender.is_complete());
}
