//! Aeolus's start: data before the first credit, the probe behind it, and repairs on credits.

use std::time::Duration;

use shallop_core::Bytes;

use super::link::Way;
use super::network::{Direction, Network, Sighting, config, ms, secs};
use crate::config::{Classes, Config};
use crate::credit::path::Path;
use crate::credit::stats::CreditStats;
use crate::credit::unscheduled::Unscheduled;

/// The round trip of the network, and the waiting time.
const ROUND_TRIP: Duration = Duration::from_millis(20);
const WAIT: Duration = Duration::from_millis(40);

/// A bottleneck that drops data without credits above two packets.
fn way() -> Way {
    Way { selective: Some(2), ..Way::new(100e6, ms(10)) }
}

/// An endpoint at a link of this many Mb/s with a burst of so many KB.
fn starting(mbps: u64, kilobytes: u64) -> Config {
    let burst = Bytes::new(kilobytes * 1_000);
    let unscheduled = Some(Unscheduled { burst, until_first_data: false });
    Config { unscheduled, ..config(mbps, 40) }
}

/// A client that has so many bytes to send as soon as it is connected: how long it takes from there until the first
/// byte has arrived, and until all have.
fn arrival(config: Config, bytes: u64, way: &Way) -> (Duration, Duration, Network) {
    let mut network = Network::of_ours(config, config, way);
    network.client.send(bytes);
    network.watch();
    network.until(secs(1), |network| network.client.connection().is_ready());
    let first = network.until(secs(1), |network| network.server.received > 0);
    let all = first + network.until(secs(10), |network| network.server.received == bytes);
    network.until(secs(1), |network| network.client.is_done());
    assert_eq!((network.client.path(), network.there.drops.data), (Path::Credits, 0));
    (first, all, network)
}

fn is_unscheduled(seen: &Sighting) -> bool {
    seen.dscp == Classes::default().unscheduled
}

/// Packets with data that left without a credit and were not unscheduled, as a part of all.
fn residue(of: &CreditStats) -> f64 {
    let all = of.data_packets + of.without_credit + of.unscheduled;
    // The settings are the first of them.
    (of.without_credit - 1) as f64 / all as f64
}

#[test]
fn the_first_byte_arrives_a_waiting_time_earlier() {
    // The data itself takes 0.9 and 8.8 ms, and a half round trip.
    for (bytes, most) in [(10_000, ms(11)), (100_000, ms(19))] {
        let (first, all, _) = arrival(config(100, 40), bytes, &way());
        let (first_at_once, all_at_once, network) = arrival(starting(100, 250), bytes, &way());
        let earlier = first.saturating_sub(first_at_once);
        assert!((ROUND_TRIP..WAIT + ms(1)).contains(&earlier), "{first:?} {first_at_once:?}");
        assert!(all_at_once < most && all + ms(1) > all_at_once + WAIT, "{all:?} {all_at_once:?}");
        assert_eq!(network.there.drops.unscheduled, 0);
    }
}

#[test]
fn the_burst_leaves_at_the_rate_of_the_link_and_is_no_longer_than_it_may_be() {
    let (_, _, network) = arrival(starting(100, 20), 1_000_000, &way());
    let sent = network.sent(Direction::There, is_unscheduled);
    // 14 frames of 1,538 bytes are the first that are 20 KB or more.
    assert_eq!(sent.len(), 14);
    assert!(sent.iter().all(|seen| seen.ecn == 0), "switches drop them first: {sent:?}");
    for pair in sent.windows(2) {
        let gap = (pair[1].at - pair[0].at).as_nanos();
        assert!((123_000..124_000).contains(&gap), "1,538 bytes take 123.04 us: {gap}");
    }
}

#[test]
fn it_begins_with_emulation_and_ends_with_the_first_answer_and_a_probe() {
    let (_, _, mut network) = arrival(starting(100, 1_000), 1_000_000, &way());
    let classes = Classes::default();
    let sent = network.sent(Direction::There, is_unscheduled);
    let emulation = network.sent(Direction::There, |seen| seen.dscp == classes.emulation);
    let (begun, last) = (sent[0].at, sent[sent.len() - 1].at);
    assert!(emulation[0].at >= begun && emulation[0].at < begun + ms(1));
    let took = last - begun;
    assert!((ROUND_TRIP..ROUND_TRIP + ms(1)).contains(&took), "{took:?}");
    let probe = network.sent(Direction::There, |seen| {
        seen.dscp == classes.control && seen.at >= last && seen.bytes < 100
    });
    assert_eq!(probe.len(), 1, "{probe:?}");
    assert!(probe[0].at < last + ms(1) && probe[0].ecn == 2, "{probe:?}");
    let stats = network.client.stats();
    assert_eq!(stats.unscheduled, sent.len() as u64);
    assert!(residue(&stats) < 0.005, "{stats:?}");
}

#[test]
fn a_burst_until_the_first_credit_may_be_used_lasts_a_waiting_time() {
    let config = starting(100, 1_000);
    let unscheduled = config.unscheduled.map(|of| Unscheduled { until_first_data: true, ..of });
    let (_, _, network) = arrival(Config { unscheduled, ..config }, 2_000_000, &way());
    let sent = network.sent(Direction::There, is_unscheduled);
    let took = sent[sent.len() - 1].at - sent[0].at;
    assert!((WAIT..WAIT + ms(2)).contains(&(took + ms(1))), "{took:?}");
}

#[test]
fn what_a_burst_loses_is_repaired_on_credits_alone() {
    for kilobytes in [50, 200, 1_000] {
        // Ten times as fast as the bottleneck.
        let (_, _, mut network) = arrival(starting(1_000, kilobytes), 2_000_000, &way());
        let stats = network.client.stats();
        let lost = network.there.drops.unscheduled;
        assert!(lost * 2 > stats.unscheduled, "{lost} of {stats:?}");
        assert!(stats.data_packets <= stats.used, "{stats:?}");
        assert!(residue(&stats) < 0.005, "{stats:?}");
    }
}

#[test]
fn a_lost_end_is_found_by_the_probe_and_repaired_when_credits_may_be_used() {
    // All but the first packets are lost, and nothing follows.
    let (_, all, mut network) = arrival(starting(1_000, 1_000), 40_000, &way());
    let (_, without, _) = arrival(config(1_000, 40), 40_000, &way());
    let stats = network.client.stats();
    assert!(stats.unscheduled == 29 && network.there.drops.unscheduled > 20, "{stats:?}");
    // Those of the first emulation packets leave as early as without a burst, and so do the others.
    assert!(all <= without + ms(1), "{all:?} {without:?}");
    // The settings, and one in 25 ms that takes acknowledgements with it while repairs wait.
    assert!(stats.without_credit <= 3, "{stats:?}");
}

#[test]
fn only_the_first_data_of_a_connection_is_unscheduled() {
    let mut network = Network::connected_with(starting(100, 250), &way());
    network.run(secs(2));
    for round in 0..3 {
        network.watch();
        network.client.send(30_000);
        network.until(secs(1), |network| network.client.is_done());
        let sent = network.sent(Direction::There, is_unscheduled).len();
        assert_eq!(sent, if round == 0 { 22 } else { 0 });
    }
}
