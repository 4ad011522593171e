//! Frames that a closed gate delays only for a short time: acknowledgements, flow control, keep-alive and the close.

use super::network::{Direction, Network, SentPacket, ms, secs};
use crate::credit::send_mode::SendMode;
use crate::{config::Classes, credit::bypass::MAX_ACK_DELAY, credit::gate::GateMode, error::CloseReason};
use quinn_proto::VarInt;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The properties of [`Network::connected`].
const DELAY: Duration = Duration::from_millis(10);
const ROUND_TRIP: Duration = Duration::from_millis(20);
const WAIT: Duration = Duration::from_millis(40);

/// A client that has lost data, and gets no further credits.
fn without_credits() -> Network {
    let mut network = Network::connected();
    network.client.send(2_000_000);
    network.run(ms(150));
    network.to_server.config.data_loss = 0.3;
    network.to_server.config.blocked = Some(Classes::default().emulation);
    network.run(ms(100));
    network.to_server.config.data_loss = 0.0;
    assert_eq!(network.client.connection().gate.mode(), GateMode::Closed);
    network.watch();
    network
}

fn first_after(seen: &[SentPacket], at: Instant) -> Instant {
    seen.iter().find(|seen| seen.at >= at).map(|seen| seen.at).unwrap()
}

#[test]
fn acknowledgements_leave_within_the_maximum_delay() {
    let mut network = without_credits();
    network.server.send(100_000);
    network.run(ms(150));
    let data = network.sent(Direction::ToClient, SentPacket::is_data);
    let answers = network.sent(Direction::ToServer, SentPacket::is_quic);
    let took = first_after(&answers, data[0].at + DELAY) - data[0].at;
    assert!(took <= ROUND_TRIP + MAX_ACK_DELAY, "{took:?}");
    assert!(data.len() > 70, "{}", data.len());
    // Probes of QUIC are shorter.
    let passed: Vec<_> = answers.iter().filter(|seen| seen.bytes > 1_200).collect();
    assert!(passed.windows(2).all(|pair| pair[1].at - pair[0].at >= MAX_ACK_DELAY), "{passed:?}");
    assert_eq!(network.client.send_mode(), SendMode::Credits);
    let lost = network.server.connection().quic.stats().path.lost_packets;
    assert!(network.server.is_done() && lost == 0, "the server repeats nothing: {lost}");
}

#[test]
fn without_received_data_packets_pass_only_after_a_silence() {
    let mut network = without_credits();
    // The client receives nothing from now on.
    network.run(DELAY * 2);
    network.to_client.config.down = Some(network.now..network.now + secs(10));
    network.run(DELAY * 2 + MAX_ACK_DELAY);
    network.watch();
    network.run(secs(8));
    let passed = network.sent(Direction::ToServer, SentPacket::is_quic);
    let times: BTreeSet<Instant> = passed.iter().map(|seen| seen.at).collect();
    // Probes of QUIC come in pairs.
    assert!((3..=10).contains(&times.len()) && passed.len() <= 2 * times.len(), "{times:?}");
    network.run(secs(3));
    assert!(network.client.connection().close_reason.is_none() && network.server.connection().close_reason.is_none());
}

#[test]
fn flow_control_updates_pass_within_the_maximum_delay() {
    let mut network = without_credits();
    network.run(MAX_ACK_DELAY * 3);
    let before = network.server.connection().quic.stats().frame_rx.max_data;
    network.client.connection().quic.set_receive_window(VarInt::from_u32(200 << 20));
    let took = network.until(ms(100), |network| network.server.connection().quic.stats().frame_rx.max_data > before);
    assert!(took <= MAX_ACK_DELAY + DELAY + ms(1), "{took:?}");
}

#[test]
fn the_close_passes_at_once() {
    let mut network = without_credits();
    let now = network.now;
    network.client.connection().close(now, 0, b"enough");
    let took = network.until(ms(100), |network| network.server.connection().close_reason.is_some());
    assert!(took <= DELAY + ms(1), "{took:?}");
    let reason = network.server.connection().close_reason.clone();
    assert!(matches!(reason, Some(CloseReason::ByPeer { reason, .. }) if reason == "enough"));
    // No credits are requested for the data that is not sent any more.
    network.watch();
    network.run(secs(1));
    assert_eq!(network.sent(Direction::ToServer, |_| true).len(), 0);
}

#[test]
fn retransmissions_wait_for_credits_that_return_later() {
    let mut network = without_credits();
    network.run(WAIT * 5);
    network.to_server.config.blocked = None;
    network.until(secs(10), |network| network.client.is_done());
    assert_eq!((network.client.send_mode(), network.server.received), (SendMode::Credits, 2_000_000));
}
