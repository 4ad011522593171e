//! `FlashPass` with the unscheduled burst of Aeolus, packet by packet: what is sent before the first credit, and after.

use crate::support::flashpass::{Setting, Spy, check, data, emulations};
use crate::support::{BDP, CapturedPacket, DELAY, FRAME, PAYLOAD, Pair, Path, lose, lose_unscheduled};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Span};
use shallop_proto::flashpass::{Head, Peer};
use shallop_proto::{Endpoint, aeolus};

/// The time from an emulation packet to its data packet: three round trips.
const WAIT: Span = Span::from_ms(3);
fn setting(burst_until_first_data: bool) -> Setting {
    let link = BitsPerSec::gbps(10);
    let mut setting = Setting::for_link(link);
    setting.engine.wait = WAIT;
    let max_burst = link.bytes_in(if burst_until_first_data { WAIT } else { DELAY * 2 });
    setting.unscheduled = Some(aeolus::Config { link, max_burst, renew_after: Span::ZERO });
    setting.burst_until_first_data = burst_until_first_data;
    setting
}

fn plain() -> Setting {
    Setting { unscheduled: None, ..setting(false) }
}

fn pair(setting: &Setting, frames: u64) -> Pair<Peer<Spy>> {
    setting.pair(Some(frames * PAYLOAD), Spy::fixed(), Path::fast())
}

fn finished(pair: Pair<Peer<Spy>>, setting: &Setting) -> Pair<Peer<Spy>> {
    let pair = pair.finished();
    assert_eq!(check(&pair, setting), Ok(()));
    let credits = pair.ends[0].counters().credits;
    assert_eq!(credits.granted, credits.used + credits.wasted);
    pair
}

#[test]
fn an_unloaded_flow_within_the_bdp_takes_one_delay_and_its_transmission_time() {
    // Emulation packets and data share the link: 84 bytes for each 1538 bytes.
    for count in [1, 10, 500] {
        let setting = setting(false);
        let mut pair = pair(&setting, count);
        let took = pair.run_until_received();
        let ideal = DELAY + FRAME * count;
        assert!(took >= ideal && took < DELAY + (FRAME * count).scale(1.06) + FRAME, "{took}");
        assert_eq!(finished(pair, &setting).frames(Class::Data).len(), 0, "no credit was needed");
    }
}

#[test]
fn a_kept_connection_has_a_burst_again_only_after_it_was_idle() {
    let mut setting = setting(false);
    let renew_after = Span::from_ms(10);
    setting.unscheduled = setting.unscheduled.map(|unscheduled| aeolus::Config { renew_after, ..unscheduled });
    let mut first = pair(&setting, 5);
    first.run_until_received();
    for (idle, bursts) in [(Span::from_ms(8), false), (Span::from_ms(11), true)] {
        let [mut next, _] = pair(&setting, 5).ends;
        next.continue_connection(&first.ends[0]);
        let start = first.now + idle;
        next.on_timer(start);
        let sends = std::iter::from_fn(|| next.poll(start)).any(|out| out.class == Class::Unscheduled);
        assert_eq!(sends, bursts, "idle for {idle}");
    }
}

#[test]
fn unscheduled_packets_may_be_acknowledged_one_by_one() {
    let acks = |setting: &Setting| {
        let pair = finished(pair(setting, 5 * BDP), setting);
        let acks = pair.capture.iter().filter(|packet| matches!(packet.head, Head::UnscheduledAck(_))).count() as u64;
        (acks, pair.frames(Class::Unscheduled).len() as u64)
    };
    let mut setting = setting(false);
    let (together, burst) = acks(&setting);
    assert!(together <= burst.div_ceil(64) + 2, "{together} for {burst} frames");
    setting.receiver.unscheduled_ack_delay = Span::ZERO;
    assert_eq!(acks(&setting), (burst + 1, burst), "one for each frame, and one for the probe");
}

#[test]
fn the_burst_ends_with_the_first_credit_and_data_follows_after_the_waiting_time() {
    let setting = setting(false);
    let pair = finished(pair(&setting, 5 * BDP), &setting);
    let bursts: Vec<Span> = pair.of_class(Class::Unscheduled).map(|packet| packet.sent.since_start()).collect();
    let last = *bursts.last().unwrap();
    assert!(last < DELAY * 2 + Span::from_us(2) && last > (DELAY * 2).scale(0.95), "{last}");
    let first = data(&pair)[0].since_start();
    assert!(first >= WAIT && first < WAIT + Span::from_us(2), "{first}");
    let burst = bursts.len() as u64;
    assert_eq!(pair.frames(Class::Data), (burst..5 * BDP).collect::<Vec<_>>());
    assert_eq!(pair.ends[0].counters().retransmits, 0);
}

#[test]
fn a_burst_until_the_first_usable_credit_fills_the_waiting_time() {
    let (setting, short) = (setting(true), setting(false));
    let (mut long, mut other) = (pair(&setting, 5 * BDP), pair(&short, 5 * BDP));
    let (took, otherwise) = (long.run_until_received(), other.run_until_received());
    let burst = long.frames(Class::Unscheduled).len() as u64;
    assert!(burst > 2 * BDP && burst <= 3 * BDP, "{burst} frames without a credit");
    let gained = (otherwise - took).ratio(DELAY * 2);
    assert!((1.6..2.4).contains(&gained), "{gained} round trips sooner");
    finished(long, &setting);
}

#[test]
fn a_flow_whose_burst_is_lost_takes_as_long_as_without_a_burst() {
    for burst_until_first_data in [false, true] {
        for count in [1, 500, 3 * BDP] {
            let setting = setting(burst_until_first_data);
            let mut plain = pair(&plain(), count);
            let mut lossy = pair(&setting, count).with_drops(lose_unscheduled(|_| true));
            let (plain, took) = (plain.run_until_received(), lossy.run_until_received());
            assert!(took <= plain + FRAME * 3, "{count} frames: {took} instead of {plain}");
            let lossy = finished(lossy, &setting);
            assert_eq!(lossy.carried(), [(0, count * PAYLOAD)]);
            assert_eq!(lossy.ends[1].counters().duplicates, 0);
        }
    }
}

#[test]
fn lost_unscheduled_frames_alone_are_retransmitted_before_new_data() {
    let setting = setting(false);
    let pair = finished(pair(&setting, 2 * BDP).with_drops(lose_unscheduled(|frame| frame % 100 == 7)), &setting);
    let burst = pair.frames(Class::Unscheduled).len() as u64;
    let lost = (0..burst).filter(|frame| frame % 100 == 7);
    let expected: Vec<u64> = lost.chain(burst..2 * BDP).collect();
    assert_eq!(pair.frames(Class::Data), expected);
    assert_eq!(pair.ends[1].counters().duplicates, 0);
}

#[test]
fn a_lost_retransmission_is_retransmitted() {
    let setting = setting(false);
    let is_seventh = |packet: &CapturedPacket<Head>| !packet.body.is_empty() && packet.frame() == 7;
    let pair = finished(pair(&setting, BDP).with_drops(lose(is_seventh, |number| number < 3)), &setting);
    assert_eq!(pair.carried(), [(0, BDP * PAYLOAD)]);
}

#[test]
fn emulation_covers_the_whole_demand_from_the_start() {
    // The burst does not count as delivered before it is, so no credit is missing if it is lost.
    let setting = setting(false);
    let pair = finished(pair(&setting, 500).with_drops(lose_unscheduled(|_| true)), &setting);
    let emulations = emulations(&pair);
    let early = emulations.iter().filter(|(at, _)| at.since_start() < DELAY * 2).count();
    assert!(early >= 500, "{early} emulation packets in the first round trip");
    let ordinary = emulations.iter().filter(|(_, ecn)| *ecn != Ecn::NotEct).count();
    assert!(ordinary >= 500, "{ordinary} of them ordinary");
}

#[test]
fn only_tagged_emulation_and_unscheduled_data_are_not_ecn_capable() {
    let setting = setting(false);
    let pair = finished(pair(&setting, 2 * BDP), &setting);
    for packet in &pair.capture {
        let expected = match packet.class {
            Class::Unscheduled => Ecn::NotEct,
            Class::Emulation => packet.ecn,
            _ => Ecn::Ect,
        };
        assert_eq!(packet.ecn, expected, "{packet:?}");
    }
    let probe = pair.capture.iter().find(|packet| matches!(packet.head, Head::Probe { .. })).unwrap();
    assert_eq!((probe.class, probe.size), (Class::Control, 84));
}

#[test]
fn a_send_buffer_bounds_the_emulation_in_flight() {
    let mut setting = plain();
    setting.send_buffer = Some(Bytes::new(100 * PAYLOAD));
    setting.engine.over_provision = false;
    let pair = finished(pair(&setting, 1000), &setting);
    // In each waiting time: as much as the buffer holds, and what Equation 2 adds for losses.
    let times = emulations(&pair);
    let most = (0..times.len())
        .map(|from| times[from..].iter().take_while(|(at, _)| *at < times[from].0 + WAIT).count())
        .max();
    assert!(most.is_some_and(|most| (100..=112).contains(&most)), "{most:?}");
    let report = pair.ends[0].counters();
    assert_eq!((report.credits.used, report.retransmits), (1000, 0));
}
