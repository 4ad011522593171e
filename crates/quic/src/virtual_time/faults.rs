//! Paths that fail for a while or for good, take shorter packets, or change, and packets that come late or twice.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::link::Way;
use super::network::{Direction, Network, Sighting, config, ms, secs};
use crate::config::Classes;
use crate::connection::End;
use crate::credit::path::Path;

const MB: u64 = 1_000_000;

fn is_data(seen: &Sighting) -> bool {
    seen.dscp == Classes::default().data
}

fn is_emulation(seen: &Sighting) -> bool {
    seen.dscp == Classes::default().emulation
}

#[test]
fn a_dead_path_sees_fewer_and_fewer_probes_and_emulation_packets() {
    let mut network = Network::connected();
    network.client.send(20 * MB);
    network.run(ms(500));
    network.cut(secs(100));
    // Data whose credits have come leaves until the waiting time is over.
    network.run(ms(45));
    let begun = network.now;
    network.watch();
    network.run(secs(30));
    assert_eq!(network.sent(Direction::There, is_data).len(), 0, "the probes have no data");
    // Two at a time, each time after twice as long: the first after the round trip and 25 ms, about.
    let probes = network.sent(Direction::There, |seen| seen.first_byte >= 64);
    let times: BTreeSet<Instant> = probes.iter().map(|seen| seen.at).collect();
    assert!(probes.len() <= 2 * times.len(), "{probes:?}");
    let times: Vec<Instant> = times.into_iter().collect();
    let gaps: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The last one is not of the probes: it keeps the connection alive.
    assert!(gaps[..7].windows(2).all(|pair| pair[1] >= pair[0] * 19 / 10), "{gaps:?}");
    assert!(gaps[7..].iter().all(|&gap| gap >= secs(5)), "{gaps:?}");
    let emulation = network.sent(Direction::There, is_emulation);
    let in_second =
        |second| emulation.iter().filter(|seen| (seen.at - begun).as_secs() == second).count();
    assert!((5..40).contains(&in_second(0)), "one in a round trip, then fewer: {}", in_second(0));
    assert!((5..30).all(|second| in_second(second) <= 1), "{emulation:?}");
    network.run(secs(40));
    assert!(matches!(&network.client.connection().end, Some(End::Lost(why)) if why == "timed out"));
}

#[test]
fn a_stall_loses_nothing() {
    // The time for 20 MB is 2.6 s; QUIC probes after 1.3 s in the first case, and 27 s in the second.
    for (stall, within) in [(3, 8), (40, 60)] {
        let mut network = Network::connected();
        network.client.send(20 * MB);
        network.run(ms(500));
        network.cut(secs(stall));
        network.until(secs(within), |network| network.client.is_done());
        assert_eq!((network.client.path(), network.server.received), (Path::Credits, 20 * MB));
        assert!(network.client.connection().end.is_none());
    }
}

#[test]
fn a_path_that_takes_shorter_packets_goes_on() {
    let mut network = Network::connected();
    network.client.send(10 * MB);
    network.run(ms(300));
    network.there.way.mtu = 1_300;
    // The link takes 1.1 s, and shorter packets of more headers a fifth more, on credits for the longer ones.
    network.until(ms(1_700), |network| network.client.is_done());
    assert_eq!((network.client.path(), network.server.received), (Path::Credits, 10 * MB));
    let stats = network.client.stats();
    assert!(stats.without_credit < 10, "{stats:?}");
    assert_eq!(network.client.connection().quic.current_mtu(), 1_200);
}

#[test]
fn packets_that_come_late_or_twice_do_no_harm() {
    let way =
        Way { loss: 0.01, duplication: 0.02, reordering: (0.02, ms(5)), ..Way::new(100e6, ms(10)) };
    let mut network = Network::connected_with(config(100, 60), &way);
    network.client.send(5 * MB);
    network.server.send(5 * MB);
    network.until(secs(3), |network| network.client.is_done() && network.server.is_done());
    assert_eq!((network.client.received, network.server.received), (5 * MB, 5 * MB));
    let dropped = network.client.stats().dropped;
    assert!(dropped.stamp_repeated > 20 && dropped.emulation_repeated > 20, "{dropped:?}");
    assert_eq!(dropped.total(), dropped.stamp_repeated + dropped.emulation_repeated);
}

#[test]
fn links_that_go_down_and_up_lose_nothing() {
    let mut network = Network::connected();
    network.client.send(10 * MB);
    network.server.send(10 * MB);
    for _ in 0..10 {
        network.run(ms(180));
        network.cut(ms(120));
    }
    network.until(secs(20), |network| network.client.is_done() && network.server.is_done());
    assert_eq!((network.client.received, network.server.received), (10 * MB, 10 * MB));
    assert_eq!((network.client.path(), network.server.path()), (Path::Credits, Path::Credits));
}
