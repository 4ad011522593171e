//! Data on credits, over links without and with losses.

use super::network::{Direction, Network, SentPacket, config, ms, secs};
use super::{MB, link::LinkConfig};
use crate::{config::Classes, config::Config, credit::stats::CreditStats};

/// The fraction of data packets without a credit.
fn residue(stats: &CreditStats) -> f64 {
    stats.without_credit as f64 / (stats.data_packets + stats.without_credit) as f64
}

fn losing(data_loss: f64) -> Network {
    Network::connected_with(config(100, 40), &LinkConfig { data_loss, ..LinkConfig::new(100e6, ms(10)) })
}

#[test]
fn data_fills_the_link_without_drops() {
    let mut network = Network::connected();
    network.watch();
    let took = network.upload(5 * MB, secs(5));
    let stats = network.client.stats();
    // A waiting time, a round trip, and the data at up to 95 % of the link rate.
    assert!((ms(420)..ms(750)).contains(&took), "{took:?}");
    assert_eq!(network.to_server.drops.data, 0);
    let data = network.sent(Direction::ToServer, SentPacket::is_data);
    assert_eq!(data.len() as u64, stats.data_packets);
    assert!(stats.data_packets <= stats.used && stats.used < 5 * MB / 1_400, "{stats:?}");
    assert_eq!(stats.without_credit, 1, "the settings");
}

/// The paper's law measures the loss of a round trip; tagged emulation packets follow when the data has enough.
#[test]
fn the_law_of_the_paper_and_several_stamps_to_a_credit_fill_the_link_without_drops() {
    for batch in [1, 6] {
        let config = Config { batch: Some(batch), ..config(100, 40).as_in_paper() };
        // The paper's law does not make up for lost tokens, so the bucket is as deep as in switches (`credit_burst`).
        let link = LinkConfig { emulation_burst: 2, ..LinkConfig::new(100e6, ms(10)) };
        let mut network = Network::connected_with(config, &link);
        network.watch();
        let took = network.upload(5 * MB, secs(5));
        assert!((ms(420)..ms(650)).contains(&took), "{batch}: {took:?}");
        assert_eq!(network.to_server.drops.data, 0);
        let tagged = network.sent(Direction::ToServer, |seen| seen.is_emulation() && seen.ecn == 0);
        assert!(!tagged.is_empty(), "{batch}");
        let credits = network.sent(Direction::ToClient, |seen| seen.dscp == Classes::default().credit);
        let stamps = network.server.stats().credits_sent as usize;
        assert!(credits.len() * usize::from(batch) >= stamps && stamps >= credits.len());
        assert!(batch == 1 || credits.len() * 2 < stamps, "{} {stamps}", credits.len());
    }
}

/// Loss fractions, each with data in one direction and in both.
fn cases() -> impl Iterator<Item = (f64, bool)> {
    [0.0, 0.001, 0.01].into_iter().flat_map(|loss| [(loss, false), (loss, true)])
}

#[test]
fn retransmissions_wait_for_credits() {
    for (loss, both) in cases() {
        let mut network = losing(loss);
        network.client.send(8 * MB);
        network.server.send(if both { 8 * MB } else { 0 });
        network.until(secs(5), |network| {
            let stats = network.client.stats();
            assert!(stats.data_packets <= stats.used, "{stats:?}");
            network.client.is_done() && network.server.is_done()
        });
        let hosts = [&mut network.client, &mut network.server];
        for host in hosts.into_iter().take(1 + usize::from(both)) {
            let (stats, quic) = (host.stats(), host.connection().quic.stats());
            let lost = quic.path.lost_packets as f64;
            let expected = loss * stats.data_packets as f64;
            assert!((lost - expected).abs() <= 4.0 * expected.sqrt(), "{lost} of {expected}");
            assert!(residue(&stats) < 0.002, "{loss} {both} {stats:?}");
        }
        assert_eq!((network.to_server.drops.data, network.to_client.drops.data), (0, 0));
    }
}

#[test]
fn lost_ends_of_short_transfers_are_retransmitted_on_credits() {
    for (loss, both) in cases() {
        let mut network = losing(loss);
        for _ in 0..40 {
            network.client.send(100_000);
            network.server.send(if both { 100_000 } else { 0 });
            network.finish(secs(5));
        }
        let stats = network.client.stats();
        // With losses in both directions, acknowledgements take retransmissions with them before their credits arrive.
        let most = if both { 0.012 } else { 0.002 };
        assert!(residue(&stats) < most, "{loss} {both} {stats:?}");
        assert!(stats.data_packets + stats.without_credit <= stats.granted, "{stats:?}");
    }
}
