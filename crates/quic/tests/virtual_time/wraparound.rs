//! The wrap of 16-bit sequence numbers, and of times after 9,007 s.

use super::network::{Network, config, ms, secs};
use super::{MB, link::LinkConfig};
use crate::credit::send_mode::SendMode;

#[test]
fn sequence_numbers_and_times_wrap_during_transfers() {
    let mut network = Network::connected_with(config(1_000, 10), &LinkConfig::new(1e9, ms(2)));
    network.upload(MB, secs(1));
    // Almost two and a half hours with nothing but keep-alives.
    network.run(secs(9_000));
    let stats = network.client.stats();
    assert!(stats.emulated < 2_000 && network.client.connection().close_reason.is_none(), "{stats:?}");
    // The clock began at the end of the handshake, so it wraps 6 s from here.
    for _ in 0..90 {
        network.upload(MB, secs(1));
        network.run(ms(80));
    }
    let (client, server) = (network.client.stats(), network.server.stats());
    assert!(client.emulated > 65_536 + 1_000 && client.granted > 65_536, "{client:?}");
    assert_eq!((client.dropped.total(), server.dropped.total()), (0, 0));
    let passed = network.now - network.began;
    assert!(passed > secs(9_010), "{passed:?}");
    assert_eq!((network.client.send_mode(), network.to_server.drops.data), (SendMode::Credits, 0));
    assert!(client.without_credit < 5, "{client:?}");
}
