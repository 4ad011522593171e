//! Vegas' arithmetic in C (`c/vegas_math.h`) compared with the simulator's controller, on random round trips.

use crate::steps::{MSS, ack, compile, start};
use shallop_control::vegas::{Config, Vegas};
use shallop_control::{Ack, Window};
use shallop_core::{Bytes, Seed, Span, Stream};
use shallop_testing::Outcome;
use std::fs::{self, File};
use std::process::Command;

const ROUNDS: usize = 20_000;
/// The value of an unknown threshold in C.
const INFINITE: u64 = 0x7fff_ffff;

/// The inputs of a round in C: window, threshold, base and smallest round-trip time in microseconds plus one, and
/// whether the window limits the sender.
type Round = [u32; 5];

fn sample(snd_una: u64, snd_nxt: u64, rtt_us: u64, is_cwnd_limited: bool) -> Ack {
    // Nothing is acknowledged, so that slow start does not change the window.
    let (acked_sacked, snd_una_advance) = (Bytes::ZERO, Bytes::ZERO);
    let base = ack(snd_una, snd_nxt, Span::from_us(rtt_us), Bytes::new(MSS));
    Ack { acked_sacked, snd_una_advance, is_cwnd_limited, ..base }
}

/// A random round trip with four samples, and the window and threshold after it.
fn round(random: &mut Stream) -> (Round, [u64; 2]) {
    let (window_bits, time_bits) = (random.below(17), random.below(20));
    let cwnd = 2 + random.below(1 << window_bits);
    let ssthresh = match random.below(3) {
        0 => INFINITE,
        1 => cwnd + random.below(10),
        _ => 2 + random.below(cwnd),
    };
    let base = 1 + random.below(2 << time_bits);
    // Around the bounds of 1, 2 and 4 packets.
    let queue = (base + 1) * random.below(6) / cwnd + random.below(3);
    let is_limited = random.below(2) == 0;
    let mut vegas = Vegas::new(&Config::LINUX_IDEAL, &start(cwnd, Bytes::new(ssthresh * MSS)));
    let next = 100 * MSS;
    // The first round trip ends with its first sample, the smallest of all.
    vegas.on_ack(&sample(1, next, base, is_limited));
    for una in 2..5 {
        vegas.on_ack(&sample(una, next, base + queue + una, is_limited));
    }
    vegas.on_ack(&sample(next + 1, 2 * next, base + queue, is_limited));
    let after = [vegas.window(), vegas.slow_start_threshold()].map(|of| of.get() / MSS);
    let of = |value: u64| u32::try_from(value).unwrap();
    ([of(cwnd), of(ssthresh), of(base + 1), of(base + queue + 1), is_limited.into()], after)
}

pub fn windows_after_a_round_trip_are_equal_in_c() -> Outcome {
    let program = compile("vegas")?;
    let folder = tempfile::tempdir().unwrap();
    let mut random = Seed::new(14).stream("vegas", 0);
    let rounds: Vec<_> = (0..ROUNDS).map(|_| round(&mut random)).collect();
    let input: Vec<u8> = rounds.iter().flat_map(|(of, _)| of.iter().flat_map(|of| of.to_ne_bytes())).collect();
    fs::write(folder.path().join("rounds"), input).unwrap();
    let input = File::open(folder.path().join("rounds")).unwrap();
    let output = Command::new(&program).stdin(input).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let words = output.stdout.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap()));
    let words: Vec<u64> = words.map(u64::from).collect();
    assert_eq!(words.len(), 2 * ROUNDS);
    for ((given, wanted), found) in rounds.iter().zip(words.chunks_exact(2)) {
        assert_eq!(found, wanted, "{given:?}");
    }
    let has = |is: fn(&Round, &[u64; 2]) -> bool| rounds.iter().filter(|(of, then)| is(of, then)).count();
    let grown = has(|of, then| then[0] > of[0].into());
    let reduced = has(|of, then| then[0] < of[0].into());
    assert!(grown > 1_000 && reduced > 1_000, "{grown} {reduced}");
    Ok(())
}
