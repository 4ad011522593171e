//! The simulator's network decides of a tape what the network of the rehearsal decided.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

use std::path::{Path, PathBuf};

use shallop_linux::replay::{lines, replay};
use shallop_plan::plan::Plan;
use shallop_scenario::{Options, read};

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
fn every_packet_is_delivered_marked_or_dropped_as_it_was() {
    for (name, drops, marks) in [("cubic", DROPS[0], MARKS[0]), ("bbr", DROPS[1], MARKS[1])] {
        let tape = folder().join(format!("{name}.tape"));
        let played = replay(&plan(&[]), &tape).unwrap();
        assert_eq!((played.differing, played.first), (0, None), "{name}");
        assert!(played.read > 100 && played.written > 100, "{name}");
        assert_eq!((played.run.drops.data, played.run.marks), (drops, marks), "{name}");
    }
}

/// What the rehearsals counted when the tapes were made.
const DROPS: [u64; 2] = [31, 167];
const MARKS: [u64; 2] = [104, 230];

#[test]
fn another_network_decides_otherwise() {
    let tape = folder().join("cubic.tape");
    for set in [("switch.default.buffer", "9KB"), ("switch.default.mark.above", "7KB")] {
        let played = replay(&plan(&[set]), &tape).unwrap();
        assert!(played.differing > 0 && played.first.is_some(), "{set:?}");
    }
}

#[test]
fn a_tape_is_shown_packet_by_packet_and_a_damaged_one_refused() {
    let tape = folder().join("cubic.tape");
    let shown = lines(&tape).unwrap();
    assert!(
        shown[0].contains("10.0.0.1:10000 > 10.0.0.2:5000") && shown[0].ends_with("SYN"),
        "{}",
        shown[0]
    );
    assert!(shown.iter().any(|line| line.ends_with(" CE")));
    let damaged = tempfile::NamedTempFile::new().unwrap();
    let bytes = std::fs::read(&tape).unwrap();
    std::fs::write(damaged.path(), &bytes[..bytes.len() - 1]).unwrap();
    let why = lines(damaged.path()).unwrap_err().to_string();
    assert!(why.ends_with("no tape of this version"), "{why}");
}
