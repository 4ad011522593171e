//! What peers can use up.

use super::{Peer, contents, entry, hello, nested, record, refused, sent_by, sources, sum};
use crate::memory_link::MemoryLink;
use shallop_transfer::limits::Limits;
use shallop_transfer::protocol::{Link, ReceiveOptions, SendOptions, receive, send};
use std::io::Write;
use std::time::{Duration, Instant};
use std::{fs, fs::File};

pub fn a_transfer_without_a_thread_ends_without_panic() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(from.path().join("a"), "1234").unwrap();
    let sources = sources(from.path());
    // One thread ends transfers that stall, one accepts streams, and each stream needs one more.
    for (threads, push) in [(0, 0), (0, 64), (1, 0), (1, 64), (2, 0), (2, 64)] {
        let (here, there) = MemoryLink::pair(None);
        let limits = Limits::of_threads(threads, threads);
        let options = SendOptions { push, ..SendOptions::default() };
        let got = std::thread::scope(|scope| {
            let sender = scope.spawn(|| send(&here, &sources, options, &()));
            let got = receive(&there, to.path(), ReceiveOptions::default(), &limits, &());
            assert!(sender.join().unwrap().is_err());
            got
        });
        let why = got.unwrap_err().to_string();
        assert!(why.contains("no thread for this transfer"), "{why}");
        assert_eq!(contents(to.path()).len(), 0);
    }
}

pub fn hashing_ends_when_the_peer_leaves() {
    let to = tempfile::tempdir().unwrap();
    let size = 1 << 42;
    File::create(to.path().join("a")).unwrap().set_len(size).unwrap();
    let begun = Instant::now();
    let outcome = sent_by(to.path(), ReceiveOptions::default(), |peer| {
        peer.say_all([hello(1, size).as_str(), &entry(0, "a", "file", size)].into_iter());
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
    let lines: Vec<String> = [hello(1_000_000, 0)].into_iter().chain(entries).chain([last]).collect();
    let why = refused(&lines[..]).to_string();
    assert!(why.contains("twice") && begun.elapsed() < Duration::from_secs(120), "{why}: {:?}", begun.elapsed());
}

pub fn streams_that_are_reset_fail_one_file_each() {
    let (around, inside) = nested();
    let outcome = sent_by(&inside, ReceiveOptions::default(), |peer| {
        peer.say(&hello(2, 8));
        peer.say_all([entry(0, "a", "file", 4), entry(1, "b", "file", 4)].iter().map(String::as_str));
        assert!(peer.hear().contains("want") && peer.hear().contains("want"));
        let open = |length| {
            let mut stream = peer.link.open_uni().unwrap();
            stream.write_all(&record(b'F', 0, 0, b"1234", b"1234")[..length]).unwrap();
            stream
        };
        // Before the end of its header a record is nothing.
        (0..2_000).for_each(|number| drop(open(number % 12)));
        let begun = open(19);
        while contents(around.path()).len() == 1 {
            std::thread::yield_now();
        }
        drop(begun);
        let answer = peer.hear();
        (0..2_000).for_each(|number| drop(open(number % 20)));
        assert!(answer.contains("failed"), "{answer}");
        peer.stream(b'F', 1, 0, b"1234", b"1234");
        assert_eq!([peer.hear(), peer.hear()].concat(), "{\"say\":\"done\",\"id\":1}\n{\"say\":\"end\"}\n");
    });
    let summary = outcome.unwrap();
    assert_eq!((summary.files, summary.failed.len()), (1, 1));
    assert!(contents(around.path()).contains_key("inside/b"));
}

const SHORT: Duration = Duration::from_millis(50);

pub fn a_sender_that_stalls_is_closed() {
    // After its list, within a record, and between two records.
    for length in [0, 18, record(b'F', 0, 0, b"1234", b"1234").len()] {
        let (_around, inside) = nested();
        let options = ReceiveOptions { stall_timeout: SHORT, ..ReceiveOptions::default() };
        let outcome = sent_by(&inside, options, |peer| {
            peer.say_all([&*hello(2, 8), &entry(0, "a", "file", 4), &entry(1, "b", "file", 4)].into_iter());
            let mut stream = peer.link.open_uni().unwrap();
            assert!(peer.hear().contains("want") && peer.hear().contains("want"));
            stream.write_all(&record(b'F', 0, 0, b"1234", b"1234")[..length]).unwrap();
            while !peer.hear().is_empty() {}
        });
        let why = outcome.unwrap_err().to_string();
        assert!(why.contains("nothing has come from the peer for 0.05 s"), "{why}");
    }
}

pub fn a_sender_that_does_not_leave_is_closed_and_its_files_count() {
    let (_around, inside) = nested();
    let options = ReceiveOptions { stall_timeout: SHORT, ..ReceiveOptions::default() };
    let outcome = sent_by(&inside, options, |peer| {
        peer.say_all([&*hello(1, 4), &entry(0, "a", "file", 4)].into_iter());
        assert!(peer.hear().contains("want"));
        peer.stream(b'F', 0, 0, b"1234", b"1234");
        while !peer.hear().is_empty() {}
    });
    assert_eq!(outcome.unwrap().files, 1);
}

pub fn a_sender_that_does_not_end_a_refused_list_is_closed() {
    let (_around, inside) = nested();
    let options = ReceiveOptions { list_timeout: SHORT, ..ReceiveOptions::default() };
    let outcome = sent_by(&inside, options, |peer| {
        peer.say(&hello(1_000_001, 0));
        while !peer.hear().is_empty() {}
        while peer.link.open_uni().is_ok() {
            std::thread::yield_now();
        }
    });
    assert!(outcome.unwrap_err().to_string().contains("too many entries"));
}

pub fn a_receiver_that_stalls_is_left() {
    let from = tempfile::tempdir().unwrap();
    fs::write(from.path().join("a"), vec![0; 300_000]).unwrap();
    let sources = sources(from.path());
    // It answers nothing, or wants a file and does not read it.
    for answer in [None, Some(r#"{"say":"want","id":0,"part":null}"#)] {
        let (here, there) = MemoryLink::pair(None);
        let options = SendOptions { stall_timeout: SHORT, push: 0, ..SendOptions::default() };
        let mut peer = Peer::new(&there);
        peer.say_all(answer.into_iter());
        let why = send(&here, &sources, options, &()).unwrap_err().to_string();
        assert!(why.contains("nothing has come from the peer for 0.05 s"), "{why}");
    }
}
