//! Peers that use up what they can, or do anything.

use super::contents;
use crate::peer::{Peer, entry, hello, record, sent_by, sum};
use proptest::prelude::{ProptestConfig, prop, proptest};
use shallop_transfer::protocol::{Link, ReceiveOptions};
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

/// A folder in a parent folder, in which files that were written outside show.
fn nested() -> (tempfile::TempDir, std::path::PathBuf) {
    let around = tempfile::tempdir().unwrap();
    let inside = around.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    (around, inside)
}

pub fn hashing_ends_when_the_peer_leaves() {
    let to = tempfile::tempdir().unwrap();
    let size = 1 << 42;
    File::create(to.path().join("a")).unwrap().set_len(size).unwrap();
    let begun = Instant::now();
    let outcome = sent_by(to.path(), ReceiveOptions::default(), |peer| {
        peer.say(&hello(1, size));
        peer.say(&entry(0, "a", "file", size));
        assert!(peer.hear().contains("ask"));
        peer.say(&sum(b""));
        std::thread::sleep(Duration::from_millis(100));
    });
    // The hash of 4 TiB takes at least ten minutes.
    assert!(outcome.is_err() && begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

pub fn a_million_names_take_bounded_time() {
    let begun = Instant::now();
    // The last name occurs twice.
    let entries = (0..999_999).map(|number| entry(number, &format!("{number:07}"), "file", 0));
    let last = entry(999_999, "0999998", "file", 0);
    let (around, inside) = nested();
    let outcome = sent_by(&inside, ReceiveOptions::default(), |peer| {
        peer.say(&hello(1_000_000, 0));
        entries.chain([last]).for_each(|line| peer.say(&line));
        assert!(peer.hear().contains(r#"{"say":"refuse""#));
    });
    let why = outcome.unwrap_err().to_string();
    assert_eq!(contents(around.path()).len(), 1, "something was written");
    assert!(why.contains("twice") && begun.elapsed() < Duration::from_secs(120), "{why}: {:?}", begun.elapsed());
}

pub fn streams_that_are_reset_fail_one_file_each() {
    let (around, inside) = nested();
    let outcome = sent_by(&inside, ReceiveOptions::default(), |peer| {
        peer.say(&hello(2, 8));
        peer.say(&entry(0, "a", "file", 4));
        peer.say(&entry(1, "b", "file", 4));
        assert!(peer.hear().contains("want") && peer.hear().contains("want"));
        let open = |peer: &Peer, length| {
            let mut stream = peer.link.open_uni().unwrap();
            stream.write_all(&record(b'F', 0, 0, b"1234", b"1234")[..length]).unwrap();
            stream
        };
        // Before the end of its header a record is nothing.
        (0..2_000).for_each(|number| drop(open(peer, number % 12)));
        let begun = open(peer, 19);
        while contents(around.path()).len() == 1 {
            std::thread::yield_now();
        }
        drop(begun);
        let answer = peer.hear();
        (0..2_000).for_each(|number| drop(open(peer, number % 20)));
        assert!(answer.contains("failed"), "{answer}");
        peer.stream(b'F', 1, 0, b"1234", b"1234");
        assert_eq!([peer.hear(), peer.hear()].concat(), "{\"say\":\"done\",\"id\":1}\n{\"say\":\"end\"}\n");
    });
    let summary = outcome.unwrap();
    assert_eq!((summary.files, summary.failed.len()), (1, 1));
    assert!(contents(around.path()).contains_key("inside/b"));
}

pub fn random_messages_neither_panic_nor_write_outside_the_folder() {
    let message = (0usize..12, 0u32..3, 0u64..6);
    proptest!(ProptestConfig::with_cases(64), |(messages in prop::collection::vec(message, 0..10))| {
        let (around, inside) = nested();
        let options = ReceiveOptions { overwrite: true, hidden: true, ..ReceiveOptions::default() };
        let _ = sent_by(&inside, options, |peer| say_random(peer, &messages));
        for (path, it) in contents(around.path()) {
            assert!(path == "inside" || path.starts_with("inside/"), "{path}");
            if let Some((bytes, _)) = it {
                assert!(path.ends_with(".shallop-part") || bytes == b"1234", "{path}");
            }
        }
    });
}

/// Offers two files, then sends these messages and streams: a kind, an entry and a number each.
fn say_random(peer: &mut Peer, messages: &[(usize, u32, u64)]) {
    peer.say(&hello(2, 8));
    peer.say(&entry(0, "a", "file", 4));
    peer.say(&entry(1, "d/b", "file", 4));
    peer.hear();
    peer.hear();
    for &(kind, id, number) in messages {
        match kind {
            0 => peer.say(&format!(r#"{{"say":"same","id":{id}}}"#)),
            1..=3 => peer.say(&sum(b"1234").replace("\"id\":0", &format!("\"id\":{id}"))),
            4 => peer.say(&format!(r#"{{"say":"abandon","id":{id},"reason":"r"}}"#)),
            5 => peer.say(r#"{"say":"end"}"#),
            6 | 7 => peer.stream(b'F', id, 0, b"1234", b"1234"),
            8 => peer.stream(b'F', id, number, b"1234", b"1234"),
            _ => peer.stream(b'F', id, 0, &b"123456"[..number as usize], b"1234"),
        }
    }
}
