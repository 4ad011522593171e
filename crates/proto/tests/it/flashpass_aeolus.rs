//! `FlashPass` with the unscheduled burst of Aeolus, packet by packet: what is sent before the first credit, and after.

use crate::support::flashpass::{PAYLOAD, Setting, Spy, check, data, emulations};
use crate::support::{CapturedPacket, Pair, Path};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Span, Time};
use shallop_proto::flashpass::{Head, Peer};
use shallop_proto::{Endpoint, aeolus};

const DELAY: Span = Span::from_us(500);
/// From an emulation packet to its data: three round trips.
const WAIT: Span = Span::from_ms(3);
/// Frames in a bandwidth-delay product of 10 Gb/s and a millisecond, rounded up.
const BDP: u64 = 813;
const FRAME: Span = Span::from_ps(1_230_400);

fn path() -> Path {
    Path { rate: BitsPerSec::gbps(10), delay: DELAY, ..Path::clean() }
}

fn setting(burst_until_first_data: bool) -> Setting {
    let link = BitsPerSec::gbps(10);
    let mut setting = Setting::of(link);
    setting.engine.wait = WAIT;
    let max_burst = link.bytes_in(if burst_until_first_data { WAIT } else { DELAY * 2 });
    setting.unscheduled = Some(aeolus::Config { link, max_burst });
    setting.burst_until_first_data = burst_until_first_data;
    setting
}

fn plain() -> Setting {
    Setting { unscheduled: None, ..setting(false) }
}

fn pair(setting: &Setting, frames: u64) -> Pair<Peer<Spy>> {
    setting.pair(Some(frames * PAYLOAD), Spy::fixed(), path())
}

/// Runs until the receiver has all data. Returns the time.
fn received(pair: &mut Pair<Peer<Spy>>) -> Span {
    while !pair.ends[1].is_complete() {
        let next = pair.now + Span::from_ns(100);
        assert!(next < Time::after_start(Span::from_secs(10)), "never received");
        pair.run(next);
    }
    pair.now.since_start()
}

fn finish(pair: &mut Pair<Peer<Spy>>, setting: &Setting) {
    let at = |secs| Time::after_start(Span::from_secs(secs));
    assert!(pair.run(at(60)), "not complete after a minute");
    assert!((0..20_000).any(|_| !pair.run(at(10_000))), "something goes on for ever");
    assert_eq!(check(pair, setting), Ok(()));
    let credits = pair.ends[0].counters().credits;
    assert_eq!(credits.granted, credits.used + credits.wasted);
}

fn is_unscheduled(packet: &CapturedPacket<Head>) -> bool {
    packet.class == Class::Unscheduled
}

fn frames(pair: &Pair<Peer<Spy>>, class: Class) -> Vec<u64> {
    let carried = pair.capture.iter().filter(|packet| packet.class == class);
    carried.map(|packet| packet.body.start / PAYLOAD).collect()
}

#[test]
fn an_unloaded_flow_within_the_product_takes_a_delay_and_its_own_length() {
    // Emulation packets and data share the link: 84 bytes for each 1538.
    for count in [1, 10, 500] {
        let setting = setting(false);
        let mut pair = pair(&setting, count);
        let took = received(&mut pair);
        let ideal = DELAY + FRAME * count;
        assert!(took >= ideal && took < DELAY + (FRAME * count).scale(1.06) + FRAME, "{took}");
        finish(&mut pair, &setting);
        assert_eq!(frames(&pair, Class::Data).len(), 0, "no credit was needed");
    }
}

#[test]
fn the_burst_ends_with_the_first_credit_and_nothing_is_sent_until_its_time_comes() {
    let setting = setting(false);
    let mut pair = pair(&setting, 5 * BDP);
    finish(&mut pair, &setting);
    let bursts: Vec<Span> = pair
        .capture
        .iter()
        .filter(|packet| is_unscheduled(packet))
        .map(|packet| packet.sent.since_start())
        .collect();
    let last = *bursts.last().unwrap();
    assert!(last < DELAY * 2 + Span::from_us(2) && last > (DELAY * 2).scale(0.95), "{last}");
    let first = data(&pair)[0].since_start();
    assert!(first >= WAIT && first < WAIT + Span::from_us(2), "{first}");
    let burst = bursts.len() as u64;
    assert_eq!(frames(&pair, Class::Data), (burst..5 * BDP).collect::<Vec<_>>());
    assert_eq!(pair.ends[0].counters().retransmits, 0);
}

#[test]
fn a_burst_until_credits_count_fills_the_wait() {
    let (setting, short) = (setting(true), setting(false));
    let (mut long, mut other) = (pair(&setting, 5 * BDP), pair(&short, 5 * BDP));
    let (took, otherwise) = (received(&mut long), received(&mut other));
    let burst = frames(&long, Class::Unscheduled).len() as u64;
    assert!(burst > 2 * BDP && burst <= 3 * BDP, "{burst} frames without a credit");
    let gained = (otherwise - took).ratio(DELAY * 2);
    assert!((1.6..2.4).contains(&gained), "{gained} round trips sooner");
    finish(&mut long, &setting);
}

#[test]
fn if_the_whole_burst_is_lost_it_takes_as_long_as_without() {
    for burst_until_first_data in [false, true] {
        for count in [1, 500, 3 * BDP] {
            let setting = setting(burst_until_first_data);
            let mut plain = pair(&plain(), count);
            let mut lossy = pair(&setting, count).with_drops(is_unscheduled);
            let (plain, took) = (received(&mut plain), received(&mut lossy));
            assert!(took <= plain + FRAME * 3, "{count} frames: {took} instead of {plain}");
            finish(&mut lossy, &setting);
            assert_eq!(lossy.carried(), [(0, count * PAYLOAD)]);
            assert_eq!(lossy.ends[1].counters().duplicates, 0);
        }
    }
}

#[test]
fn losses_of_the_burst_are_repaired_first_and_alone() {
    let setting = setting(false);
    let mut pair = pair(&setting, 2 * BDP)
        .with_drops(|packet| is_unscheduled(packet) && (packet.body.start / PAYLOAD) % 100 == 7);
    finish(&mut pair, &setting);
    let burst = frames(&pair, Class::Unscheduled).len() as u64;
    let lost = (0..burst).filter(|frame| frame % 100 == 7);
    let expected: Vec<u64> = lost.chain(burst..2 * BDP).collect();
    assert_eq!(frames(&pair, Class::Data), expected);
    assert_eq!(pair.ends[1].counters().duplicates, 0);
}

#[test]
fn a_repair_that_is_lost_is_repaired() {
    let setting = setting(false);
    let mut hits = 0;
    let mut pair = pair(&setting, BDP).with_drops(move |packet| {
        let hit = !packet.body.is_empty() && packet.body.start / PAYLOAD == 7 && hits < 3;
        hits += u32::from(hit);
        hit
    });
    finish(&mut pair, &setting);
    assert_eq!(pair.carried(), [(0, BDP * PAYLOAD)]);
}

#[test]
fn emulation_covers_all_of_the_demand_from_the_start() {
    // Nothing of the burst counts as delivered before it is: were it lost, no credit would be missing.
    let setting = setting(false);
    let mut pair = pair(&setting, 500).with_drops(is_unscheduled);
    finish(&mut pair, &setting);
    let emulations = emulations(&pair);
    let early = emulations.iter().filter(|(at, _)| at.since_start() < DELAY * 2).count();
    assert!(early >= 500, "{early} emulation packets in the first round trip");
    let ordinary = emulations.iter().filter(|(_, ecn)| *ecn != Ecn::NotEct).count();
    assert!(ordinary >= 500, "{ordinary} of them ordinary");
}

#[test]
fn only_spare_emulation_and_unscheduled_data_may_be_dropped_first() {
    let setting = setting(false);
    let mut pair = pair(&setting, 2 * BDP);
    finish(&mut pair, &setting);
    for packet in &pair.capture {
        let expected = match packet.class {
            Class::Unscheduled => Ecn::NotEct,
            Class::Emulation => packet.ecn,
            _ => Ecn::Ect,
        };
        assert_eq!(packet.ecn, expected, "{packet:?}");
    }
    let probe =
        pair.capture.iter().find(|packet| matches!(packet.head, Head::Probe { .. })).unwrap();
    assert_eq!((probe.class, probe.size), (Class::Control, 84));
}

#[test]
fn a_send_buffer_bounds_the_emulation_in_flight() {
    let mut setting = plain();
    setting.send_buffer = Some(Bytes::new(100 * PAYLOAD));
    setting.engine.over_provision = false;
    let mut pair = pair(&setting, 1000);
    finish(&mut pair, &setting);
    // In each waiting time as much as the buffer holds, and what Equation 2 adds for losses.
    let times = emulations(&pair);
    let most = (0..times.len())
        .map(|from| times[from..].iter().take_while(|(at, _)| *at < times[from].0 + WAIT).count())
        .max();
    assert!(most.is_some_and(|most| (100..=112).contains(&most)), "{most:?}");
    let report = pair.ends[0].counters();
    assert_eq!((report.credits.used, report.retransmits), (1000, 0));
}
