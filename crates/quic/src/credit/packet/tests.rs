//! Packets decode to themselves, and times are resolved across their wrap.

use super::*;
use proptest::prelude::*;

fn stamp() -> impl Strategy<Value = Stamp> {
    let step = prop_oneof![0..=LAST_STEP, 0..WRAP, (1..2_000u64).prop_map(|n| n * WRAP - 1)];
    (any::<u16>(), step).prop_map(|(sequence, step)| Stamp { sequence, time: time_of(step) })
}

/// A time less than half a wrap from `step`; `share` is its distance in units of 2^-17 wraps.
fn near(step: u64, share: i32) -> Time {
    let away = i64::from(share) * (WRAP / 2 - 1).cast_signed() / (1 << 16);
    time_of(step.saturating_add_signed(away))
}

proptest! {
    #[test]
    fn encoded_emulation_packets_decode_to_themselves(
        (tag, stamp, tagged, key, share) in
            (any::<u16>(), stamp(), any::<bool>(), any::<[u8; 16]>(), -65_536..65_536i32)
    ) {
        let Stamp { sequence, time } = stamp;
        let sent = Emulation { tag, stamp, tagged };
        let bytes = sent.encode(&MacKey::new(key));
        prop_assert_eq!(bytes.len(), EMULATION_BYTES);
        prop_assert!(is_ours(bytes[0]));
        let parsed = Parsed::parse(&bytes).unwrap();
        let reference = near(step_of(time), share);
        let read = parsed.verify(&MacKey::new(key), reference);
        prop_assert_eq!(read, Some(Packet::Emulation(sent)));
        prop_assert_eq!((parsed.tag, parsed.wrapped_stamps()[0].0), (tag, sequence));
        // One wrap later, equal bytes are another packet.
        if step_of(time).max(step_of(reference)) + WRAP <= LAST_STEP {
            let later = time_of(step_of(reference) + WRAP);
            prop_assert_eq!(parsed.verify(&MacKey::new(key), later), None);
        }
    }

    #[test]
    fn encoded_credits_decode_to_themselves(
        (tag, first, away, key) in (
            any::<u16>(),
            stamp(),
            prop::collection::vec((any::<u16>(), -65_536..65_536i32), 0..MAX_STAMPS),
            any::<[u8; 16]>(),
        )
    ) {
        let mut sent = Credit::new(tag, first);
        for (sequence, share) in away {
            let time = near(step_of(first.time), share);
            let pushed = sent.push(Stamp { sequence, time });
            prop_assert!(pushed);
        }
        let key = MacKey::new(key);
        let bytes = sent.encode(&key);
        prop_assert_eq!(bytes.len(), credit_bytes(sent.stamps().len()));
        let read = Parsed::parse(&bytes).unwrap().verify(&key, first.time);
        prop_assert_eq!(read, Some(Packet::Credit(sent)));
    }

    #[test]
    fn wrapped_times_resolve_to_the_nearest_time(step in 0..=LAST_STEP, wrapped in 0..WRAP) {
        let reference = time_of(step);
        let found = step_of(unwrap_time(wrapped, reference));
        prop_assert_eq!(found % WRAP, wrapped);
        for other in [found.checked_sub(WRAP), Some(found + WRAP)].into_iter().flatten() {
            let possible = other <= LAST_STEP;
            prop_assert!(!possible || other.abs_diff(step) >= found.abs_diff(step));
        }
    }
}

#[test]
fn wrapped_times_resolve_across_the_wrap() {
    let cases = [
        (0, 0, 0),
        (WRAP - 1, 0, WRAP - 1),
        (0, WRAP - 1, WRAP),
        (WRAP - 1, WRAP, WRAP - 1),
        (5, 7 * WRAP - 3, 7 * WRAP + 5),
        (WRAP - 5, 7 * WRAP + 3, 7 * WRAP - 5),
        (WRAP / 2, WRAP, WRAP + WRAP / 2),
        (WRAP / 2 + 1, WRAP, WRAP / 2 + 1),
        (0, LAST_STEP, LAST_STEP + 1 - WRAP),
    ];
    for (wrapped, reference, full) in cases {
        assert_eq!(unwrap_time(wrapped, time_of(reference)), time_of(full), "{wrapped}");
    }
    assert_eq!(step_of(unwrap_time(WRAP - 1, Time::LAST)), LAST_STEP);
}

#[test]
fn lengths_and_steps_have_their_documented_values() {
    // 64 bits of picoseconds are 51 bits of steps.
    assert_eq!(LAST_STEP, (1 << 51) - 1);
    assert_eq!((EMULATION_BYTES, MAX_BYTES), (18, 53));
    assert_eq!(TIMESTAMP_STEP, Span::from_ps(8_192));
    assert_eq!(WRAP * TIMESTAMP_STEP.as_ps() / 1_000_000_000_000, 9_007);
}

#[test]
fn malformed_packets_are_refused_with_the_reason() {
    assert_eq!(Parsed::parse(&[]), Err(Malformed::Kind(None)));
    assert_eq!(Parsed::parse(&[0x0B; 18]), Err(Malformed::Kind(Some(0x0B))));
    assert_eq!(Parsed::parse(&[8; 25]), Err(Malformed::Length(PacketKind::Emulation, 25)));
    for length in 0..200 {
        let good = [18, 25, 32, 39, 46, 53].contains(&length);
        assert_eq!(Parsed::parse(&vec![0x0A; length][..]).is_ok(), good && length > 0);
    }
    let ours: Vec<u8> = (0..=255).filter(|&byte| is_ours(byte)).collect();
    assert_eq!(ours, (4..=15).collect::<Vec<u8>>());
    assert_eq!(format!("{:?}", MacKey::new([7; 16])), "MacKey");
}

#[test]
fn a_full_credit_takes_no_more_stamps() {
    let mut credit = Credit::new(1, Stamp::NONE);
    let pushed: Vec<bool> = (0..7).map(|_| credit.push(Stamp::NONE)).collect();
    assert_eq!(pushed, [true, true, true, true, true, false, false]);
}
