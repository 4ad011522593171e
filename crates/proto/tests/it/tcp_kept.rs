//! Successive flows on one connection: the state that later flows take over.

use crate::support::tcp::{SEGMENT, SenderHarness, Spy, ms, pair_with, plain};
use crate::support::{Pair, Path};
use shallop_core::{Bytes, Span};
use shallop_proto::Endpoint;
use shallop_proto::tcp::{Config, IdleRestart, Receiver, Sender, Stack, Tcp};

/// A complete flow of four segments, acknowledged at 10 ms and 20 ms, with a window of two.
fn done() -> SenderHarness {
    let mut hand = SenderHarness::sized(&plain(), Spy::new(2), Some(4));
    assert_eq!(hand.leaving(), [0, 1]);
    assert_eq!(hand.sends_after_ack(ms(10), 2, &[]), [2, 3]);
    hand.ack(ms(20), 4, &[]);
    assert!(hand.sender.is_complete());
    hand
}

/// A flow of three segments on the connection of `before`, from this time on.
fn next(before: &SenderHarness, at: u64) -> SenderHarness {
    next_with(&plain(), before, at)
}

fn next_with(config: &Config, before: &SenderHarness, at: u64) -> SenderHarness {
    next_of(config, before, 3, at)
}

fn next_of(config: &Config, before: &SenderHarness, segments: u64, at: u64) -> SenderHarness {
    let mut sender = Sender::new(config, Spy::new(1), Some(segments * SEGMENT));
    sender.continue_connection(&before.sender);
    sender.on_timer(ms(at));
    SenderHarness { sender, now: ms(at), before: vec![] }
}

#[test]
fn a_reused_connection_keeps_window_round_trip_and_byte_counts() {
    let mut hand = next(&done(), 21);
    assert_eq!(hand.leaving(), [0, 1], "the window of the flow before, its own bytes from zero");
    assert_eq!(hand.sender.rtt().srtt, Span::from_ms(10));
    hand.ack(ms(31), 2, &[]);
    let last = hand.spy().acks.last().copied();
    let (una, next) = last.map(|ack| (ack.snd_una, ack.snd_nxt)).unwrap_or_default();
    assert_eq!((una, next), (6 * SEGMENT, 6 * SEGMENT));
    assert_eq!(last.map(|ack| ack.delivered), Some(Bytes::new(6 * SEGMENT)));
    assert_eq!(hand.leaving(), [2]);
    hand.ack(ms(41), 3, &[]);
    assert!(hand.sender.is_complete());
    assert_eq!((hand.sender.counters().sent, hand.spy().idles.len()), (3, 0));
}

#[test]
fn an_idle_time_longer_than_the_rto_restarts_the_controller_unless_switched_off() {
    let mut hand = next(&done(), 2_000);
    hand.leaving();
    // The last segment left at 10 ms.
    assert_eq!(hand.spy().idles, [Span::from_ms(1_990)]);
    let config = Config { slow_start_after_idle: IdleRestart::Never, ..plain() };
    let mut hand = next_with(&config, &done(), 2_000);
    assert_eq!((hand.leaving(), hand.spy().idles.len()), (vec![0, 1], 0));
}

#[test]
fn idle_restart_by_the_estimate_ignores_the_minimum_rto() {
    // Two round trips of 10 ms: SRTT 10 ms, RTTVAR 3.75 ms, so the estimate is 25 ms. The minimum RTO is 200 ms.
    let idles = |idle_restart, at| {
        let config = Config { slow_start_after_idle: idle_restart, ..plain() };
        let mut hand = next_with(&config, &done(), at);
        hand.leaving();
        hand.spy().idles.len()
    };
    // The last segment left at 10 ms.
    assert_eq!([30, 40].map(|at| idles(IdleRestart::Estimate, at)), [0, 1]);
    assert_eq!([40, 200].map(|at| idles(IdleRestart::Timeout, at)), [0, 0]);
}

#[test]
fn controllers_count_the_connections_bytes_and_recovery_the_flows() {
    let mut hand = next(&done(), 21);
    assert_eq!(hand.leaving(), [0, 1]);
    let mut again = hand.advance(ms(2_000));
    again.truncate(1);
    assert_eq!(again.iter().map(|&(_, number)| number).collect::<Vec<_>>(), [0]);
    let told: Vec<_> = hand.spy().timeouts.iter().map(|(loss, first)| (loss.snd_una, *first)).collect();
    assert_eq!(told[0], (4 * SEGMENT, true));
    assert!(told[1..].iter().all(|&(_, first)| !first), "one byte, one first timeout");
    hand.ack(ms(2_001), 2, &[]);
    hand.leaving();
    hand.ack(ms(2_012), 3, &[]);
    assert!(hand.sender.is_complete());
    assert_eq!(hand.spy().exits.len(), 1, "the repair ended");
}

#[test]
fn a_reused_connection_knows_the_receivers_window() {
    let config = Config { receive_autotuning: true, ..plain() };
    let mut first = SenderHarness::sized(&config, Spy::new(60), Some(60));
    let alone = first.leaving().len();
    assert!((30..60).contains(&alone), "{alone} segments fit into a first window of 64 KB");
    first.ack(ms(10), alone as u64, &[]);
    assert_eq!(first.leaving().len(), 60 - alone);
    first.ack(ms(20), 60, &[]);
    assert_eq!(next_of(&config, &first, 60, 21).leaving().len(), 60);
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
