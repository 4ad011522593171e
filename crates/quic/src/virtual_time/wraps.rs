//! Numbers of emulation packets, of 16 bits, and their times, which begin again after 9,007 s.

use super::link::Way;
use super::network::{Network, config, ms, secs};
use crate::credit::path::Path;

const MB: u64 = 1_000_000;

#[test]
fn numbers_and_times_wrap_in_the_middle_of_transfers() {
    let mut network = Network::connected_with(config(1_000, 10), &Way::new(1e9, ms(2)));
    network.upload(MB, secs(1));
    // Almost two and a half hours in which nothing but keep-alive passes.
    network.run(secs(9_000));
    let stats = network.client.stats();
    assert!(stats.emulated < 2_000 && network.client.connection().end.is_none(), "{stats:?}");
    // The clock of the packets began with the connection, a little before: the wrap is 4 s from here.
    for _ in 0..90 {
        network.upload(MB, secs(1));
        network.run(ms(80));
    }
    let (client, server) = (network.client.stats(), network.server.stats());
    assert!(client.emulated > 65_536 + 1_000 && client.granted > 65_536, "{client:?}");
    assert_eq!((client.dropped.total(), server.dropped.total()), (0, 0));
    let passed = network.now - network.began;
    assert!(passed > secs(9_010), "{passed:?}");
    assert_eq!((network.client.path(), network.there.drops.data), (Path::Credits, 0));
    assert!(client.without_credit < 5, "{client:?}");
}
