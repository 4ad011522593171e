//! Discovery of the MTU of a path (RFC 8899): up from 1,200 bytes, down when a route changes, and up again.

use super::network::{Direction, Network, SentPacket, config, ms, secs};
use super::{MB, link::LinkConfig};
use crate::credit::send_mode::SendMode;

/// The longest UDP payload over IPv4 of Ethernet, VXLAN and `WireGuard`, and of MTUs of 1,300 and 1,280 bytes.
const LIMITS: [usize; 5] = [1_472, 1_422, 1_392, 1_272, 1_252];

#[test]
fn packets_grow_to_what_the_path_carries_and_at_most_ten_are_lost() {
    for limit in LIMITS {
        let link = LinkConfig { mtu: limit, ..LinkConfig::new(100e6, ms(10)) };
        let mut network = Network::connected_with(config(100, 40), &link);
        network.watch();
        network.client.send(5 * MB);
        network.until(secs(2), |network| network.client.is_done());
        assert_eq!((network.send_modes(), network.server.received), ([SendMode::Credits; 2], 5 * MB));
        let found = usize::from(network.client.connection().quic.current_mtu());
        assert!(found <= limit && found + 30 > limit, "{found} of {limit}");
        assert!(network.to_server.drops.faults <= 10, "{limit}: {:?}", network.to_server.drops);
        let longer = |seen: &SentPacket| seen.is_data() && seen.bytes > limit;
        assert!(network.sent(Direction::ToServer, longer).is_empty(), "probes have no data");
    }
}

#[test]
fn packets_shrink_when_the_path_does_and_grow_again_within_ten_minutes() {
    let mut network = Network::connected();
    network.client.send(40 * MB);
    network.run(ms(500));
    assert_eq!(network.client.connection().quic.current_mtu(), 1_472);
    network.to_server.config.mtu = 1_300;
    network.until(secs(8), |network| network.client.is_done());
    assert_eq!(network.client.connection().quic.current_mtu(), 1_200);
    assert_eq!((network.client.send_mode(), network.server.received), (SendMode::Credits, 40 * MB));
    network.to_server.config.mtu = 1_472;
    network.run(secs(600));
    assert_eq!(network.client.connection().quic.current_mtu(), 1_472);
}
