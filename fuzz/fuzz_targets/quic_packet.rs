//! Any payload of UDP as a packet beside QUIC and as settings. What is read as one is written with the same bytes, and
//! is verified by nothing but its own MAC; what was sent is verified, unless a bit of it has changed.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use shallop_core::{Span, Time};
use shallop_fuzz::draw;
use shallop_quic::outstanding::Outstanding;
use shallop_quic::packet::{Credit, Emulation, MacKey, Packet, Parsed, Stamp, is_ours};
use shallop_quic::{replay::ReplayWindow, settings::CreditSettings};

/// A key that is no part of the input.
const KEY: [u8; 16] = *b"no bytes know it";

fn read(bytes: &[u8]) {
    if let Ok(settings) = CreditSettings::decode(bytes) {
        assert_eq!(settings.encode().as_ref().map(|message| &message[..]), Ok(bytes));
    }
    let Ok(parsed) = Parsed::parse(bytes) else { return };
    assert!(is_ours(bytes[0]));
    for reference in [Time::ZERO, Time::after_start(Span::from_secs(100_000)), Time::LAST] {
        assert_eq!(parsed.verify(&MacKey::new(KEY), reference), None);
    }
}

fn packet(u: &mut Unstructured<'_>, now: Time) -> Result<Packet> {
    let tag = u.arbitrary()?;
    let stamp = |u: &mut Unstructured<'_>| -> Result<Stamp> {
        Ok(Stamp { sequence: u.arbitrary()?, time: draw::time(u, now)? })
    };
    let first = stamp(u)?;
    if u.arbitrary()? {
        return Ok(Packet::Emulation(Emulation { tag, stamp: first, tagged: u.arbitrary()? }));
    }
    let mut credit = Credit::new(tag, first);
    while u.arbitrary()? && credit.push(stamp(u)?) {}
    Ok(Packet::Credit(credit))
}

fn run(bytes: &[u8]) -> Result<()> {
    let u = &mut Unstructured::new(bytes);
    let key = MacKey::new(u.arbitrary()?);
    let mut window = ReplayWindow::new(draw::pause(u)?);
    let mut outstanding = Outstanding::default();
    let mut now = Time::ZERO;
    while !u.is_empty() {
        now = now.saturating_add(draw::pause(u)?);
        outstanding.note(now, draw::pause(u)?);
        let sent = packet(u, now)?;
        let mut bytes = sent.encode(&key).to_vec();
        let read = Parsed::parse(&bytes).expect("what was written is read").verify(&key, now);
        match read {
            Some(Packet::Emulation(read)) => {
                let both = [window.accept(read.stamp), window.accept(read.stamp)];
                assert!(both[1].is_err());
            }
            Some(Packet::Credit(read)) => {
                for &stamp in read.stamps() {
                    if outstanding.take(stamp).is_ok() {
                        assert!(outstanding.take(stamp).is_err());
                    }
                }
            }
            None => {}
        }
        let bit = u.int_in_range(0..=bytes.len() * 8 - 1)?;
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(parsed) = Parsed::parse(&bytes) {
            assert_eq!(parsed.verify(&key, now), None);
        }
        outstanding.expire(now, draw::pause(u)?);
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    let _ = run(bytes);
});
