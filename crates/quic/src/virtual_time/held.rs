//! What a gate that is shut does not hold back for long: acknowledgements, flow control, keep-alive and the end.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use quinn_proto::VarInt;

use super::network::{Direction, Network, Sighting, ms, secs};
use crate::config::Classes;
use crate::connection::End;
use crate::credit::bypass::MAX_ACK_DELAY;
use crate::credit::gate::Mode;
use crate::credit::path::Path;

/// Of [`Network::connected`].
const DELAY: Duration = Duration::from_millis(10);
const ROUND_TRIP: Duration = Duration::from_millis(20);
const WAIT: Duration = Duration::from_millis(40);

/// A client that has lost data, to which no credit comes any more.
fn without_credits() -> Network {
    let mut network = Network::connected();
    network.client.send(2_000_000);
    network.run(ms(150));
    network.there.way.data_loss = 0.3;
    network.there.way.blocked = Some(Classes::default().emulation);
    network.run(ms(100));
    network.there.way.data_loss = 0.0;
    assert_eq!(network.client.connection().gate_mode(), Mode::Shut);
    network.watch();
    network
}

fn is_quic(seen: &Sighting) -> bool {
    seen.first_byte >= 64
}

fn is_data(seen: &Sighting) -> bool {
    seen.dscp == Classes::default().data
}

fn first_after(seen: &[Sighting], at: Instant) -> Instant {
    seen.iter().find(|seen| seen.at >= at).map(|seen| seen.at).unwrap()
}

#[test]
fn the_first_acknowledgement_leaves_within_its_delay() {
    let mut network = without_credits();
    network.server.send(100_000);
    network.run(ms(150));
    let data = network.sent(Direction::Back, is_data);
    let answers = network.sent(Direction::There, is_quic);
    let took = first_after(&answers, data[0].at + DELAY) - data[0].at;
    assert!(took <= ROUND_TRIP + MAX_ACK_DELAY, "{took:?}");
    assert!(data.len() > 70, "{}", data.len());
    // Beside probes of QUIC, which are shorter.
    let passed: Vec<_> = answers.iter().filter(|seen| seen.bytes > 1_200).collect();
    assert!(passed.windows(2).all(|pair| pair[1].at - pair[0].at >= MAX_ACK_DELAY), "{passed:?}");
    assert_eq!(network.client.path(), Path::Credits);
    let lost = network.server.connection().quic.stats().path.lost_packets;
    assert!(network.server.is_done() && lost == 0, "the server repeats nothing: {lost}");
}

#[test]
fn without_anything_to_acknowledge_nothing_passes_but_after_a_silence() {
    let mut network = without_credits();
    // Nothing arrives any more, either.
    network.run(DELAY * 2);
    network.back.way.down = Some(network.now..network.now + secs(10));
    network.run(DELAY * 2 + MAX_ACK_DELAY);
    network.watch();
    network.run(secs(8));
    let passed = network.sent(Direction::There, is_quic);
    let times: BTreeSet<Instant> = passed.iter().map(|seen| seen.at).collect();
    // Probes of QUIC come in pairs.
    assert!((3..=10).contains(&times.len()) && passed.len() <= 2 * times.len(), "{times:?}");
    network.run(secs(3));
    assert!(network.client.connection().end.is_none() && network.server.connection().end.is_none());
}

#[test]
fn flow_control_passes() {
    let mut network = without_credits();
    network.run(MAX_ACK_DELAY * 3);
    let before = network.server.connection().quic.stats().frame_rx.max_data;
    network.client.connection().quic.set_receive_window(VarInt::from_u32(200 << 20));
    let took = network.until(ms(100), |network| {
        network.server.connection().quic.stats().frame_rx.max_data > before
    });
    assert!(took <= MAX_ACK_DELAY + DELAY + ms(1), "{took:?}");
}

#[test]
fn the_end_passes_at_once() {
    let mut network = without_credits();
    let now = network.now;
    network.client.connection().close(now, 0, b"enough");
    let took = network.until(ms(100), |network| network.server.connection().end.is_some());
    assert!(took <= DELAY + ms(1), "{took:?}");
    assert!(
        matches!(&network.server.connection().end, Some(End::ByPeer { reason, .. }) if reason == "enough")
    );
    // Nor is a credit asked for what is not sent any more.
    network.watch();
    network.run(secs(1));
    assert_eq!(network.sent(Direction::There, |_| true).len(), 0);
}

#[test]
fn repairs_that_are_late_are_not_lost() {
    let mut network = without_credits();
    network.run(WAIT * 5);
    network.there.way.blocked = None;
    network.until(secs(10), |network| network.client.is_done());
    assert_eq!((network.client.path(), network.server.received), (Path::Credits, 2_000_000));
}
