//! `ExpressPass` with the unscheduled burst of Aeolus, packet by packet; `expresspass.txt` has further flows.

use crate::support::{BDP, CapturedPacket, DELAY, FRAME, GAP, PAYLOAD, Pair, Path, lose_unscheduled};
use shallop_control::expresspass::{CodeConfig, Rule};
use shallop_core::{BitsPerSec, Class, Ecn, Seed, Span, Time};
use shallop_proto::expresspass::{Config, Head, Peer, Receiver, Sender, StopPolicy};
use shallop_proto::{Endpoint, aeolus};

type Packet = CapturedPacket<Head>;

fn config(aeolus: bool) -> Config {
    let link = BitsPerSec::gbps(10);
    let max_burst = link.bytes_in(DELAY * 2);
    Config {
        unscheduled: aeolus.then_some(aeolus::Config { link, max_burst, renew_after: Span::ZERO }),
        stop: StopPolicy::LastData,
        min_jitter: 0.0,
        max_jitter: 0.0,
        ..Config::new(link)
    }
}

fn pair(config: &Config, frames: u64) -> Pair<Peer<Rule>> {
    let rule = Rule::code(CodeConfig { alpha: 1.0, ..CodeConfig::default() });
    let receiver = Receiver::new(config, rule, Seed::new(1).stream("credits", 0));
    let sender = Sender::new(config, Some(frames * PAYLOAD));
    Pair::new(Peer::sender(sender), Peer::receiver(receiver), Path::fast(), 1)
}

#[test]
fn a_kept_connection_has_a_burst_again_only_after_it_was_idle() {
    let renew_after = Span::from_ms(10);
    let mut config = config(true);
    config.unscheduled = config.unscheduled.map(|unscheduled| aeolus::Config { renew_after, ..unscheduled });
    let mut first = pair(&config, 5);
    first.run_until_received();
    let after = first.now;
    for (idle, bursts) in [(Span::from_ms(8), false), (Span::from_ms(11), true)] {
        let Peer::Sender(before) = &first.ends[0] else { panic!() };
        let mut next = Sender::new(&config, Some(5 * PAYLOAD));
        next.continue_connection(before);
        let start = after + idle;
        next.on_timer(start);
        let classes: Vec<Class> = std::iter::from_fn(|| next.poll(start)).map(|out| out.class).collect();
        assert_eq!(classes.contains(&Class::Unscheduled), bursts, "idle for {idle}");
        assert!(classes.contains(&Class::Control), "it requests credits");
    }
}

fn is_unscheduled(packet: &Packet) -> bool {
    packet.class == Class::Unscheduled
}

#[test]
fn an_unloaded_flow_within_the_bdp_takes_one_delay_and_its_transmission_time() {
    for count in [1, 10, 500, BDP] {
        let mut pair = pair(&config(true), count);
        let took = pair.run_until_received();
        let ideal = DELAY + FRAME * count;
        assert!(took >= ideal && took < ideal + Span::from_us(1), "{count} frames: {took}");
        assert_eq!(pair.frames(Class::Unscheduled).len() as u64, count);
    }
}

#[test]
fn the_last_unscheduled_frame_alone_shows_the_end_of_the_flow() {
    let mut pair = pair(&config(true), 10).with_drops(|packet| packet.class == Class::Control);
    let took = pair.run_until_received();
    assert!(took < DELAY + FRAME * 10 + Span::from_us(1), "{took}");
}

#[test]
fn a_flow_whose_burst_is_lost_takes_as_long_as_without_a_burst() {
    for count in [1, 10, 500, 3 * BDP] {
        let mut plain = pair(&config(false), count);
        let mut lossy = pair(&config(true), count).with_drops(lose_unscheduled(|_| true));
        let (plain, took) = (plain.run_until_received(), lossy.run_until_received());
        assert!(took <= plain + GAP + FRAME, "{count} frames: {took} instead of {plain}");
        assert_eq!(lossy.ends[1].counters().duplicates, 0);
        lossy.finish();
        assert_eq!(lossy.carried(), [(0, count * PAYLOAD)]);
    }
}

#[test]
fn the_probe_follows_the_last_frame_and_carries_its_end() {
    let pair = pair(&config(true), 10).finished();
    let last = pair.capture.iter().rposition(is_unscheduled).unwrap();
    let probe = &pair.capture[last + 1];
    assert_eq!(probe.head, Head::Probe { upto: 10 * PAYLOAD, end: Some(10 * PAYLOAD) });
    assert_eq!((probe.class, probe.ecn, probe.size), (Class::Control, Ecn::Ect, 84));
    assert!(probe.sent - pair.capture[last].sent <= FRAME);
    for packet in &pair.capture {
        let unscheduled = packet.class == Class::Unscheduled;
        assert_eq!(packet.ecn == Ecn::NotEct, unscheduled, "only such data may be dropped first");
    }
}

#[test]
fn lost_unscheduled_frames_cause_no_nacks_and_count_as_no_lost_credits() {
    let pair = pair(&config(true), 4 * BDP).with_drops(lose_unscheduled(|frame| frame.is_multiple_of(3))).finished();
    assert!(!pair.capture.iter().any(|packet| matches!(packet.head, Head::Nack { .. })));
    let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
    assert_eq!(sender.retransmits, BDP.div_ceil(3));
    assert_eq!(receiver.duplicates, 0);
    let credits: Vec<Time> = pair.of_class(Class::Credit).map(|packet| packet.sent).collect();
    let longest = credits.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    // An acknowledgement may delay a credit.
    assert!(longest <= GAP + Span::from_ns(68), "the rate of credits fell: {longest}");
}

#[test]
fn every_unscheduled_packet_is_acknowledged() {
    let pair = pair(&config(true), 50).with_drops(lose_unscheduled(|frame| [3, 49].contains(&frame))).finished();
    let acked: Vec<u64> = pair
        .capture
        .iter()
        .filter_map(|packet| match packet.head {
            Head::UnscheduledAck { offset, length } if length > 0 => Some(offset / PAYLOAD),
            _ => None,
        })
        .collect();
    let come: Vec<u64> = (0..49).filter(|&frame| frame != 3).collect();
    assert_eq!(acked, come);
    assert!(pair.of_class(Class::Ack).all(|packet| packet.size == 84 && packet.ecn == Ecn::Ect));
}
