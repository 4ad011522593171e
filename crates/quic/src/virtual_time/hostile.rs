//! Peers that cheat, and somebody on the path who sees everything and has no key.

use shallop_core::{Seed, Span, Stream, Time};

use super::link::{Attacker, Packet};
use super::network::{Network, ms, secs};
use crate::connection::End;
use crate::exchange;
use crate::packet::{Credit, Packet as Message, Parsed, Stamp, is_ours, step_of, time_of};
use crate::path::Path;

const MB: u64 = 1_000_000;

/// How a packet of ours is changed by somebody without the key.
fn change(random: &mut Stream, packet: &Packet, before: &[Packet]) -> Packet {
    let mut changed = packet.clone();
    let bytes = &mut changed.bytes;
    match random.below(5) {
        0 => {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        1 => bytes.truncate(1 + random.below(bytes.len() as u64 - 1) as usize),
        // Another MAC, and another time.
        2 => bytes[5..].iter_mut().for_each(|byte| *byte = random.draw() as u8),
        // The other kind.
        3 => bytes[0] ^= 2,
        // As it was.
        _ => changed.clone_from(&before[random.below(before.len() as u64) as usize]),
    }
    changed
}

/// Ten packets for each one of ours that passes.
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

/// Bytes that arrive in a second, both ways at once: the mean of three after the first half.
fn goodput(network: &mut Network) -> [f64; 2] {
    network.client.send(60 * MB);
    network.server.send(60 * MB);
    network.run(ms(500));
    let before = [network.client.received, network.server.received];
    network.run(secs(3));
    let after = [network.client.received, network.server.received];
    [0, 1].map(|host| (after[host] - before[host]) as f64 / 3.0)
}

#[test]
fn who_has_no_key_takes_nothing_from_others() {
    let quiet = goodput(&mut Network::connected());
    let mut network = Network::connected();
    network.there.attacker = Some(attacker("there"));
    network.back.attacker = Some(attacker("back"));
    let attacked = goodput(&mut network);
    assert!(quiet[0] > 7.5e6 && quiet[1] > 7.5e6, "{quiet:?}");
    assert!((0..2).all(|host| attacked[host] > quiet[host] * 0.98), "{quiet:?} {attacked:?}");
    network.there.attacker = None;
    network.back.attacker = None;
    network.until(secs(5), |network| network.client.is_done() && network.server.is_done());
    let (client, server) = (network.client.stats(), network.server.stats());
    let passed = client.emulated - network.there.drops.emulation;
    assert!(server.credits_sent <= passed, "{server:?} {passed}");
    assert!(client.granted <= server.credits_sent, "{client:?}");
    for stats in [client, server] {
        let dropped = stats.dropped;
        assert!(dropped.wrong_mac > 50_000 && dropped.stamp_unknown == 0, "{dropped:?}");
        assert!(dropped.emulation_repeated > 1_000 && dropped.emulation_old > 1_000, "{dropped:?}");
        assert!(dropped.stamp_repeated > 500 && dropped.stamp_late > 1_000, "{dropped:?}");
    }
    assert_eq!((network.client.path(), network.server.path()), (Path::Credits, Path::Credits));
    assert!(network.client.core.dropped.wrong_length > 10_000);
}

/// A server that adds these stamps to each credit that it sends: the newest stamps are given, earlier ones first.
fn cheating(make: impl Fn(&mut Stream, &[Stamp]) -> Vec<Stamp> + 'static) -> Network {
    let mut network = Network::connected();
    let (key, _) = exchange::keys(&network.server.connection().quic).unwrap();
    let tag = network.client.connection().tag;
    let (mut random, mut granted) = (Seed::new(5).stream("server", 0), Vec::new());
    network.back.attacker = Some(Box::new(move |packet| {
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
fn credits_that_are_granted_twice_are_good_once() {
    let mut network = cheating(|_, granted| granted.iter().rev().take(3).copied().collect());
    network.upload(3 * MB, secs(2));
    let (client, server) = (network.client.stats(), network.server.stats());
    assert_eq!(client.granted, server.credits_sent);
    assert!(client.data_packets + client.without_credit <= client.granted, "{client:?}");
    // But for the first two, which have fewer before them.
    assert_eq!(client.dropped.stamp_repeated, 3 * client.granted - 3, "{client:?}");
}

#[test]
fn credits_for_packets_that_did_not_arrive_cannot_be_guessed_and_end_the_connection() {
    let mut network = cheating(|random, granted| {
        let [.., before, last] = granted else { return Vec::new() };
        let missing = 1..last.sequence.wrapping_sub(before.sequence);
        let (from, between) = (before.time, last.time.saturating_since(before.time));
        let guess = |random: &mut Stream| from + between.scale(random.unit());
        let guesses = missing.filter(|_| last.time > before.time);
        guesses
            .map(|ahead| Stamp {
                sequence: before.sequence.wrapping_add(ahead),
                time: time_of(step_of(guess(random))),
            })
            .collect()
    });
    network.client.send(20 * MB);
    network.until(secs(5), |network| network.client.connection().end.is_some());
    let stats = network.client.stats();
    assert!(stats.dropped.stamp_unknown <= 17, "{stats:?}");
    assert!(stats.granted <= network.server.stats().credits_sent, "{stats:?}");
    network.run(ms(50));
    let why = network.server.connection().end.clone();
    assert!(matches!(&why, Some(End::ByPeer(why)) if why.contains("not sent")), "{why:?}");
}

#[test]
fn who_acknowledges_what_has_not_arrived_gets_no_more_credits() {
    let honest = goodput(&mut Network::connected());
    let mut network = Network::connected();
    // The hosts see data when it is sent, before the bottleneck, and acknowledge it.
    network.there.is_foreseen = true;
    network.back.is_foreseen = true;
    let early = goodput(&mut network);
    let stats = network.client.stats();
    assert!((0..2).all(|host| early[host] < honest[host] * 1.02), "{honest:?} {early:?}");
    assert!(stats.data_packets <= stats.used, "{stats:?}");
    let rtt = network.client.connection().quic.stats().path.min_rtt;
    assert!(rtt < ms(12), "{rtt:?}");
}
