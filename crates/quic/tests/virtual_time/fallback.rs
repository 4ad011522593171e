//! Paths that are unfit for credits: the connection falls back to a congestion window, and returns to credits on
//! request.

use super::network::{Network, config, ms, secs};
use super::{MB, link::LinkConfig};
use crate::config::{Classes, Config};
use crate::credit::send_mode::{Fallback, SendMode};
use std::time::Duration;

const CONTROLLERS: [Fallback; 2] = [Fallback::Cubic, Fallback::Bbr];

fn connected(fallback: Fallback, link: &LinkConfig) -> Network {
    Network::connected_with(Config { fallback, ..config(100, 40) }, link)
}

fn link() -> LinkConfig {
    LinkConfig { buffer: 100, ..LinkConfig::new(100e6, ms(10)) }
}

/// Runs until the client leaves credits, and asserts the reason.
fn leaves(network: &mut Network, why: SendMode, within: Duration) {
    network.until(within, |network| network.client.send_mode() != SendMode::Credits);
    assert_eq!(network.client.send_mode(), why);
}

/// Lets the client return to credits, and asserts that it sends on credits only.
fn returns(network: &mut Network) {
    let before = network.client.stats();
    assert!(network.client.connection().use_credits());
    network.client.send(3 * MB);
    network.until(secs(5), |network| network.client.is_done());
    let after = network.client.stats();
    assert_eq!(network.client.send_mode(), SendMode::Credits);
    let (data, without) = (after.data_packets - before.data_packets, after.without_credit - before.without_credit);
    assert!(data > 2_000 && data <= after.used - before.used, "{after:?}");
    assert!(without * 200 <= data, "{without} of {data}");
}

#[test]
fn without_any_credit_data_continues_and_credits_can_return() {
    for fallback in CONTROLLERS {
        let mut network = connected(fallback, &link());
        network.to_server.config.blocked = Some(Classes::default().emulation);
        network.client.send(5 * MB);
        leaves(&mut network, SendMode::Unanswered, ms(200));
        network.finish(secs(3));
        assert_eq!(network.server.send_mode(), SendMode::Credits, "each side decides about its own data");
        network.to_server.config.blocked = None;
        returns(&mut network);
        assert_eq!(network.server.received, 8 * MB);
    }
}

#[test]
fn credits_that_stop_during_a_transfer_are_left_and_can_return() {
    let classes = Classes::default();
    for fallback in CONTROLLERS {
        for (to_server, to_client) in [(Some(classes.emulation), None), (None, Some(classes.credit))] {
            let mut network = connected(fallback, &link());
            network.client.send(10 * MB);
            network.run(ms(300));
            assert_eq!(network.client.send_mode(), SendMode::Credits);
            (network.to_server.config.blocked, network.to_client.config.blocked) = (to_server, to_client);
            leaves(&mut network, SendMode::CreditsStopped, ms(800));
            network.finish(secs(4));
            network.both(|link| link.blocked = None);
            returns(&mut network);
            assert_eq!(network.server.received, 13 * MB);
        }
    }
}

#[test]
fn stopped_credits_are_detected_while_retransmissions_wait() {
    let mut network = connected(Fallback::Cubic, &link());
    network.client.send(10 * MB);
    network.run(ms(200));
    network.to_server.config.data_loss = 0.3;
    network.to_server.config.blocked = Some(Classes::default().emulation);
    leaves(&mut network, SendMode::CreditsStopped, ms(800));
    network.to_server.config.data_loss = 0.0;
    network.finish(secs(5));
    assert_eq!(network.server.received, 10 * MB);
}

#[test]
fn returns_during_a_transfer_lose_nothing() {
    for fallback in CONTROLLERS {
        let mut network = connected(fallback, &link());
        network.client.send(20 * MB);
        network.server.send(20 * MB);
        network.run(ms(200));
        let mut returned = 0;
        for _ in 0..4 {
            network.to_server.config.blocked = Some(Classes::default().emulation);
            network.run(ms(800));
            network.to_server.config.blocked = None;
            network.run(ms(50));
            returned += u32::from(network.client.connection().use_credits());
            network.run(ms(150));
        }
        assert!(returned >= 3, "{returned}");
        network.finish(secs(10));
        assert_eq!(network.received(), [20 * MB; 2]);
        let dropped = [network.client.stats().dropped, network.server.stats().dropped];
        assert!(dropped.iter().all(|of| of.stamp_unknown == 0 && of.emulation_repeated == 0));
    }
}

#[test]
fn an_erased_dscp_is_reported_by_the_peer_at_each_return() {
    let mut network = connected(Fallback::Cubic, &LinkConfig { is_erasing: true, ..link() });
    network.client.send(5 * MB);
    leaves(&mut network, SendMode::ClassesErased, ms(100));
    assert_eq!(network.server.send_mode(), SendMode::Credits);
    network.finish(secs(3));
    assert!(network.client.connection().use_credits());
    network.client.send(5 * MB);
    network.run(ms(10));
    assert_eq!(network.client.send_mode(), SendMode::Credits);
    leaves(&mut network, SendMode::ClassesErased, ms(200));
    network.finish(secs(3));
    network.both(|link| link.is_erasing = false);
    returns(&mut network);
    assert_eq!(network.server.received, 13 * MB);
    // The server's data uses the same links.
    network.both(|link| link.is_erasing = true);
    network.server.send(5 * MB);
    network.finish(secs(3));
    assert_eq!(network.server.send_mode(), SendMode::ClassesErased);
    assert_eq!((network.client.send_mode(), network.client.received), (SendMode::Credits, 5 * MB));
}

#[test]
fn a_path_that_clears_ecn_is_told_and_keeps_credits() {
    for clears_ecn in [false, true] {
        let mut network = connected(Fallback::Cubic, &LinkConfig { clears_ecn, ..link() });
        network.client.send(5 * MB);
        network.finish(secs(3));
        assert_eq!((network.client.send_mode(), network.server.received), (SendMode::Credits, 5 * MB));
        assert_eq!(network.client.connection().path_stats().ecn_cleared, clears_ecn);
    }
}

#[test]
fn loss_of_data_without_loss_of_emulation_packets_ends_credits() {
    // The hosts assume twice the rate of the link, and no queue meters emulation packets.
    let slow = LinkConfig { is_unmetered: true, buffer: 50, ..LinkConfig::new(50e6, ms(10)) };
    for fallback in CONTROLLERS {
        let mut network = connected(fallback, &slow);
        network.client.send(10 * MB);
        leaves(&mut network, SendMode::DataLost, ms(600));
        network.finish(secs(10));
        assert_eq!(network.server.received, 10 * MB);
    }
}

#[test]
fn random_loss_does_not_end_credits() {
    // Each transfer loses enough packets for a decision, more than 64.
    for (loss, bytes) in [(0.01, 12 * MB), (0.05, 3 * MB)] {
        for (to_server, to_client) in [(loss, 0.0), (0.0, loss), (loss, loss)] {
            let mut network = connected(Fallback::Cubic, &LinkConfig::new(100e6, ms(10)));
            (network.to_server.config.loss, network.to_client.config.loss) = (to_server, to_client);
            network.client.send(bytes);
            network.server.send(bytes);
            network.until(secs(20), |network| {
                let modes = network.send_modes();
                assert_eq!(modes, [SendMode::Credits; 2], "{to_server} {to_client}");
                network.client.is_done() && network.server.is_done()
            });
            let lost = network.client.connection().quic.stats().path.lost_packets;
            assert!(to_server == 0.0 || lost > 64, "{lost}");
        }
    }
}

#[test]
fn short_interruptions_do_not_end_credits() {
    // Some interruptions lose only data, after the last emulation packet.
    for bytes in [MB, 10 * MB] {
        for phase in [0, 7, 13, 29] {
            let mut network = connected(Fallback::Cubic, &LinkConfig::new(100e6, ms(10)));
            network.client.send(bytes);
            network.run(ms(60 + phase));
            for _ in 0..20 {
                network.cut(ms(15));
                network.run(ms(60));
                assert_eq!(network.client.send_mode(), SendMode::Credits, "{bytes} {phase}");
            }
            network.finish(secs(5));
            assert_eq!(network.client.send_mode(), SendMode::Credits, "{bytes} {phase}");
        }
    }
}

#[test]
fn without_a_fallback_use_credits_changes_nothing() {
    let mut network = connected(Fallback::Cubic, &link());
    assert!(!network.client.connection().use_credits());
    assert_eq!(network.client.send_mode(), SendMode::Credits);
}

#[test]
fn after_a_fallback_data_leaves_at_most_at_the_configured_rate() {
    for fallback in CONTROLLERS {
        // The path has ten times the rate.
        let mut network = connected(fallback, &LinkConfig { buffer: 100, ..LinkConfig::new(1_000e6, ms(1)) });
        network.to_server.config.blocked = Some(Classes::default().emulation);
        network.client.send(25 * MB);
        leaves(&mut network, SendMode::Unanswered, ms(300));
        let (began, before) = (network.now, network.server.received);
        network.finish(secs(5));
        let rate = (network.server.received - before) as f64 * 8.0 / (network.now - began).as_secs_f64();
        assert!((80e6..=100e6).contains(&rate), "{fallback}: {rate}");
    }
}
