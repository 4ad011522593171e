//! Paths that are not fit for credits: the connection says so and goes on without them, and returns when it is asked.

use std::time::Duration;

use super::link::Way;
use super::network::{Network, config, ms, secs};
use crate::config::{Classes, Config};
use crate::credit::path::{Fallback, Path};

const MB: u64 = 1_000_000;
const CONTROLLERS: [Fallback; 2] = [Fallback::Cubic, Fallback::Bbr];

fn connected(fallback: Fallback, way: &Way) -> Network {
    Network::connected_with(Config { fallback, ..config(100, 40) }, way)
}

fn way() -> Way {
    Way { buffer: 100, ..Way::new(100e6, ms(10)) }
}

/// Waits until everything that the hosts send is there.
fn finish(network: &mut Network, within: Duration) {
    network.until(within, |network| network.client.is_done() && network.server.is_done());
}

/// The client leaves credits for this reason within this time.
fn leaves(network: &mut Network, why: Path, within: Duration) {
    network.until(within, |network| network.client.path() != Path::Credits);
    assert_eq!(network.client.path(), why);
}

/// The client sends on credits again: all of it, and nothing else.
fn returns(network: &mut Network) {
    let before = network.client.stats();
    assert!(network.client.connection().use_credits());
    network.client.send(3 * MB);
    network.until(secs(5), |network| network.client.is_done());
    let after = network.client.stats();
    assert_eq!(network.client.path(), Path::Credits);
    let (data, without) =
        (after.data_packets - before.data_packets, after.without_credit - before.without_credit);
    assert!(data > 2_000 && data <= after.used - before.used, "{after:?}");
    assert!(without * 200 <= data, "{without} of {data}");
}

#[test]
fn without_any_answer_data_goes_on_and_credits_come_back() {
    for fallback in CONTROLLERS {
        let mut network = connected(fallback, &way());
        network.there.way.blocked = Some(Classes::default().emulation);
        network.client.send(5 * MB);
        leaves(&mut network, Path::Unanswered, ms(200));
        finish(&mut network, secs(3));
        assert_eq!(network.server.path(), Path::Credits, "it decides for itself");
        network.there.way.blocked = None;
        returns(&mut network);
        assert_eq!(network.server.received, 8 * MB);
    }
}

#[test]
fn credits_that_stop_in_the_middle_are_left_and_come_back() {
    let classes = Classes::default();
    for fallback in CONTROLLERS {
        for (there, back) in [(Some(classes.emulation), None), (None, Some(classes.credit))] {
            let mut network = connected(fallback, &way());
            network.client.send(10 * MB);
            network.run(ms(300));
            assert_eq!(network.client.path(), Path::Credits);
            (network.there.way.blocked, network.back.way.blocked) = (there, back);
            leaves(&mut network, Path::CreditsStopped, ms(800));
            finish(&mut network, secs(4));
            network.both(|way| way.blocked = None);
            returns(&mut network);
            assert_eq!(network.server.received, 13 * MB);
        }
    }
}

#[test]
fn credits_stop_while_repairs_wait() {
    let mut network = connected(Fallback::Cubic, &way());
    network.client.send(10 * MB);
    network.run(ms(200));
    network.there.way.data_loss = 0.3;
    network.there.way.blocked = Some(Classes::default().emulation);
    leaves(&mut network, Path::CreditsStopped, ms(800));
    network.there.way.data_loss = 0.0;
    finish(&mut network, secs(5));
    assert_eq!(network.server.received, 10 * MB);
}

#[test]
fn a_return_in_the_middle_loses_nothing() {
    for fallback in CONTROLLERS {
        let mut network = connected(fallback, &way());
        network.client.send(20 * MB);
        network.server.send(20 * MB);
        network.run(ms(200));
        let mut returned = 0;
        for _ in 0..4 {
            network.there.way.blocked = Some(Classes::default().emulation);
            network.run(ms(800));
            network.there.way.blocked = None;
            network.run(ms(50));
            returned += u32::from(network.client.connection().use_credits());
            network.run(ms(150));
        }
        assert!(returned >= 3, "{returned}");
        finish(&mut network, secs(10));
        assert_eq!((network.client.received, network.server.received), (20 * MB, 20 * MB));
        let dropped = [network.client.stats().dropped, network.server.stats().dropped];
        assert!(dropped.iter().all(|of| of.stamp_unknown == 0 && of.emulation_repeated == 0));
    }
}

#[test]
fn classes_that_are_erased_are_told_and_a_return_finds_them_erased_again() {
    let mut network = connected(Fallback::Cubic, &Way { is_erasing: true, ..way() });
    network.client.send(5 * MB);
    leaves(&mut network, Path::ClassesErased, ms(100));
    assert_eq!(network.server.path(), Path::Credits);
    finish(&mut network, secs(3));
    assert!(network.client.connection().use_credits());
    network.client.send(5 * MB);
    network.run(ms(10));
    assert_eq!(network.client.path(), Path::Credits);
    leaves(&mut network, Path::ClassesErased, ms(200));
    finish(&mut network, secs(3));
    network.both(|way| way.is_erasing = false);
    returns(&mut network);
    assert_eq!(network.server.received, 13 * MB);
    // The server's own data has the same path.
    network.both(|way| way.is_erasing = true);
    network.server.send(5 * MB);
    finish(&mut network, secs(3));
    assert_eq!(network.server.path(), Path::ClassesErased);
    assert_eq!((network.client.path(), network.client.received), (Path::Credits, 5 * MB));
}

#[test]
fn data_that_is_lost_where_emulation_packets_are_not_ends_credits() {
    // The hosts take the link for twice as fast as it is, and nothing meters emulation packets.
    let slow = Way { is_unmetered: true, buffer: 50, ..Way::new(50e6, ms(10)) };
    for fallback in CONTROLLERS {
        let mut network = connected(fallback, &slow);
        network.client.send(10 * MB);
        leaves(&mut network, Path::DataLost, ms(600));
        finish(&mut network, secs(10));
        assert_eq!(network.server.received, 10 * MB);
    }
}

#[test]
fn random_loss_is_no_reason() {
    // Each loses enough for a judgement, more than 64 packets.
    for (loss, bytes) in [(0.01, 12 * MB), (0.05, 3 * MB)] {
        for (there, back) in [(loss, 0.0), (0.0, loss), (loss, loss)] {
            let mut network = connected(Fallback::Cubic, &Way::new(100e6, ms(10)));
            (network.there.way.loss, network.back.way.loss) = (there, back);
            network.client.send(bytes);
            network.server.send(bytes);
            network.until(secs(20), |network| {
                let paths = (network.client.path(), network.server.path());
                assert_eq!(paths, (Path::Credits, Path::Credits), "{there} {back}");
                network.client.is_done() && network.server.is_done()
            });
            let lost = network.client.connection().quic.stats().path.lost_packets;
            assert!(there == 0.0 || lost > 64, "{lost}");
        }
    }
}

#[test]
fn moments_in_which_everything_is_lost_are_no_reason() {
    // Also behind the last emulation packet, when data alone is under way.
    for bytes in [MB, 10 * MB] {
        for phase in [0, 7, 13, 29] {
            let mut network = connected(Fallback::Cubic, &Way::new(100e6, ms(10)));
            network.client.send(bytes);
            network.run(ms(60 + phase));
            for _ in 0..20 {
                network.cut(ms(15));
                network.run(ms(60));
                assert_eq!(network.client.path(), Path::Credits, "{bytes} {phase}");
            }
            finish(&mut network, secs(5));
            assert_eq!(network.client.path(), Path::Credits, "{bytes} {phase}");
        }
    }
}

#[test]
fn nothing_changes_where_credits_were_not_given_up() {
    let mut network = connected(Fallback::Cubic, &way());
    assert!(!network.client.connection().use_credits());
    assert_eq!(network.client.path(), Path::Credits);
}
