//! Peers that forge credits, and attackers on the path who see every packet and have no key.

use super::link::{Attacker, Packet};
use super::network::{Network, SERVER, config};
use crate::credit::packet::{Credit, Packet as Message, Parsed, Stamp, is_ours, step_of, time_of};
use crate::credit::settings::ALPN_CODE;
use crate::sockets::datagram::{IncomingDatagram, OutgoingDatagram};
use crate::trust::code::Code;
use crate::trust::identity::{AnyServer, SERVER_NAME};
use crate::trust::tls::Tls;
use crate::{credit::settings_stream, endpoint_state::EndpointState};
use shallop_core::{Seed, Span, Stream, Time};
use std::sync::Arc;
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

/// The number of forged datagrams.
pub(super) type Forged = Rc<Cell<u64>>;

/// An attacker of dialogues.
pub(super) fn attacker(kind: &str, link: &str, made: &Forged, network: &mut Network) -> Option<Attacker> {
    match kind {
        "none" => None,
        "changes" => Some(changer(link)),
        "forgeries" => Some(forger(link, made)),
        "replays" => Some(replayer()),
        "copies" => Some(copier()),
        "repeats" => Some(cheat(network, |_, granted| granted.iter().rev().take(3).copied().collect())),
        "guesses" => Some(cheat(network, guesses)),
        _ => panic!("no attacker: {kind}"),
    }
}

/// Injects ten packets for each emulation packet and credit that passes.
fn changer(name: &str) -> Attacker {
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

/// The least number of forged datagrams.
pub(super) fn forgeries() -> u64 {
    std::env::var("SHALLOP_FORGERIES").map_or(200_000, |text| text.parse().unwrap())
}

/// Injects forged datagrams for each datagram that passes, and counts them in `made`.
fn forger(name: &str, made: &Forged) -> Attacker {
    // About 79,000 packets pass during the measurement.
    let each = forgeries().div_ceil(70_000);
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

/// Injects the five newest emulation packets or credits again, before the packet itself, as over a shorter path. In
/// 30 % of the cases the packet itself is among them.
fn replayer() -> Attacker {
    let (mut random, mut before) = (Seed::new(4).stream("again", 0), Vec::new());
    Box::new(move |packet| {
        if !is_ours(packet.bytes[0]) {
            return Vec::new();
        }
        before.push(packet.clone());
        let from = anywhere(&mut random);
        let first = usize::from(random.chance(0.7));
        let recent = before.iter().rev().skip(first).take(5);
        recent.map(|packet: &Packet| Packet { from, ..packet.clone() }).collect()
    })
}

/// Injects copies of some packets with another address.
fn copier() -> Attacker {
    let mut random = Seed::new(1).stream("copies", 0);
    let from = SocketAddr::from(([10, 9, 9, 9], 3_333));
    Box::new(move |packet| vec![Packet { from, ..packet.clone() }; usize::from(random.chance(0.3))])
}

/// Lets clients at random addresses begin to connect to the server, and say nothing more.
pub(super) fn begin_handshakes(network: &mut Network, count: u64) {
    let crypto = Tls::client(AnyServer::new()).client_config().unwrap();
    let mut random = Seed::new(6).stream("first", 0);
    for number in 0..count {
        let mut state = EndpointState::new(config(100, 40), None, None, number).unwrap();
        state.connect(network.now, Arc::clone(&crypto), SERVER, SERVER_NAME).unwrap();
        let from = anywhere(&mut random);
        for OutgoingDatagram { tos, bytes, .. } in state.transmit(network.now) {
            let arrival = IncomingDatagram { from, to: None, tos, bytes: &bytes };
            network.server.state.on_datagram(network.now, &arrival);
        }
    }
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
fn cheat(network: &mut Network, make: impl Fn(&mut Stream, &[Stamp]) -> Vec<Stamp> + 'static) -> Attacker {
    let (key, _) = settings_stream::keys(&network.server.connection().quic).unwrap();
    let tag = network.client.connection().tag;
    let (mut random, mut granted) = (Seed::new(5).stream("server", 0), Vec::new());
    Box::new(move |packet| {
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
    })
}

/// Stamps of the packets that were lost between the last two, at random times between theirs.
fn guesses(random: &mut Stream, granted: &[Stamp]) -> Vec<Stamp> {
    let [.., before, last] = granted else { return Vec::new() };
    let between = last.time.saturating_since(before.time);
    let missing = 1..last.sequence.wrapping_sub(before.sequence);
    let mut guess = |ahead| {
        let time = time_of(step_of(before.time + between.scale(random.unit())));
        Stamp { sequence: before.sequence.wrapping_add(ahead), time }
    };
    missing.filter(|_| last.time > before.time).map(&mut guess).collect()
}
