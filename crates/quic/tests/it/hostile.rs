//! A million damaged packets: none makes the parser panic, and none is accepted.

use shallop_core::{Seed, Span, Stream};
use shallop_quic::packet::{Credit, Emulation, MAX_STAMPS, MacKey, Parsed, Stamp, time_of};
use shallop_quic::{counters::DropCounters, outstanding::Outstanding};
use shallop_quic::{replay::ReplayWindow, settings::CreditSettings};

const ROUNDS: u64 = 1_000_000;

fn stamp(random: &mut Stream, step: u64) -> Stamp {
    let away = random.below(1_000_000);
    Stamp { sequence: random.draw() as u16, time: time_of(step + away) }
}

fn good(random: &mut Stream, key: &MacKey, step: u64) -> Vec<u8> {
    let tag = random.draw() as u16;
    let first = stamp(random, step);
    if random.chance(0.5) {
        let tagged = random.chance(0.5);
        return Emulation { tag, stamp: first, tagged }.encode(key).to_vec();
    }
    let mut credit = Credit::new(tag, first);
    for _ in 0..random.below(MAX_STAMPS as u64) {
        assert!(credit.push(stamp(random, step)));
    }
    credit.encode(key).to_vec()
}

/// Damages a packet; the result always differs.
fn spoil(random: &mut Stream, good: &[u8]) -> Vec<u8> {
    let mut bytes = good.to_vec();
    match random.below(6) {
        0 => bytes.truncate(random.below(bytes.len() as u64) as usize),
        1 => bytes.extend((0..=random.below(60)).map(|_| random.draw() as u8)),
        2 => {
            // A stamp more or less.
            let longer = random.chance(0.5);
            let at = 3 + 7 * random.below((bytes.len() as u64 - 11) / 7) as usize;
            let stamp = bytes[at..at + 7].to_vec();
            bytes.splice(at..if longer { at } else { at + 7 }, if longer { stamp } else { vec![] });
        }
        3 => {
            bytes = (0..random.below(64)).map(|_| random.draw() as u8).collect();
            if let Some(first) = bytes.first_mut() {
                *first = 8 + *first % 3;
            }
        }
        _ => {
            let bits = 1 + random.below(3);
            let length = bytes.len() as u64 * 8;
            let start = random.below(length);
            for bit in (0..bits).map(|bit| (start + bit) % length) {
                bytes[bit as usize / 8] ^= 1 << (bit % 8);
            }
        }
    }
    bytes
}

pub fn a_million_spoilt_packets_are_refused() {
    let mut random = Seed::new(4).stream("hostile", 0);
    let key = MacKey::new([0x5A; 16]);
    let (mut counters, mut refused) = (DropCounters::default(), 0);
    for round in 0..ROUNDS {
        let step = random.below(1 << 50);
        let packet = good(&mut random, &key, step);
        let spoilt = spoil(&mut random, &packet);
        assert_ne!(spoilt, packet);
        match Parsed::parse(&spoilt) {
            Err(why) => {
                counters += why.into();
                assert!(!why.to_string().is_empty());
            }
            Ok(parsed) => {
                assert_eq!(parsed.verify(&key, time_of(step)), None, "round {round}: {spoilt:?}");
                refused += 1;
            }
        }
        assert!(Parsed::parse(&packet).unwrap().verify(&key, time_of(step)).is_some());
        let other = MacKey::new([round as u8 % 0x5A; 16]);
        assert_eq!(Parsed::parse(&packet).unwrap().verify(&other, time_of(step)), None);
        let _ = CreditSettings::decode(&spoilt);
    }
    assert_eq!(counters.total() + refused, ROUNDS);
    assert!(counters.unknown_kind > 10_000 && counters.wrong_length > 10_000);
    assert!(refused > 300_000, "{refused} were as long as a packet");
}

pub fn any_stamps_are_taken_by_neither_end_twice() {
    let mut random = Seed::new(5).stream("stamps", 0);
    let mut window = ReplayWindow::new(Span::from_ms(10));
    let mut outstanding = Outstanding::default();
    for _ in 0..300_000 {
        let step = random.below(1 << 51);
        let stamp = Stamp { sequence: random.draw() as u16, time: time_of(step) };
        if window.accept(stamp).is_ok() {
            assert!(window.accept(stamp).is_err());
        }
        assert!(outstanding.take(stamp).is_err());
        if random.chance(0.1) {
            let sent = outstanding.note(time_of(random.below(1 << 51)), Span::ZERO);
            assert!(outstanding.take(sent).is_ok());
        }
        outstanding.expire(time_of(step), Span::from_ms(5));
    }
}
