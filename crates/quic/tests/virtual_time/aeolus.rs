//! Connections with Aeolus: data before the first credit, the probe after it, and retransmissions on credits.

use super::link::LinkConfig;
use super::network::{Direction, Network, SentPacket, config, ms, secs};
use crate::config::{Classes, Config};
use crate::{credit::send_mode::SendMode, credit::stats::CreditStats, credit::unscheduled::Unscheduled};
use shallop_core::{Bytes, Span};
use std::time::Duration;

/// The round trip time of the links, and the waiting time.
const ROUND_TRIP: Duration = Duration::from_millis(20);
const WAIT: Duration = Duration::from_millis(40);

/// A bottleneck that drops unscheduled data if two packets are queued.
fn link() -> LinkConfig {
    LinkConfig { selective: Some(2), ..LinkConfig::new(100e6, ms(10)) }
}

/// A configuration with this link rate and this limit of unscheduled data.
fn starting(mbps: u64, kilobytes: u64) -> Config {
    let burst = Bytes::new(kilobytes * 1_000);
    let unscheduled = Some(Unscheduled { burst, until_first_data: false, renew_after: None });
    Config { unscheduled, ..config(mbps, 40) }
}

/// Lets a client send `bytes` as soon as it is connected. Returns the times from there until the first and the last
/// byte arrive.
fn arrival(config: Config, bytes: u64, link: &LinkConfig) -> (Duration, Duration, Network) {
    let mut network = Network::new_pair(config, config, link);
    network.client.send(bytes);
    network.watch();
    network.until(secs(1), |network| network.client.connection().is_ready());
    let first = network.until(secs(1), |network| network.server.received > 0);
    let all = first + network.until(secs(10), |network| network.server.received == bytes);
    network.until(secs(1), |network| network.client.is_done());
    assert_eq!((network.client.send_mode(), network.to_server.drops.data), (SendMode::Credits, 0));
    (first, all, network)
}

/// The fraction of data packets that were neither on credits nor unscheduled.
fn residue(of: &CreditStats) -> f64 {
    let all = of.data_packets + of.without_credit + of.unscheduled;
    // One of them has the settings.
    (of.without_credit - 1) as f64 / all as f64
}

#[test]
fn the_first_byte_arrives_a_waiting_time_earlier() {
    // Serialization takes 0.9 and 8.9 ms, propagation half a round trip, and two packets leave beside the data.
    for (bytes, most) in [(10_000, Duration::from_micros(11_200)), (100_000, Duration::from_micros(19_300))] {
        let (first, all, _) = arrival(config(100, 40), bytes, &link());
        let (first_at_once, all_at_once, network) = arrival(starting(100, 250), bytes, &link());
        let earlier = first.saturating_sub(first_at_once);
        assert!((ROUND_TRIP..WAIT + ms(1)).contains(&earlier), "{first:?} {first_at_once:?}");
        assert!(all_at_once < most && all + ms(1) > all_at_once + WAIT, "{all:?} {all_at_once:?}");
        assert_eq!(network.to_server.drops.unscheduled, 0);
    }
}

#[test]
fn the_burst_is_paced_at_the_link_rate_and_bounded() {
    let (_, _, network) = arrival(starting(100, 20), 1_000_000, &link());
    let sent = network.sent(Direction::ToServer, SentPacket::is_unscheduled);
    // 16 is the least number of frames of 1,266 bytes with 20 KB.
    assert_eq!(sent.len(), 16);
    assert!(sent.iter().all(|seen| seen.ecn == 0), "switches drop them first: {sent:?}");
    for pair in sent.windows(2) {
        let gap = (pair[1].at - pair[0].at).as_nanos();
        // A probe of the MTU with 1,336 bytes, 1,402 on the wire, may leave between two packets, and room for two full
        // ones follows the first.
        let expected = [101_000..102_000, 213_000..214_000, 303_000..305_000];
        assert!(expected.iter().any(|of| of.contains(&gap)), "1,266 bytes take 101.28 us: {gap}");
    }
}

#[test]
fn the_burst_begins_with_emulation_packets_and_ends_with_the_first_answer_and_a_probe() {
    let (_, _, mut network) = arrival(starting(100, 1_000), 1_000_000, &link());
    let sent = network.sent(Direction::ToServer, SentPacket::is_unscheduled);
    let emulation = network.sent(Direction::ToServer, SentPacket::is_emulation);
    let (begun, last) = (sent[0].at, sent[sent.len() - 1].at);
    assert!(emulation[0].at >= begun && emulation[0].at < begun + ms(1));
    let took = last - begun;
    assert!((ROUND_TRIP..ROUND_TRIP + ms(1)).contains(&took), "{took:?}");
    let probe = network.sent(Direction::ToServer, |seen| {
        seen.dscp == Classes::default().control && seen.at >= last && seen.bytes < 100
    });
    assert_eq!(probe.len(), 1, "{probe:?}");
    assert!(probe[0].at < last + ms(1) && probe[0].ecn == 2, "{probe:?}");
    let stats = network.client.stats();
    assert_eq!(stats.unscheduled, sent.len() as u64);
    assert!(residue(&stats) < 0.005, "{stats:?}");
}

#[test]
fn a_burst_until_the_first_usable_credit_lasts_a_waiting_time() {
    let config = starting(100, 1_000);
    let unscheduled = config.unscheduled.map(|of| Unscheduled { until_first_data: true, ..of });
    let (_, _, network) = arrival(Config { unscheduled, ..config }, 2_000_000, &link());
    let sent = network.sent(Direction::ToServer, SentPacket::is_unscheduled);
    let took = sent[sent.len() - 1].at - sent[0].at;
    assert!((WAIT..WAIT + ms(2)).contains(&(took + ms(1))), "{took:?}");
}

#[test]
fn losses_of_the_burst_are_retransmitted_on_credits() {
    for kilobytes in [50, 200, 1_000] {
        // The host is ten times as fast as the bottleneck.
        let (_, _, mut network) = arrival(starting(1_000, kilobytes), 2_000_000, &link());
        let stats = network.client.stats();
        let lost = network.to_server.drops.unscheduled;
        assert!(lost * 2 > stats.unscheduled, "{lost} of {stats:?}");
        assert!(stats.data_packets <= stats.used, "{stats:?}");
        assert!(residue(&stats) < 0.005, "{stats:?}");
    }
}

#[test]
fn a_lost_end_of_the_burst_is_detected_by_the_probe_and_retransmitted_on_the_first_credits() {
    // All but the first packets are lost, and no data follows.
    let (_, all, mut network) = arrival(starting(1_000, 1_000), 40_000, &link());
    let (_, without, _) = arrival(config(1_000, 40), 40_000, &link());
    let stats = network.client.stats();
    assert!(stats.unscheduled == 36 && network.to_server.drops.unscheduled > 20, "{stats:?}");
    // Retransmissions leave as early as the data without a burst.
    assert!(all <= without + ms(1), "{all:?} {without:?}");
    // The settings, and one packet in 25 ms with acknowledgements while retransmissions wait.
    assert!(stats.without_credit <= 3, "{stats:?}");
}

/// A configuration with this link rate, whose data is unscheduled again, up to 20 KB, after such pauses.
fn renewing_after(pause: Duration, mbps: u64) -> Config {
    let config = starting(mbps, 20);
    let renew_after = Some(Span::from(pause));
    Config { unscheduled: config.unscheduled.map(|of| Unscheduled { renew_after, ..of }), ..config }
}

fn renewing(mbps: u64) -> Config {
    renewing_after(WAIT, mbps)
}

/// Two hosts whose connection has sent its first burst, and then nothing for two waiting times.
fn at_rest(config: Config) -> Network {
    let mut network = Network::connected_with(config, &link());
    network.run(secs(2));
    message(&mut network, 10_000);
    network.run(WAIT * 4);
    network
}

/// Sends a message. Returns the time until it has arrived, and the number of its unscheduled packets.
fn message(network: &mut Network, bytes: u64) -> (Duration, usize) {
    network.watch();
    let before = network.server.received;
    network.client.send(bytes);
    let took = network.until(secs(1), |network| network.server.received == before + bytes);
    network.until(secs(1), |network| network.client.is_done());
    (took, network.sent(Direction::ToServer, SentPacket::is_unscheduled).len())
}

#[test]
fn data_after_a_pause_is_unscheduled_only_if_the_connection_renews() {
    for (config, expected) in [(starting(100, 20), 0), (renewing(100), 8)] {
        let mut network = at_rest(config);
        for round in 0..4 {
            let (took, unscheduled) = message(&mut network, 10_000);
            // Half a round trip, and 0.9 ms of transmission.
            let takes = if expected > 0 { ms(10)..ms(11) } else { WAIT + ms(10)..WAIT + ms(12) };
            assert!(unscheduled == expected && takes.contains(&took), "{round}: {took:?} {unscheduled}");
            network.run(WAIT * 2);
        }
        // Packets of earlier bursts do not count as packets of the newest.
        assert!(network.client.connection().gate.unscheduled_acked() <= 10);
    }
}

#[test]
fn a_pause_is_long_enough_only_after_renew_after_without_anything_to_send() {
    // The burst lasts 0.9 ms.
    for (pause, expected) in [(ms(100), 0), (ms(101), 8)] {
        let mut network = at_rest(renewing_after(ms(100), 100));
        network.watch();
        network.client.send(10_000);
        network.run(pause);
        assert_eq!(message(&mut network, 10_000).1, expected, "{pause:?}");
    }
    // A pause begins only when no data waits for credits, and when all packets of the earlier burst are acknowledged
    // or lost.
    for since in [ms(12), ms(18)] {
        let mut network = at_rest(renewing_after(ms(15), 100));
        network.client.send(10_000);
        network.run(since);
        let (took, unscheduled) = message(&mut network, 10_000);
        assert!(took + since > WAIT + ms(10) && unscheduled == 0, "{since:?}: {took:?} {unscheduled}");
    }
}

#[test]
fn a_renewed_burst_is_paced_and_no_longer_than_the_first() {
    let mut network = at_rest(renewing(100));
    let (_, unscheduled) = message(&mut network, 1_000_000);
    let sent = network.sent(Direction::ToServer, SentPacket::is_unscheduled);
    // 14 is the least number of frames of 1,538 bytes with 20 KB. One takes 123 us.
    assert_eq!(unscheduled, 14);
    assert!(sent.windows(2).all(|pair| pair[1].at - pair[0].at >= Duration::from_micros(123)), "{sent:?}");
    let probe = network.sent(Direction::ToServer, |seen| {
        seen.dscp == Classes::default().control && seen.at >= sent[13].at && seen.bytes < 100
    });
    assert!(probe.len() == 1 && probe[0].at < sent[13].at + ms(1), "{probe:?}");
}

#[test]
fn losses_of_a_renewed_burst_are_retransmitted_on_credits() {
    // The host is ten times as fast as the bottleneck.
    let mut network = at_rest(renewing(1_000));
    let (mut without, before) = (at_rest(starting(1_000, 20)), network.to_server.drops.unscheduled);
    for _ in 0..3 {
        let (took, unscheduled) = message(&mut network, 100_000);
        let (took_without, _) = message(&mut without, 100_000);
        assert!(unscheduled >= 14 && took < took_without + ms(2), "{took:?} {took_without:?} {unscheduled}");
        network.run(WAIT * 2);
        without.run(WAIT * 2);
    }
    let lost = network.to_server.drops.unscheduled - before;
    assert!(lost > 20 && network.to_server.drops.data == 0, "{lost}");
    assert!(network.client.stats().without_credit <= 4, "{:?}", network.client.stats());
}

#[test]
fn a_lost_short_packet_asks_for_credits_no_longer_than_it_is_missing() {
    let mut network = at_rest(renewing(100));
    network.cut(ms(5));
    message(&mut network, 300);
    network.run(secs(1));
    let emulated = network.client.stats().emulated;
    network.run(secs(5));
    assert_eq!(network.client.stats().emulated, emulated);
    assert_eq!(message(&mut network, 10_000).1, 8);
}

#[test]
fn while_data_waits_to_be_sent_again_there_is_no_burst() {
    let mut network = at_rest(renewing(100));
    network.client.send(10_000);
    network.run(ms(22));
    // This message leaves on credits of the one before and is lost.
    network.client.send(300);
    network.cut(secs(3));
    network.run(secs(1));
    network.watch();
    network.client.send(10_000);
    network.run(secs(1));
    assert_eq!(network.sent(Direction::ToServer, SentPacket::is_unscheduled).len(), 0);
    network.until(secs(5), |network| network.client.is_done());
}
