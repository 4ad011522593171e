//! What limits a TCP sender besides losses: handshake, receive window, pacing, application. And what its controller is
//! told.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair_with, plain, sender, us};
use crate::support::{Pair, Path};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Span, Time};
use shallop_proto::tcp::{Config, Flags, Head, Receiver, Sender, Stack, Tcp};
use shallop_proto::{Endpoint, wire};

#[test]
fn a_handshake_takes_one_round_trip_of_minimum_size_frames() {
    let time = |handshake| {
        let config = Config { handshake, ..plain() };
        let pair = pair_with(&config, Spy::new(10), 5 * SEGMENT, Path::clean()).complete_by(ms(100));
        (pair.now, pair.capture)
    };
    let ((with, packet), (without, _)) = (time(true), time(false));
    let extra = (with - without).ratio(Span::from_ms(10));
    assert!((1.0..1.01).contains(&extra), "{extra} round trips");
    let handshake: Vec<_> = packet[..2].iter().map(|s| (s.class, s.size, s.head.flags)).collect();
    let (syn, both) = (Flags::SYN, Flags::SYN | Flags::ACK);
    assert_eq!(handshake, [(Class::Control, 84, syn), (Class::Control, 84, both)]);
    assert_eq!(packet[2].size, 1538);
}

#[test]
fn controllers_are_told_of_the_handshake_and_of_each_restart_from_idle() {
    let pair = pair_with(&Stack::LINUX_IDEAL.tcp, Spy::new(10), 5 * SEGMENT, Path::clean()).complete_by(ms(100));
    let spy = sender(&pair).controller();
    let round_trips: Vec<_> = spy.handshakes.iter().map(|rtt| rtt.ratio(ms(10) - ms(0))).collect();
    assert!(round_trips.len() == 1 && (1.0..1.001).contains(&round_trips[0]), "{round_trips:?}");
    assert_eq!(spy.restarts.len(), 1, "the five segments leave together");
    // Two windows are acknowledged as a whole, with data left both times.
    let mut hand = SenderHarness::new(&plain(), Spy::new(2));
    assert_eq!(hand.leaving(), [0, 1]);
    assert_eq!(hand.sends_after_ack(ms(10), 2, &[]), [2, 3]);
    assert_eq!(hand.spy().restarts, [(ms(0), false), (ms(10), false)]);
    assert!(hand.spy().handshakes.is_empty() && hand.spy().idles.is_empty());
}

#[test]
fn a_lost_syn_is_retransmitted_after_the_initial_timeout_and_then_after_twice_that() {
    let config = Config { handshake: true, ..Stack::LINUX_IDEAL.tcp };
    let pair = pair_with(&config, Spy::new(10), SEGMENT, Path::clean())
        .with_drops(|packet| packet.head.flags.has(Flags::SYN) && packet.sent < ms(3_000))
        .complete_by(ms(10_000));
    let handshake = pair.capture.iter().filter(|s| s.from == 0 && s.head.flags.has(Flags::SYN));
    let times: Vec<_> = handshake.map(|packet| packet.sent).collect();
    assert_eq!(times, [ms(0), ms(1_000), ms(3_000)]);
    assert_eq!(pair.ends[0].counters().timeouts, 2);
}

#[test]
fn an_open_connection_has_no_handshake() {
    let config = Config { handshake: true, ..Stack::LINUX_IDEAL.tcp };
    let first = pair_with(&config, Spy::new(10), 5 * SEGMENT, Path::clean()).complete_by(ms(100));
    let (mut sender, mut receiver) = (
        Tcp::sender(Sender::new(&config, Spy::new(1), Some(5 * SEGMENT))),
        Tcp::receiver(Receiver::new(&config, Some(5 * SEGMENT))),
    );
    sender.continue_connection(&first.ends[0]);
    receiver.continue_connection(&first.ends[1]);
    let second = Pair::new(sender, receiver, Path::clean(), 7).complete_by(ms(100));
    assert!(second.capture.iter().all(|packet| packet.body.end > 0 || packet.from == 1));
    let faster = (first.now - second.now).ratio(Span::from_ms(10));
    assert!((1.0..1.01).contains(&faster), "by {faster} round trips");
}

#[test]
fn the_receive_window_limits_the_flight_and_the_controller_knows_that_cwnd_does_not() {
    let config = Config { receive_buffer: Bytes::new(8 * SEGMENT), ..plain() };
    let pair = pair_with(&config, Spy::new(100), 400 * SEGMENT, Path::clean()).complete_by(ms(10_000));
    let acks = &sender(&pair).controller().acks;
    assert!(acks.iter().all(|ack| ack.prior_in_flight <= Bytes::new(8 * SEGMENT)));
    assert!(acks.iter().all(|ack| !ack.is_cwnd_limited));
    let rounds = pair.now.since_start().ratio(Span::from_ms(10));
    assert!((50.0..51.0).contains(&rounds), "8 segments a round trip: {rounds}");
}

#[test]
fn the_controller_knows_when_cwnd_is_the_limit() {
    let pair = pair_with(&plain(), Spy::new(10), 400 * SEGMENT, Path::clean()).complete_by(ms(10_000));
    assert!(sender(&pair).controller().acks.iter().all(|ack| ack.is_cwnd_limited));
}

#[test]
fn a_closed_window_is_probed_at_doubling_intervals_until_it_opens() {
    let mut hand = SenderHarness::new(&plain(), Spy::new(4));
    assert_eq!(hand.leaving(), [0, 1, 2, 3]);
    let closed = |ack, window| Head { ack, flags: Flags::ACK, window, ..Head::default() };
    hand.now = ms(10);
    hand.sender.on_packet(ms(10), &closed(4 * SEGMENT, 0), Ecn::NotEct);
    assert_eq!(hand.leaving(), [0; 0]);
    // While the window stays closed, probes without payload are sent.
    let mut asked = vec![];
    while asked.len() < 4 {
        hand.now = hand.sender.wakeup().expect("the persist timer must run while the window is closed");
        hand.sender.on_timer(hand.now);
        for out in hand.take() {
            assert_eq!((out.class, out.size, out.head.len), (Class::Control, wire::MIN_FRAME, 0));
            asked.push(hand.now);
        }
    }
    let gaps: Vec<_> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [400, 800, 1_600].map(Span::from_ms));
    // When the window opens by less than a segment, one segment is sent; when it opens further, all are.
    hand.sender.on_packet(hand.now, &closed(4 * SEGMENT, 100), Ecn::NotEct);
    assert_eq!(hand.leaving(), [0; 0]);
    hand.now = hand.sender.wakeup().expect("a window smaller than any segment");
    hand.sender.on_timer(hand.now);
    assert_eq!(hand.leaving(), [4]);
    hand.sender.on_packet(hand.now, &closed(5 * SEGMENT, 20_000), Ecn::NotEct);
    assert_eq!(hand.leaving(), [5, 6, 7, 8]);
    // An idle time longer than the RTO restarts the controller.
    assert_eq!(hand.spy().idles.len(), 1);
}

#[test]
fn packets_leave_at_the_pacing_rate_in_the_long_run_and_never_early() {
    // 1460 B at 116.8 Mb/s take 100 us.
    let pace = BitsPerSec::new(116_800_000);
    let mut hand = SenderHarness::new(&plain(), Spy { pace, ..Spy::new(50) });
    assert_eq!(hand.leaving(), [0]);
    let left = hand.advance(us(4_950));
    let on_time: Vec<_> = (1..50).map(|n| (us(n * 100), n)).collect();
    assert_eq!(left, on_time);
    // A link that delays a packet by less than a gap does not slow the pace. A longer pause is not made up for.
    let mut hand = SenderHarness::new(&plain(), Spy { pace, ..Spy::new(50) });
    let mut times = vec![];
    for late in [0, 30, 60, 0, 350, 0, 0] {
        hand.now = hand.sender.wakeup().filter(|_| !times.is_empty()).unwrap_or(Time::ZERO);
        hand.sender.on_timer(hand.now);
        hand.now += Span::from_us(late);
        assert!(hand.sender.poll(hand.now).is_some() && !hand.sender.ready(hand.now));
        times.push(hand.now);
    }
    assert_eq!(times, [0, 130, 260, 300, 750, 850, 950].map(us));
}

#[test]
fn rate_samples_are_the_networks_delivery_rate() {
    // Given a window far larger than the path of 1 Gb/s and 10 ms,
    let pair = pair_with(&plain(), Spy::new(2_000), 8_000 * SEGMENT, Path::clean()).complete_by(ms(1_000));
    let acks = &sender(&pair).controller().acks;
    // then after the first window, the rate is the link's rate of payload.
    let carried = 1e9 * 1460.0 / 1538.0;
    for ack in &acks[2_500..7_900] {
        let rate = ack.rate_sample.expect("a sample for every acknowledgement");
        let measured = rate.delivered.per(rate.interval);
        assert!((measured / carried - 1.0).abs() < 0.01, "{measured}");
        assert!(!rate.is_app_limited);
        assert_eq!(ack.delivered, rate.prior_delivered + rate.delivered);
    }
    // Round trips are counted in packets: each has as many as the path holds.
    let rounds: Vec<_> = acks.iter().filter(|ack| ack.round_start).collect();
    assert!((9..=11).contains(&rounds.len()), "{}", rounds.len());
    let round = (rounds[5].delivered - rounds[4].delivered).get() / SEGMENT;
    assert!((813..=815).contains(&round), "{round}");
}

#[test]
fn samples_of_a_sender_without_data_are_application_limited() {
    // Given a message of 20 segments, which fit the window, so that the sender runs out of data at once.
    let pair = pair_with(&plain(), Spy::new(100), 20 * SEGMENT, Path::clean())
        .with_drops(|packet| packet.body.start == 5 * SEGMENT && packet.sent < ms(5))
        .complete_by(ms(1_000));
    // A sample of a retransmission is no measure of the path then.
    let acks = &sender(&pair).controller().acks;
    let last = acks.last().and_then(|ack| ack.rate_sample).expect("a sample");
    assert!(last.is_app_limited);
}

#[test]
fn bytes_acked_delivered_and_lost_are_consistent() {
    let path = Path { loss: 0.02, reorder: 0.1, late: Span::from_us(300), ..Path::clean() };
    for config in [plain(), Config { handshake: false, ..Stack::LINUX_IDEAL.tcp }] {
        let pair = pair_with(&config, Spy::shrinking(60, 40), 3_000 * SEGMENT, path).complete_by(ms(60_000));
        let acks = &sender(&pair).controller().acks;
        let acked: Bytes = acks.iter().map(|ack| ack.acked_sacked).sum();
        assert_eq!(acked, Bytes::new(3_000 * SEGMENT), "every byte is delivered once");
        let mut delivered = Bytes::ZERO;
        for ack in acks {
            delivered += ack.acked_sacked;
            assert_eq!(ack.delivered, delivered);
            assert!(ack.snd_una <= ack.snd_nxt && ack.in_flight.get() <= ack.snd_nxt - ack.snd_una);
            assert!(ack.rtt.is_none_or(|rtt| rtt >= ack.min_rtt && rtt >= Span::from_ms(10)));
        }
        let lost: Bytes = acks.iter().map(|ack| ack.losses).sum();
        assert!(lost.get() >= 40 * SEGMENT, "{lost}");
    }
}
