//! Peers that forge credits, and attackers on the path who see every packet and have no key.

use super::MB;
use super::link::{Attacker, LinkConfig, Packet};
use super::network::{CLIENT, Direction, Network, SERVER, SentPacket, config, ms, secs};
use crate::credit::packet::{Credit, Packet as Message, Parsed, Stamp, is_ours, step_of, time_of};
use crate::credit::settings::ALPN_CODE;
use crate::error::CloseReason;
use crate::sockets::datagram::{IncomingDatagram, OutgoingDatagram};
use crate::trust::code::Code;
use crate::trust::identity::{AnyServer, SERVER_NAME};
use crate::trust::tls::Tls;
use crate::{credit::send_mode::SendMode, credit::settings_stream, endpoint_state::EndpointState};
use shallop_core::{Seed, Span, Stream, Time};
use std::sync::{Arc, OnceLock};
use std::{cell::Cell, net::SocketAddr, rc::Rc, time::Instant};

/// Changes an emulation packet or a credit, without its key.
fn change(random: &mut Stream, packet: &Packet, before: &[Packet]) -> Packet {
    let mut changed = packet.clone();
    let bytes = &mut changed.bytes;
    match random.below(5) {
        0 => {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        1 => bytes.truncate(1 + random.below(bytes.len() as u64 - 1) as usize),
        // Another time and another MAC.
        2 => bytes[5..].iter_mut().for_each(|byte| *byte = random.draw() as u8),
        // The other type.
        3 => bytes[0] ^= 2,
        // A replay.
        _ => changed.clone_from(&before[random.below(before.len() as u64) as usize]),
    }
    changed
}

/// Injects ten packets for each emulation packet and credit that passes.
fn attacker(name: &str) -> Attacker {
    let mut random = Seed::new(3).stream(name, 0);
    let mut before = Vec::new();
    Box::new(move |packet| {
        if !is_ours(packet.bytes[0]) {
            return Vec::new();
        }
        before.push(packet.clone());
        (0..10).map(|_| change(&mut random, packet, &before)).collect()
    })
}

/// The bytes that each host sends while goodput is measured: somewhat more than the link carries in 2.5 s.
const LOAD: u64 = 32 * MB;

/// The goodput of both hosts with data in both directions, bytes/s: the mean of 2 s after the first 0.5 s.
fn goodput(network: &mut Network) -> [f64; 2] {
    network.client.send(LOAD);
    network.server.send(LOAD);
    network.run(ms(500));
    let before = network.received();
    network.run(secs(2));
    let after = network.received();
    assert!(after.iter().all(|&received| received < LOAD), "{after:?} is all: too short a load");
    [0, 1].map(|host| (after[host] - before[host]) as f64 / 2.0)
}

/// The goodput without an attacker.
fn undisturbed() -> [f64; 2] {
    static GOODPUT: OnceLock<[f64; 2]> = OnceLock::new();
    *GOODPUT.get_or_init(|| goodput(&mut Network::connected()))
}

#[test]
fn an_attacker_without_the_key_does_not_reduce_goodput() {
    let quiet = undisturbed();
    let mut network = Network::connected();
    network.to_server.attacker = Some(attacker("there"));
    network.to_client.attacker = Some(attacker("back"));
    let attacked = goodput(&mut network);
    assert!(quiet[0] > 7.5e6 && quiet[1] > 7.5e6, "{quiet:?}");
    assert!((0..2).all(|host| attacked[host] > quiet[host] * 0.98), "{quiet:?} {attacked:?}");
    network.to_server.attacker = None;
    network.to_client.attacker = None;
    network.finish(secs(5));
    let (client, server) = (network.client.stats(), network.server.stats());
    let passed = client.emulated - network.to_server.drops.emulation;
    assert!(server.credits_sent <= passed, "{server:?} {passed}");
    assert!(client.granted <= server.credits_sent, "{client:?}");
    for stats in [client, server] {
        let dropped = stats.dropped;
        assert!(dropped.wrong_mac > 50_000 && dropped.stamp_unknown == 0, "{dropped:?}");
        assert!(dropped.emulation_repeated > 1_000 && dropped.emulation_old > 1_000, "{dropped:?}");
        assert!(dropped.stamp_repeated > 500 && dropped.stamp_late > 1_000, "{dropped:?}");
    }
    assert_eq!(network.send_modes(), [SendMode::Credits; 2]);
    assert!(network.client.state.dropped.wrong_length > 10_000);
}

/// A random address of a third party.
fn anywhere(random: &mut Stream) -> SocketAddr {
    let [a, b, c] = [random.draw() as u8, random.draw() as u8, random.draw() as u8];
    SocketAddr::from(([11, a, b, c], 1 + random.below(65_535) as u16))
}

/// Forges a datagram, also of QUIC, from one that has passed: changed, truncated, replayed, or random after the header.
/// Half of them come from other addresses.
fn forge(random: &mut Stream, before: &[Packet]) -> Packet {
    let mut forged = before[random.below(before.len() as u64) as usize].clone();
    let bytes = &mut forged.bytes;
    match random.below(6) {
        0 | 1 => {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        2 => bytes.truncate(1 + random.below(bytes.len() as u64 - 1) as usize),
        // After the tag or the connection ID.
        3 => {
            let keep = if is_ours(bytes[0]) { 3 } else { 9 }.min(bytes.len());
            bytes[keep..].iter_mut().for_each(|byte| *byte = random.draw() as u8);
        }
        4 => bytes.iter_mut().skip(1).for_each(|byte| *byte = random.draw() as u8),
        // A replay.
        _ => {}
    }
    if random.chance(0.5) {
        forged.from = anywhere(random);
    }
    forged
}

/// Injects `each` forged datagrams for each datagram that passes, and counts them in `made`.
fn forger(name: &str, each: u64, made: &Rc<Cell<u64>>) -> Attacker {
    let mut random = Seed::new(9).stream(name, 0);
    let (mut before, made) = (Vec::new(), Rc::clone(made));
    Box::new(move |packet: &Packet| {
        // Forged datagrams arrive before the packet itself, so they are made of earlier packets.
        let forged: Vec<Packet> =
            if before.is_empty() { Vec::new() } else { (0..each).map(|_| forge(&mut random, &before)).collect() };
        made.set(made.get() + forged.len() as u64);
        if before.len() < 4_096 {
            before.push(packet.clone());
        } else {
            before[random.below(4_096) as usize] = packet.clone();
        }
        forged
    })
}

/// The environment variable `SHALLOP_FORGERIES` sets the least number of forged datagrams.
#[test]
fn forged_datagrams_from_any_address_do_not_reduce_goodput() {
    let forgeries = std::env::var("SHALLOP_FORGERIES");
    let forgeries: u64 = forgeries.map_or(200_000, |text| text.parse().unwrap());
    let quiet = undisturbed();
    let mut network = Network::connected();
    network.watch();
    let made = Rc::new(Cell::new(0));
    // About 79,000 packets pass during the measurement.
    let each = forgeries.div_ceil(70_000);
    network.to_server.attacker = Some(forger("there", each, &made));
    network.to_client.attacker = Some(forger("back", each, &made));
    let attacked = goodput(&mut network);
    assert!(made.get() >= forgeries, "{} forged", made.get());
    assert!((0..2).all(|host| attacked[host] > quiet[host] * 0.98), "{quiet:?} {attacked:?}");
    network.finish(secs(8));
    assert_eq!(network.received(), [LOAD; 2]);
    assert_eq!(network.send_modes(), [SendMode::Credits; 2]);
    // No forged credit was accepted.
    let (client, server) = (network.client.stats(), network.server.stats());
    assert!(client.granted <= server.credits_sent && server.granted <= client.credits_sent);
    assert_eq!(client.dropped.stamp_unknown + server.dropped.stamp_unknown, 0);
    assert!(client.dropped.wrong_mac > 10_000 && server.dropped.wrong_mac > 10_000);
    // Third parties get only stateless resets of QUIC, at most 50 a second.
    let others = |seen: &SentPacket| ![CLIENT, SERVER].contains(&seen.to);
    let answers = [Direction::ToServer, Direction::ToClient].map(|direction| network.sent(direction, others));
    let answers: Vec<SentPacket> = answers.into_iter().flatten().collect();
    let least = answers.iter().map(|seen| seen.first_byte).min().unwrap_or(255);
    assert!(answers.len() <= 2 * 50 * 10 && least >= 64, "{} to others", answers.len());
    assert!(answers.iter().all(|seen| seen.bytes <= 1_200), "{answers:?}");
}

#[test]
fn replayed_emulation_packets_do_not_redirect_credits() {
    let mut network = Network::connected();
    network.watch();
    let (mut random, mut before) = (Seed::new(4).stream("again", 0), Vec::new());
    network.to_server.attacker = Some(Box::new(move |packet| {
        if !is_ours(packet.bytes[0]) {
            return Vec::new();
        }
        // Replays arrive before the packet itself, as over a shorter path. In 30 % the packet itself is among them.
        before.push(packet.clone());
        let from = anywhere(&mut random);
        let first = usize::from(random.chance(0.7));
        let recent = before.iter().rev().skip(first).take(5);
        recent.map(|packet: &Packet| Packet { from, ..packet.clone() }).collect()
    }));
    network.upload(3 * MB, secs(1));
    let elsewhere = network.sent(Direction::ToClient, |seen| seen.to != CLIENT);
    assert!(elsewhere.is_empty(), "{} {:?}", elsewhere.len(), elsewhere[0]);
    let stats = network.server.stats();
    assert!(stats.dropped.emulation_repeated > 5_000, "{stats:?}");
}

/// The number of emulation packets sent to a peer that is gone, whose packets an attacker imitates or not.
fn emulated_into_silence(is_imitated: bool) -> u64 {
    let mut network = Network::connected();
    network.client.send(20 * MB);
    network.run(ms(300));
    let genuine = network.to_client.last.clone().unwrap();
    network.to_server.config.down = Some(network.now..network.now + secs(100));
    network.run(ms(300));
    let emulated = network.client.stats().emulated;
    for byte in 0..=255 {
        // The connection ID is right.
        let mut forged = genuine.clone();
        forged.bytes.iter_mut().skip(9).for_each(|at| *at = byte);
        if is_imitated {
            network.to_client.inject(network.now, forged);
        }
        network.run(ms(10));
    }
    network.client.stats().emulated - emulated
}

#[test]
fn forged_datagrams_do_not_hide_that_the_peer_is_gone() {
    let emulated = [false, true].map(emulated_into_silence);
    assert_eq!(emulated[0], emulated[1]);
    assert!(emulated[0] < 60, "{emulated:?}");
}

#[test]
fn initial_packets_with_forged_addresses_leave_room_for_clients() {
    let mut network = Network::connected();
    let crypto = Tls::client(AnyServer::new()).client_config().unwrap();
    let mut random = Seed::new(6).stream("first", 0);
    for number in 0..2_000 {
        let mut state = EndpointState::new(config(100, 40), None, None, number).unwrap();
        state.connect(network.now, Arc::clone(&crypto), SERVER, SERVER_NAME).unwrap();
        let from = anywhere(&mut random);
        for OutgoingDatagram { tos, bytes, .. } in state.transmit(network.now) {
            let arrival = IncomingDatagram { from, to: None, tos, bytes: &bytes };
            network.server.state.on_datagram(network.now, &arrival);
        }
    }
    assert_eq!(network.server.state.connections.len(), 64);
    // A client now has to validate its address, and is served.
    let connect = |state: &mut EndpointState| state.connect(network.now, crypto, SERVER, SERVER_NAME);
    network.client.number = Some(connect(&mut network.client.state).unwrap());
    network.until(secs(5), |network| !network.client.connection().quic.is_handshaking());
    assert_eq!(network.server.state.connections.len(), 65);
}

/// An attacker who sees the client's packets copies some of them, and the copies arrive first: for a moment the server
/// takes the attacker's address for the client's (RFC 9000, 9.3.3), also in packets that answer a challenge.
#[test]
fn copies_that_arrive_first_get_no_probe_of_the_mtu() {
    let (mut network, mut random) = (Network::connected(), Seed::new(1).stream("copies", 0));
    let from = SocketAddr::from(([10, 9, 9, 9], 3_333));
    network.to_server.attacker = Some(Box::new(move |packet| {
        let copies = usize::from(random.chance(0.3));
        vec![Packet { from, ..packet.clone() }; copies]
    }));
    network.client.send(20 * MB);
    network.server.send(20 * MB);
    network.watch();
    network.run(secs(3));
    let sent = network.sent(Direction::ToClient, |seen| seen.to == from);
    assert!(sent.len() > 1_000, "{} packets", sent.len());
    assert_eq!(sent.iter().map(|seen| seen.bytes).max(), Some(1_200));
}

/// Passes datagrams between a client and a server, without delay, until neither sends more.
fn exchange(now: Instant, client: &mut EndpointState, from: SocketAddr, server: &mut EndpointState) {
    loop {
        let (asked, answered) = (client.transmit(now), server.transmit(now));
        if asked.is_empty() && answered.is_empty() {
            return;
        }
        for OutgoingDatagram { tos, bytes, .. } in asked {
            server.on_datagram(now, &IncomingDatagram { from, to: None, tos, bytes: &bytes });
        }
        for OutgoingDatagram { tos, bytes, .. } in answered.into_iter().filter(|datagram| datagram.to == from) {
            client.on_datagram(now, &IncomingDatagram { from: SERVER, to: None, tos, bytes: &bytes });
        }
    }
}

#[test]
fn strangers_at_many_addresses_leave_room_for_a_client_with_the_code() {
    let (now, code) = (Instant::now(), Code::make().unwrap());
    let crypto = Tls::server_with(code.clone()).unwrap().server_config().unwrap();
    let new = |crypto, code| EndpointState::new(config(100, 40), crypto, None, 1).unwrap().proving(code);
    let mut server = new(crypto, Some(code.clone()));
    let mut connect = |from: SocketAddr, tls: &Tls, code| {
        let mut client = new(None, code);
        client.connect(now, tls.client_config().unwrap(), SERVER, SERVER_NAME).unwrap();
        exchange(now, &mut client, from, &mut server);
        (server.connections.len(), server.arrived.len())
    };
    // They complete the handshake, and say nothing.
    let silent = Tls::client(AnyServer::new()).speaking(&[ALPN_CODE]);
    let address = |last, port| SocketAddr::from(([10, 0, 1, last], port));
    let held = (0..10).flat_map(|last| (1..=120).map(move |port| address(last, port)));
    let counts: Vec<_> = held.map(|from| connect(from, &silent, None)).collect();
    assert_eq!(counts.last(), Some(&(1_024, 0)));
    for port in 1..=3 {
        let counts = connect(address(99, port), &Tls::client_with(code.clone()), Some(code.clone()));
        assert_eq!(counts, (1_024, usize::from(port)), "connections, and those that may be used");
    }
}

/// A server that sends a further credit for each stamp that `make` returns. `make` gets all stamps so far, oldest
/// first.
fn cheating(make: impl Fn(&mut Stream, &[Stamp]) -> Vec<Stamp> + 'static) -> Network {
    let mut network = Network::connected();
    let (key, _) = settings_stream::keys(&network.server.connection().quic).unwrap();
    let tag = network.client.connection().tag;
    let (mut random, mut granted) = (Seed::new(5).stream("server", 0), Vec::new());
    network.to_client.attacker = Some(Box::new(move |packet| {
        let Ok(parsed) = Parsed::parse(&packet.bytes) else { return Vec::new() };
        let near = Time::after_start(Span::from_secs(1));
        let Some(credit @ Message::Credit(of)) = parsed.verify(&key, near) else {
            return Vec::new();
        };
        assert_eq!(credit.encode(&key)[..], packet.bytes);
        granted.extend_from_slice(of.stamps());
        let stamps = make(&mut random, &granted);
        let with = |stamp| Credit::new(tag, stamp).encode(&key).to_vec();
        stamps.into_iter().map(|stamp| Packet { bytes: with(stamp), ..packet.clone() }).collect()
    }));
    network
}

#[test]
fn repeated_credits_are_valid_once() {
    let mut network = cheating(|_, granted| granted.iter().rev().take(3).copied().collect());
    network.upload(3 * MB, secs(2));
    let (client, server) = (network.client.stats(), network.server.stats());
    assert_eq!(client.granted, server.credits_sent);
    assert!(client.data_packets + client.without_credit <= client.granted, "{client:?}");
    // The first two credits have fewer predecessors.
    assert_eq!(client.dropped.stamp_repeated, 3 * client.granted - 3, "{client:?}");
}

#[test]
fn guessed_credits_for_lost_packets_end_the_connection() {
    let mut network = cheating(|random, granted| {
        let [.., before, last] = granted else { return Vec::new() };
        let missing = 1..last.sequence.wrapping_sub(before.sequence);
        let (from, between) = (before.time, last.time.saturating_since(before.time));
        let guess = |random: &mut Stream| from + between.scale(random.unit());
        let guesses = missing.filter(|_| last.time > before.time);
        guesses
            .map(|ahead| Stamp { sequence: before.sequence.wrapping_add(ahead), time: time_of(step_of(guess(random))) })
            .collect()
    });
    network.client.send(20 * MB);
    network.until(secs(5), |network| network.client.connection().close_reason.is_some());
    let stats = network.client.stats();
    assert!(stats.dropped.stamp_unknown <= 17, "{stats:?}");
    assert!(stats.granted <= network.server.stats().credits_sent, "{stats:?}");
    network.run(ms(50));
    let why = network.server.connection().close_reason.clone();
    assert!(matches!(&why, Some(CloseReason::ByPeer { reason, .. }) if reason.contains("not sent")), "{why:?}");
}

#[test]
fn early_acknowledgements_do_not_increase_goodput() {
    let honest = undisturbed();
    let mut network = Network::connected();
    // The hosts receive and acknowledge data before the bottleneck.
    network.to_server.is_foreseen = true;
    network.to_client.is_foreseen = true;
    let early = goodput(&mut network);
    let stats = network.client.stats();
    assert!((0..2).all(|host| early[host] < honest[host] * 1.02), "{honest:?} {early:?}");
    assert!(stats.data_packets <= stats.used, "{stats:?}");
    let rtt = network.client.connection().quic.stats().path.min_rtt;
    assert!(rtt < ms(12), "{rtt:?}");
}

#[test]
fn a_peer_that_answers_late_does_not_delay_the_end_of_an_endpoint() {
    let mut network = Network::connected_with(config(100, 40), &LinkConfig::new(100e6, ms(1_500)));
    let now = network.now;
    network.server.state.close(now);
    // Three probe timeouts take half a minute here.
    network.run(ms(5_100));
    assert!(network.server.state.connections.are_drained());
    assert!(network.server.connection().close_reason.is_some(), "the application has its handle still");
}
