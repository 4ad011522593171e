//! Tapes of rehearsals, replayed in a simulated network.

use shallop_hosts::tape::{Direction, Record, Tape};
use shallop_linux::replay::{lines, play, read as read_tape, replay};
use shallop_plan::plan::Plan;
use shallop_scenario::{Options, read};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tapes")
}

fn plan(set: &[(&str, &str)]) -> Plan {
    let text = std::fs::read_to_string(folder().join("two-flows.toml")).unwrap();
    let stack = std::iter::once(&("stack", "kernel"));
    let set = stack.chain(set).map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let options = Options { set: set.collect(), ..Options::default() };
    read(&text, &options).unwrap().points.remove(0).plan
}

#[test]
fn a_replay_delivers_marks_and_drops_the_recorded_packets() {
    for (name, drops, marks) in [("cubic", DROPS[0], MARKS[0]), ("bbr", DROPS[1], MARKS[1])] {
        let tape = folder().join(format!("{name}.tape"));
        let played = replay(&plan(&[]), &tape).unwrap();
        assert_eq!((played.differing, played.first), (0, None), "{name}");
        assert!(played.read > 100 && played.written > 100, "{name}");
        assert_eq!((played.run.drops.data, played.run.marks), (drops, marks), "{name}");
    }
}

/// The drops and marks of the recorded rehearsals.
const DROPS: [u64; 2] = [31, 167];
const MARKS: [u64; 2] = [104, 230];

#[test]
fn a_replay_in_another_network_differs() {
    let tape = folder().join("cubic.tape");
    for set in [("switch.default.buffer", "9KB"), ("switch.default.mark.above", "7KB")] {
        let played = replay(&plan(&[set]), &tape).unwrap();
        let first = played.first.unwrap();
        assert!(first.starts_with("tape: ") && first.contains(" / replay: "), "{set:?} {first}");
        let all = played.written.max(played.replayed);
        assert!(played.differing > 0 && played.differing <= all, "{set:?}");
    }
}

#[test]
fn tapes_are_listed_packet_by_packet_and_damaged_ones_refused() {
    let tape = folder().join("cubic.tape");
    let shown = lines(&tape).unwrap();
    assert!(shown[0].contains("10.0.0.1:10000 > 10.0.0.2:5000") && shown[0].ends_with("SYN"), "{}", shown[0]);
    assert!(shown.iter().any(|line| line.ends_with(" CE")));
    assert!(shown.iter().any(|line| line.ends_with(" SYN-ACK")));
    let named = tempfile::NamedTempFile::new().unwrap();
    let mut with_names = read_tape(&tape).unwrap();
    with_names.names = ["s0", "r0"].map(str::to_owned).to_vec();
    std::fs::write(named.path(), with_names.to_bytes()).unwrap();
    let shown = lines(named.path()).unwrap();
    assert!(shown[0].contains("s0 sent s0:10000 > r0:5000"), "{}", shown[0]);
    let damaged = tempfile::NamedTempFile::new().unwrap();
    let bytes = std::fs::read(&tape).unwrap();
    std::fs::write(damaged.path(), &bytes[..bytes.len() - 1]).unwrap();
    let why = lines(damaged.path()).unwrap_err().to_string();
    assert!(why.contains("is damaged or was cut off behind"), "{why}");
    std::fs::write(damaged.path(), "title = \"a scenario\"\n").unwrap();
    let why = lines(damaged.path()).unwrap_err().to_string();
    assert!(why.ends_with("is not a tape of a rehearsal"), "{why}");
}

/// A copy of a tape with random bytes, lengths and cuts of frames.
fn damaged(tape: &Tape, chance: &mut impl FnMut(usize) -> usize) -> Tape {
    let mut damaged = tape.clone();
    for record in damaged.records.iter_mut().filter(|record| record.direction == Direction::FromHost) {
        for _ in 0..chance(4) {
            // Half of the changes are in the headers of virtio-net and IP, which have lengths and types.
            let within = if chance(2) == 0 { 48 } else { record.bytes.len() };
            let at = chance(within.min(record.bytes.len()));
            record.bytes[at] = chance(256) as u8;
        }
        if chance(8) == 0 {
            record.length = chance(70_000) as u32;
        }
        if chance(16) == 0 {
            record.bytes.truncate(chance(100));
        }
    }
    damaged
}

/// Whether a delivered packet is addressed to its host and has a valid IP header.
fn is_right(record: &Record) -> bool {
    let ip = &record.bytes[24..];
    let length = usize::from(ip[0] & 0x0f) * 4;
    let words = ip[..length].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
    let sum: u32 = words.sum();
    let to = u32::from_be_bytes([16, 17, 18, 19].map(|at| ip[at]));
    let whole = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    (sum & 0xffff) + (sum >> 16) == 0xffff
        && to == (10 << 24) + record.host + 1
        && whole <= 1_500
        && whole + 24 <= record.length as usize
}

/// Replays damaged tapes until this many frames were read.
fn play_damaged(frames: usize) {
    let plan = plan(&[]);
    let mut state = 1_u64;
    let mut chance = |below: usize| {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let tapes = ["cubic", "bbr"].map(|name| read_tape(&folder().join(format!("{name}.tape"))).unwrap());
    let (mut read, mut written) = (0, 0);
    while read < frames {
        for tape in &tapes {
            let (played, again) = play(&plan, &damaged(tape, &mut chance)).unwrap();
            let wrong = again.delivered().find(|record| !is_right(record));
            assert!(wrong.is_none(), "{wrong:?}");
            read += played.read as usize;
            written += again.delivered().count();
        }
    }
    assert!(written > read / 4, "{written} of {read} passed: too few to prove anything");
}

#[test]
fn malformed_frames_are_never_delivered() {
    play_damaged(30_000);
}

#[test]
#[ignore = "long: ten million frames take minutes"]
fn ten_million_malformed_frames() {
    play_damaged(10_000_000);
}
