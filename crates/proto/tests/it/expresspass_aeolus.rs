//! `ExpressPass` with the unscheduled burst of Aeolus, packet by packet.

use crate::support::{CapturedPacket, Pair, Path};
use shallop_control::expresspass::{CodeConfig, CodeRule, Rule};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Seed, Span, Time};
use shallop_proto::expresspass::{Config, Head, Peer, Receiver, Sender, StopPolicy};
use shallop_proto::{Endpoint, aeolus};

const DELAY: Span = Span::from_us(500);
const PAYLOAD: u64 = 1460;
/// Frames in a bandwidth-delay product of 10 Gb/s and a millisecond, rounded up.
const BDP: u64 = 813;
/// A full frame on the link, and the gap between credits at the maximum rate.
const FRAME: Span = Span::from_ps(1_230_400);
const GAP: Span = Span::from_ps(1_297_600);

type Packet = CapturedPacket<Head>;

fn config(aeolus: bool) -> Config {
    let link = BitsPerSec::gbps(10);
    let max_burst = link.bytes_in(DELAY * 2);
    Config {
        unscheduled: aeolus.then_some(aeolus::Config { link, max_burst }),
        stop: StopPolicy::LastData,
        min_jitter: 0.0,
        max_jitter: 0.0,
        ..Config::new(link)
    }
}

fn pair(config: &Config, frames: u64) -> Pair<Peer<Rule>> {
    let chance = Seed::new(1).stream("credits", 0);
    let rule = CodeRule::new(CodeConfig { alpha: 1.0, ..CodeConfig::default() });
    let receiver = Receiver::new(config, Rule::Code(rule), chance);
    let sender = Sender::new(config, Some(frames * PAYLOAD));
    let path = Path { rate: BitsPerSec::gbps(10), delay: DELAY, ..Path::clean() };
    Pair::new(Peer::sender(sender), Peer::receiver(receiver), path, 1)
}

/// Runs until the receiver has all data. Returns the time.
fn received(pair: &mut Pair<Peer<Rule>>) -> Span {
    while !pair.ends[1].is_complete() {
        let next = pair.now + Span::from_ns(100);
        assert!(next < Time::after_start(Span::from_secs(10)), "never received");
        pair.run(next);
    }
    pair.now.since_start()
}

/// Runs until both endpoints are complete, and on until there are no further events.
fn finish(pair: &mut Pair<Peer<Rule>>) {
    let at = |secs| Time::after_start(Span::from_secs(secs));
    assert!(pair.run(at(60)), "not complete after a minute");
    assert!((0..20_000).any(|_| !pair.run(at(10_000))), "something goes on for ever");
}

fn is_unscheduled(packet: &Packet) -> bool {
    packet.class == Class::Unscheduled
}

/// The frames that data packets of this class carried, by number, in the order they were sent.
fn frames(pair: &Pair<Peer<Rule>>, class: Class) -> Vec<u64> {
    let carried = pair.capture.iter().filter(|packet| packet.class == class);
    carried.map(|packet| packet.body.start / PAYLOAD).collect()
}

/// Drops the unscheduled frames with these numbers.
fn lose(numbers: &'static [u64]) -> impl FnMut(&Packet) -> bool + 'static {
    move |packet| is_unscheduled(packet) && numbers.contains(&(packet.body.start / PAYLOAD))
}

#[test]
fn an_unloaded_flow_within_the_product_takes_a_delay_and_its_own_length() {
    for count in [1, 10, 500, BDP] {
        let mut pair = pair(&config(true), count);
        let took = received(&mut pair);
        let ideal = DELAY + FRAME * count;
        assert!(took >= ideal && took < ideal + Span::from_us(1), "{count} frames: {took}");
        assert_eq!(frames(&pair, Class::Unscheduled).len() as u64, count);
    }
}

#[test]
fn without_the_request_and_the_probe_the_last_frame_says_where_the_flow_ends() {
    let mut pair = pair(&config(true), 10).with_drops(|packet| packet.class == Class::Control);
    let took = received(&mut pair);
    assert!(took < DELAY + FRAME * 10 + Span::from_us(1), "{took}");
}

#[test]
fn a_longer_flow_bursts_until_the_first_answer_and_goes_on_with_credits() {
    let mut pair = pair(&config(true), 5 * BDP);
    finish(&mut pair);
    let burst = frames(&pair, Class::Unscheduled).len() as u64;
    assert!((BDP - 2..=BDP).contains(&burst), "{burst} frames without a credit");
    let report = pair.ends[0].counters();
    assert_eq!((report.unscheduled, report.retransmits), (burst, 0));
    assert_eq!(report.credits.used, 5 * BDP - burst);
    assert_eq!(frames(&pair, Class::Data), (burst..5 * BDP).collect::<Vec<_>>());
}

#[test]
fn if_the_whole_burst_is_lost_it_takes_as_long_as_without() {
    for count in [1, 10, 500, 3 * BDP] {
        let mut plain = pair(&config(false), count);
        let mut lossy = pair(&config(true), count).with_drops(is_unscheduled);
        let (plain, took) = (received(&mut plain), received(&mut lossy));
        assert!(took <= plain + GAP + FRAME, "{count} frames: {took} instead of {plain}");
        assert_eq!(lossy.ends[1].counters().duplicates, 0);
        finish(&mut lossy);
        assert_eq!(lossy.carried(), [(0, count * PAYLOAD)]);
    }
}

#[test]
fn the_probe_follows_the_last_frame_and_carries_its_end() {
    let mut pair = pair(&config(true), 10);
    finish(&mut pair);
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
fn what_is_known_to_be_lost_goes_first_then_new_data_then_the_rest_from_the_end() {
    // Frame 5 is lost, and everything from 20 on: only the probe, a round trip after the burst, tells of that.
    let mut pair = pair(&config(true), BDP + 100).with_drops(|packet| {
        let frame = packet.body.start / PAYLOAD;
        is_unscheduled(packet) && (frame == 5 || frame >= 20)
    });
    finish(&mut pair);
    let burst = frames(&pair, Class::Unscheduled).len() as u64;
    let scheduled = frames(&pair, Class::Data);
    let place = scheduled.iter().position(|&frame| frame == 5).unwrap();
    assert!(place < 30, "repaired as soon as frame 6 was acknowledged: {place}");
    let rest: Vec<u64> = scheduled.iter().copied().filter(|&frame| frame != 5).collect();
    let turn = rest.iter().rposition(|&frame| frame == 20).unwrap();
    let down = turn as u64 - 100;
    assert!((400..700).contains(&down), "{down} frames before the probe was answered");
    let anticipated = (burst - down..burst).rev();
    let expected: Vec<u64> =
        (burst..BDP + 100).chain(anticipated).chain(20..burst - down).collect();
    assert_eq!(rest, expected);
    assert_eq!(pair.ends[1].counters().duplicates, 0);
}

#[test]
fn a_lost_tail_is_found_by_the_probe() {
    // Only the tail is lost, and the credits are so slow that they could not have repaired it by chance.
    let slow = CodeRule::new(CodeConfig { alpha: 0.002, ..CodeConfig::default() });
    let config = config(true);
    let sender = Sender::new(&config, Some(100 * PAYLOAD));
    let receiver = Receiver::new(&config, Rule::Code(slow), Seed::new(1).stream("credits", 0));
    let path = Path { rate: BitsPerSec::gbps(10), delay: DELAY, ..Path::clean() };
    let mut pair = Pair::new(Peer::sender(sender), Peer::receiver(receiver), path, 1)
        .with_drops(lose(&[97, 98, 99]));
    finish(&mut pair);
    // The first credit comes before any acknowledgement and repairs the last frame, as it happens.
    assert_eq!(frames(&pair, Class::Data), [99, 97, 98]);
}

#[test]
fn losses_of_the_burst_are_neither_reported_nor_taken_for_lost_credits() {
    let mut pair = pair(&config(true), 4 * BDP).with_drops(|packet| {
        is_unscheduled(packet) && (packet.body.start / PAYLOAD).is_multiple_of(3)
    });
    finish(&mut pair);
    assert!(!pair.capture.iter().any(|packet| matches!(packet.head, Head::Nack { .. })));
    let (sender, receiver) = (pair.ends[0].counters(), pair.ends[1].counters());
    assert_eq!(sender.retransmits, BDP.div_ceil(3));
    assert_eq!(receiver.duplicates, 0);
    let credits: Vec<Time> = pair
        .capture
        .iter()
        .filter(|packet| packet.class == Class::Credit)
        .map(|packet| packet.sent)
        .collect();
    let longest = credits.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
    // An acknowledgement may be in the way of a credit.
    assert!(longest <= GAP + Span::from_ns(68), "the rate of credits fell: {longest}");
}

#[test]
fn a_lost_repair_is_asked_for_alone() {
    let mut turn = 0;
    let mut pair = pair(&config(true), 2 * BDP).with_drops(move |packet| {
        let frame = packet.body.start / PAYLOAD;
        let hit = !packet.body.is_empty() && frame == 7;
        turn += u32::from(hit);
        hit && turn <= 2
    });
    finish(&mut pair);
    let sevens = frames(&pair, Class::Data).into_iter().filter(|&frame| frame == 7).count();
    assert_eq!((sevens, pair.ends[0].counters().retransmits), (2, 2), "nothing else went twice");
    assert_eq!(pair.carried(), [(0, 2 * BDP * PAYLOAD)]);
}

#[test]
fn a_lost_repair_is_noticed_once_the_burst_is_repaired_and_hides_no_other_loss() {
    // Frame 7 is lost twice, and 2,000, which was sent on a credit, once. The flow goes on long after both.
    let mut turns = [0, 0];
    let mut pair = pair(&config(true), 20 * BDP).with_drops(move |packet| {
        let frame = packet.body.start / PAYLOAD;
        let Some(which) = [7, 2_000].iter().position(|&lost| lost == frame) else { return false };
        turns[which] += u32::from(!packet.body.is_empty());
        !packet.body.is_empty() && turns[which] <= [2, 1][which]
    });
    finish(&mut pair);
    let scheduled = frames(&pair, Class::Data);
    let place = scheduled.iter().rposition(|&frame| frame == 7).unwrap() as u64;
    assert!(place < 3 * BDP, "sent for the third time at the {place}th credit");
    let sent = pair.ends[0].counters().retransmits;
    assert!(sent < 2 + 2 * BDP, "went back by {sent} frames, more than two round trips");
    assert_eq!(pair.carried(), [(0, 20 * BDP * PAYLOAD)]);
}

#[test]
fn every_packet_of_the_burst_is_acknowledged_by_its_first_byte() {
    let mut pair = pair(&config(true), 50).with_drops(lose(&[3, 49]));
    finish(&mut pair);
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
    let acks = pair.capture.iter().filter(|packet| packet.class == Class::Ack);
    assert!(acks.into_iter().all(|packet| packet.size == 84 && packet.ecn == Ecn::Ect));
}

#[test]
fn a_send_buffer_bounds_what_is_asked_for_and_not_what_is_sent() {
    for stop in [StopPolicy::LastData, StopPolicy::Early, StopPolicy::Demand] {
        let config = Config { stop, send_buffer: Some(Bytes::new(100 * PAYLOAD)), ..config(false) };
        let mut pair = pair(&config, 2000);
        finish(&mut pair);
        let demands: Vec<u32> = pair
            .capture
            .iter()
            .filter_map(|packet| match packet.head {
                Head::Request { demand, .. } => Some(demand),
                _ => None,
            })
            .collect();
        assert!(demands.iter().all(|&demand| demand <= 100), "{stop:?}: {demands:?}");
        assert_eq!(demands.len() > 1, stop != StopPolicy::LastData, "{stop:?}: {demands:?}");
        let report = pair.ends[0].counters();
        assert_eq!((report.credits.used, report.retransmits), (2000, 0), "{stop:?}");
        assert_eq!(report.credits.granted, report.credits.used + report.credits.wasted);
    }
}
