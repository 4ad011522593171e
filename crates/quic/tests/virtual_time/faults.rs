//! Interrupted links, a smaller MTU, and packets that are delayed or duplicated.

use super::network::{Direction, Network, SentPacket, config, ms, secs};
use super::{MB, link::LinkConfig};
use crate::{credit::send_mode::SendMode, error::CloseReason};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

#[test]
fn a_dead_path_gets_fewer_and_fewer_probes_and_emulation_packets() {
    let mut network = Network::connected();
    network.client.send(20 * MB);
    network.run(ms(500));
    network.cut(secs(100));
    // Data with credits leaves until the waiting time is over.
    network.run(ms(45));
    let begun = network.now;
    network.watch();
    network.run(secs(30));
    assert_eq!(network.sent(Direction::ToServer, SentPacket::is_data).len(), 0, "the probes have no data");
    // Probes come in pairs, at intervals that double, the first after about a round trip and 25 ms.
    let probes = network.sent(Direction::ToServer, SentPacket::is_quic);
    let times: BTreeSet<Instant> = probes.iter().map(|seen| seen.at).collect();
    assert!(probes.len() <= 2 * times.len(), "{probes:?}");
    let times: Vec<Instant> = times.into_iter().collect();
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The last one is the keep-alive.
    assert!(gaps[..7].windows(2).all(|pair| pair[1] >= pair[0] * 19 / 10), "{gaps:?}");
    assert!(gaps[7..].iter().all(|&gap| gap >= secs(5)), "{gaps:?}");
    let emulation = network.sent(Direction::ToServer, SentPacket::is_emulation);
    let in_second = |second| emulation.iter().filter(|seen| (seen.at - begun).as_secs() == second).count();
    assert!((5..40).contains(&in_second(0)), "one in a round trip, then fewer: {}", in_second(0));
    assert!((5..30).all(|second| in_second(second) <= 1), "{emulation:?}");
    network.run(secs(40));
    assert!(matches!(&network.client.connection().close_reason, Some(CloseReason::Lost(why)) if why == "timed out"));
}

#[test]
fn a_stall_of_40_seconds_loses_nothing() {
    // 20 MB take 2.6 s. The probe interval of QUIC is 1.3 s at the end of the first stall, and 27 s of the second.
    for (stall, within) in [(3, 8), (40, 60)] {
        let mut network = Network::connected();
        network.client.send(20 * MB);
        network.run(ms(500));
        network.cut(secs(stall));
        network.until(secs(within), |network| network.client.is_done());
        assert_eq!((network.client.send_mode(), network.server.received), (SendMode::Credits, 20 * MB));
        assert!(network.client.connection().close_reason.is_none());
    }
}

#[test]
fn a_transfer_continues_when_the_path_drops_long_packets() {
    let mut network = Network::connected();
    network.client.send(10 * MB);
    network.run(ms(300));
    network.to_server.config.mtu = 1_300;
    // The data takes 1.1 s, and a fifth more in shorter packets, on credits for the longer ones.
    network.until(ms(1_700), |network| network.client.is_done());
    assert_eq!((network.client.send_mode(), network.server.received), (SendMode::Credits, 10 * MB));
    let stats = network.client.stats();
    assert!(stats.without_credit < 10, "{stats:?}");
    assert_eq!(network.client.connection().quic.current_mtu(), 1_200);
}

#[test]
fn delayed_and_duplicated_packets_do_no_harm() {
    let link =
        LinkConfig { loss: 0.01, duplication: 0.02, reordering: (0.02, ms(5)), ..LinkConfig::new(100e6, ms(10)) };
    let mut network = Network::connected_with(config(100, 60), &link);
    network.client.send(5 * MB);
    network.server.send(5 * MB);
    network.finish(secs(3));
    assert_eq!(network.received(), [5 * MB; 2]);
    let dropped = network.client.stats().dropped;
    assert!(dropped.stamp_repeated > 20 && dropped.emulation_repeated > 20, "{dropped:?}");
    assert_eq!(dropped.total(), dropped.stamp_repeated + dropped.emulation_repeated);
}

#[test]
fn jitter_without_loss_keeps_credits_and_costs_little_time() {
    let took = |jitter| {
        let link = LinkConfig { reordering: (1.0, ms(jitter)), ..LinkConfig::new(200e6, ms(10)) };
        let mut network = Network::connected_with(config(200, 60), &link);
        let begun = network.now;
        network.client.send(30 * MB);
        network.until(secs(5), |network| network.client.is_done());
        assert_eq!((network.client.send_mode(), network.server.received), (SendMode::Credits, 30 * MB), "{jitter} ms");
        let lost = network.client.connection().path_stats().packets_lost;
        assert_eq!(lost, 0, "{jitter} ms");
        network.now - begun
    };
    let without = took(0);
    for jitter in [2, 5] {
        assert!(took(jitter) * 8 <= without * 10, "{jitter} ms: {:?} for {without:?}", took(jitter));
    }
}

#[test]
fn links_that_flap_lose_nothing() {
    let mut network = Network::connected();
    network.client.send(10 * MB);
    network.server.send(10 * MB);
    for _ in 0..10 {
        network.run(ms(180));
        network.cut(ms(120));
    }
    network.finish(secs(20));
    assert_eq!(network.received(), [10 * MB; 2]);
    assert_eq!(network.send_modes(), [SendMode::Credits; 2]);
}

#[test]
fn a_connection_older_than_200_days_sends_without_credits() {
    let mut network = Network::connected();
    network.upload(MB, secs(1));
    // The clock of credits ends after 213 days.
    for days in [190, 11, 100] {
        network.client.connection().age(secs(days * 24 * 3_600));
        network.server.connection().age(secs(days * 24 * 3_600));
        network.upload(MB, secs(3));
        network.server.send(MB);
        network.until(secs(3), |network| network.server.is_done());
        let mode = if days == 190 { SendMode::Credits } else { SendMode::WithoutCredits };
        assert_eq!(network.send_modes(), [mode; 2]);
    }
}
