//! A client whose address changes on the way, as behind a NAT that has forgotten it.

use std::net::SocketAddr;

use super::network::{CLIENT, Direction, Network, ms, secs};
use crate::config::Classes;
use crate::credit::path::Path;

const MB: u64 = 1_000_000;

/// Another port, and another host.
fn others() -> [SocketAddr; 2] {
    [SocketAddr::new(CLIENT.ip(), 2_222), "10.9.9.9:3333".parse().unwrap()]
}

#[test]
fn transfers_go_on_from_another_address() {
    for address in others() {
        // A client that only receives is heard from its new address when it keeps the connection alive, after 10 s.
        for (up, down, within) in [(6, 0, secs(3)), (0, 6, secs(13)), (6, 6, secs(3))] {
            let mut network = Network::connected();
            network.client.send(up * MB);
            network.server.send(down * MB);
            network.run(ms(300));
            network.client_address = address;
            network.until(within, |network| network.client.is_done() && network.server.is_done());
            assert_eq!((network.client.received, network.server.received), (down * MB, up * MB));
            assert_eq!(network.server.connection().quic.remote_address(), address);
            for host in [&mut network.client, &mut network.server] {
                let stats = host.stats();
                assert_eq!(host.path(), Path::Credits);
                assert!(stats.without_credit * 200 <= stats.data_packets.max(1_000), "{stats:?}");
            }
        }
    }
}

#[test]
fn a_transfer_begins_after_the_address_has_changed() {
    for address in others() {
        let mut network = Network::connected();
        network.upload(100_000, secs(1));
        network.run(secs(1));
        network.client_address = address;
        // Its emulation packets come from there before any packet of QUIC does.
        network.upload(100_000, secs(1));
        assert_eq!(network.server.connection().quic.remote_address(), address);
    }
}

#[test]
fn an_address_that_is_not_validated_gets_no_more_than_three_times_what_it_sent() {
    let mut network = Network::connected();
    let address = others()[1];
    network.client.send(20 * MB);
    network.server.send(20 * MB);
    network.run(ms(500));
    network.watch();
    network.client_address = address;
    // The first packets of the client come from there, and nothing else comes or arrives.
    network.until(ms(20), |network| network.server.connection().quic.remote_address() == address);
    network.cut(secs(100));
    network.run(secs(5));
    let from_there: usize =
        network.sent(Direction::There, |_| true).iter().map(|seen| seen.bytes).sum();
    let to_there = network.sent(Direction::Back, |seen| seen.to == address);
    let emulation = Classes::default().emulation;
    let emulation = to_there.iter().filter(|seen| seen.dscp == emulation).count() * 18;
    assert!(emulation > 100 && emulation <= 3 * from_there, "{emulation} B, {from_there} B");
    let bytes: usize = to_there.iter().map(|seen| seen.bytes).sum();
    assert!(bytes <= 4 * from_there, "{bytes} B, {from_there} B");
}
