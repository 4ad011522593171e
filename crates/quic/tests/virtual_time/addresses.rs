//! A client whose address changes, as behind a NAT that has lost its state.

use super::MB;
use super::network::{CLIENT, Direction, Network, ms, secs};
use crate::credit::send_mode::SendMode;
use std::net::SocketAddr;

/// An address with another port, and one with another IP address.
fn others() -> [SocketAddr; 2] {
    [SocketAddr::new(CLIENT.ip(), 2_222), "10.9.9.9:3333".parse().unwrap()]
}

#[test]
fn transfers_continue_from_another_address() {
    for address in others() {
        // A client that only receives sends nothing from its new address until the keep-alive after 10 s.
        for (up, down, within) in [(6, 0, secs(3)), (0, 6, secs(13)), (6, 6, secs(3))] {
            let mut network = Network::connected();
            network.client.send(up * MB);
            network.server.send(down * MB);
            network.run(ms(300));
            network.client_address = address;
            network.finish(within);
            assert_eq!(network.received(), [down * MB, up * MB]);
            assert_eq!(network.server.connection().quic.remote_address(), address);
            for host in [&mut network.client, &mut network.server] {
                let stats = host.stats();
                assert_eq!(host.send_mode(), SendMode::Credits);
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
        // The first packets from the new address are emulation packets.
        network.upload(100_000, secs(1));
        assert_eq!(network.server.connection().quic.remote_address(), address);
    }
}

#[test]
fn a_connection_counts_for_the_address_from_which_it_began() {
    let mut network = Network::connected();
    let address = others()[1];
    network.client_address = address;
    network.upload(100_000, secs(1));
    assert_eq!(network.server.connection().quic.remote_address(), address);
    let counts = [CLIENT, address].map(|of| network.server.state.connections.count_from(of.ip()));
    assert_eq!(counts, [1, 0]);
}

#[test]
fn an_unvalidated_address_gets_at_most_three_times_the_bytes_it_sent() {
    let mut network = Network::connected();
    let address = others()[1];
    network.client.send(20 * MB);
    network.server.send(20 * MB);
    network.run(ms(500));
    network.watch();
    network.client_address = address;
    // Only the first packets from the new address arrive, and nothing else in either direction.
    network.until(ms(20), |network| network.server.connection().quic.remote_address() == address);
    network.cut(secs(100));
    network.run(secs(5));
    let received: usize = network.sent(Direction::ToServer, |_| true).iter().map(|seen| seen.bytes).sum();
    let sent = network.sent(Direction::ToClient, |seen| seen.to == address);
    let emulation = sent.iter().filter(|seen| seen.is_emulation()).count() * 18;
    assert!(emulation > 100 && emulation <= 3 * received, "{emulation} B, {received} B");
    let bytes: usize = sent.iter().map(|seen| seen.bytes).sum();
    assert!(bytes <= 4 * received, "{bytes} B, {received} B");
    assert!(sent.iter().all(|seen| seen.bytes <= 1_200), "no probe of the MTU");
}
