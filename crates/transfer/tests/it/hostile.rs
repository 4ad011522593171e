//! Peers that violate the protocol.

pub mod bounds;

use super::{Outcome, Run, contents, part, sources};
use crate::memory_link::MemoryLink;
use proptest::prelude::{ProptestConfig, prop, proptest};
use shallop_transfer::limits::Limits;
use shallop_transfer::protocol::{Link, Outgoing, ReceiveOptions, SendOptions, TransferError, receive, send};
use std::io::{BufRead, BufReader, Read, Write};
use std::{path::Path, time::Duration};

/// A peer whose messages and streams are written by hand.
struct Peer<'a> {
    link: &'a MemoryLink,
    control: Box<dyn Outgoing>,
    heard: Option<BufReader<Box<dyn Read + Send>>>,
}

impl Peer<'_> {
    fn new(link: &MemoryLink) -> Peer<'_> {
        Peer { link, control: link.open_uni().unwrap(), heard: None }
    }

    fn say(&mut self, text: &str) {
        let _ = self.control.write_all(text.as_bytes()).and_then(|()| self.control.write_all(b"\n"));
    }

    fn say_all<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        for line in lines {
            self.say(line);
        }
    }

    /// The next line of the other side; empty at the end.
    fn hear(&mut self) -> String {
        let mut line = String::new();
        if self.heard.is_none() {
            self.heard = self.link.accept_uni().ok().flatten().map(BufReader::new);
        }
        let _ = self.heard.as_mut().map(|heard| heard.read_line(&mut line));
        line
    }

    /// Sends a record that says that `summed` was sent.
    fn stream(&self, mark: u8, id: u32, offset: u64, bytes: &[u8], summed: &[u8]) {
        // The other side may have left.
        let Ok(mut stream) = self.link.open_uni() else { return };
        let _ = stream.write_all(&record(mark, id, offset, bytes, summed));
        let _ = stream.finish();
    }
}

fn record(mark: u8, id: u32, offset: u64, bytes: &[u8], summed: &[u8]) -> Vec<u8> {
    let header = [&[mark][..], &id.to_le_bytes(), &offset.to_le_bytes()].concat();
    let chunk = if bytes.is_empty() { vec![] } else { (bytes.len() as u32).to_le_bytes().to_vec() };
    [&header, &chunk[..], bytes, &[0; 4], blake3::hash(summed).as_bytes()].concat()
}

fn sent_by(to: &Path, options: ReceiveOptions, peer: impl FnOnce(&mut Peer)) -> Outcome {
    let (here, there) = MemoryLink::pair(None);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&there, to, options, &Limits::default(), &()));
        peer(&mut Peer::new(&here));
        here.close("through");
        receiver.join().unwrap()
    })
}

fn hello(entries: usize, bytes: u64) -> String {
    hello_of(7, entries, bytes)
}

fn hello_of(number: u64, entries: usize, bytes: u64) -> String {
    let start = r#"{"say":"hello","protocol":"shallop-files-3","token":"#;
    format!(r#"{start}"{number:032x}","entries":{entries},"bytes":{bytes},"pushed":false}}"#)
}

fn entry(id: usize, path: &str, kind: &str, size: u64) -> String {
    let path = serde_json::to_string(path).unwrap();
    format!(r#"{{"say":"entry","id":{id},"path":{path},"kind":"{kind}","size":{size},"mode":420}}"#)
}

fn sum(bytes: &[u8]) -> String {
    format!(r#"{{"say":"sum","id":0,"sum":"{}"}}"#, blake3::hash(bytes).to_hex())
}

/// A folder in a parent folder, in which files that were written outside show.
fn nested() -> (tempfile::TempDir, std::path::PathBuf) {
    let around = tempfile::tempdir().unwrap();
    let inside = around.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    (around, inside)
}

fn refused(lines: &[String]) -> TransferError {
    let (around, inside) = nested();
    let mut answer = String::new();
    let options = ReceiveOptions { overwrite: true, hidden: true, ..ReceiveOptions::default() };
    let outcome = sent_by(&inside, options, |peer| {
        peer.say_all(lines.iter().map(String::as_str));
        answer = peer.hear();
    });
    assert_eq!(contents(around.path()).len(), 1, "something was written: {lines:?}");
    assert!(answer.starts_with(r#"{"say":"refuse","reason":""#), "{answer:?} to {lines:?}");
    outcome.unwrap_err()
}

/// Checks that what `refused.txt` has of this kind, and these lists, are refused with an error of this kind.
fn all_refused(kind: &str, more: &[Vec<String>], is_right: fn(&TransferError) -> bool) {
    let paragraphs = include_str!("hostile/refused.txt").split("\n\n").map(str::lines);
    let lists = paragraphs.filter_map(|mut lines| (lines.next()? == kind).then(|| lines.map(str::to_owned).collect()));
    let lists: Vec<Vec<String>> = lists.chain(more.iter().cloned()).collect();
    assert!(lists.len() >= 10, "{}", lists.len());
    for lines in lists {
        let why = refused(&lines);
        assert!(is_right(&why), "{why}: {lines:?}");
    }
}

pub fn lists_that_break_a_rule_are_refused() {
    let long = ["a".repeat(256), "a/".repeat(3000)];
    let long = long.map(|path| vec![hello(1, 1), entry(0, &path, "file", 1)]);
    all_refused("manifest", &long, |why| matches!(why, TransferError::Manifest(_)));
}

pub fn a_hidden_file_that_was_refused_is_not_written() {
    let (around, inside) = nested();
    let mut answers = Vec::new();
    let options = ReceiveOptions { overwrite: true, ..ReceiveOptions::default() };
    let outcome = sent_by(&inside, options, |peer| {
        peer.say(&hello(2, 4));
        peer.say(&entry(0, ".ssh", "folder", 0));
        peer.say(&entry(1, ".ssh/authorized_keys", "file", 4));
        answers.extend([peer.hear(), peer.hear()]);
        assert_eq!(peer.hear(), "{\"say\":\"end\"}\n");
        peer.stream(b'F', 1, 0, b"1234", b"1234");
    });
    for answer in answers {
        assert!(answer.contains("failed") && answer.contains("--hidden"), "{answer}");
    }
    assert_eq!(contents(around.path()).len(), 1, "something was written");
    assert_eq!(outcome.unwrap().failed.len(), 2);
}

pub fn a_sender_whose_list_does_not_end_is_closed() {
    let (around, inside) = nested();
    let options = ReceiveOptions { list_timeout: Duration::from_millis(50), ..ReceiveOptions::default() };
    let outcome = sent_by(&inside, options, |peer| {
        peer.say_all([hello(2, 2).as_str(), entry(0, "a", "file", 1).as_str()].into_iter());
        assert_eq!(peer.hear(), "", "the link is closed");
    });
    let why = outcome.unwrap_err().to_string();
    assert!(why.contains("its list of files takes too long"), "{why}");
    assert_eq!(contents(around.path()).len(), 1, "something was written");
}

pub fn malformed_messages_are_refused() {
    let long = [vec!["[".repeat(20_000)], vec!["x".repeat(100_000)]];
    all_refused("protocol", &long, |why| matches!(why, TransferError::Protocol(_)));
}

/// Offers one file of four bytes; returns the outcome and the files of the folder.
fn one_file(options: ReceiveOptions, there: &[(&str, &str)], peer: impl FnOnce(&mut Peer)) -> (Outcome, Vec<String>) {
    let (around, inside) = nested();
    for (name, text) in there {
        std::fs::write(inside.join(name), text).unwrap();
    }
    let outcome = sent_by(&inside, options, |other| {
        other.say(&hello(1, 4));
        other.say(&entry(0, "a", "file", 4));
        other.hear();
        peer(other);
    });
    let mut found: Vec<_> = contents(around.path())
        .into_iter()
        .filter_map(|(path, it)| Some(format!("{path}={}", String::from_utf8(it?.0).ok()?)))
        .collect();
    found.sort();
    (outcome, found)
}

pub fn a_file_of_other_length_or_hash_gets_no_name() {
    for (bytes, left) in [(&b"12345"[..], ""), (b"123", "123")] {
        let (outcome, found) = one_file(ReceiveOptions::default(), &[], |peer| {
            peer.stream(b'F', 0, 0, bytes, b"1234");
            assert_eq!(peer.hear(), "");
        });
        assert!(matches!(outcome, Err(TransferError::Protocol(_))), "{outcome:?}");
        assert_eq!(found, [format!("inside/{}={left}", part("a"))]);
    }
    let mut answer = String::new();
    let (outcome, found) = one_file(ReceiveOptions::default(), &[], |peer| {
        peer.stream(b'F', 0, 0, b"1234", b"123x");
        answer = peer.hear();
        assert_eq!(peer.hear(), "{\"say\":\"end\"}\n");
    });
    assert!(answer.contains("failed") && answer.contains("not what was sent"), "{answer}");
    assert_eq!((outcome.unwrap().failed.len(), found.len()), (1, 0), "{found:?}");
}

pub fn a_file_that_another_transfer_has_put_in_place_meanwhile_is_compared() {
    for (text, said) in [("1234", "done"), ("4321", "failed")] {
        let to = tempfile::tempdir().unwrap();
        let outcome = sent_by(to.path(), ReceiveOptions::default(), |peer| {
            peer.say_all([&*hello(1, 4), &entry(0, "a", "file", 4)].into_iter());
            assert!(peer.hear().contains("want"));
            std::fs::write(to.path().join("a"), text).unwrap();
            peer.stream(b'F', 0, 0, b"1234", b"1234");
            let answer = peer.hear();
            assert!(answer.contains(said), "{text}: {answer}");
        });
        assert_eq!(outcome.unwrap().failed.len(), usize::from(said == "failed"));
        assert_eq!(contents(to.path()).len(), 1, "no partial file stays");
    }
}

/// Sends a list of one file of four bytes, and returns the lines of the receiver after it and after `said`.
fn answers(to: &Path, hello: &str, options: ReceiveOptions, said: Option<&str>) -> Vec<String> {
    let mut heard = Vec::new();
    let _ = sent_by(to, options, |peer| {
        peer.say_all([hello, &entry(0, "a", "file", 4)].into_iter());
        heard.push(peer.hear());
        if let Some(said) = said {
            peer.say(said);
            heard.push(peer.hear());
        }
    });
    heard
}

pub fn digests_of_the_receivers_files_are_not_told() {
    let to = tempfile::tempdir().unwrap();
    let ask = "{\"say\":\"ask\",\"id\":0}\n";
    // The answers do not depend on what the file has, nor on its length, until the sender knows the file.
    for text in ["1234", "4321", "12345"] {
        std::fs::write(to.path().join("a"), text).unwrap();
        let heard = answers(to.path(), &hello(1, 4), ReceiveOptions::default(), Some(&sum(b"123x")));
        assert_eq!(heard[0], ask);
        assert!(heard[1].starts_with(r#"{"say":"failed","id":0,"reason":"a file of that name"#), "{heard:?}");
        let overwrite = ReceiveOptions { overwrite: true, ..ReceiveOptions::default() };
        let heard = answers(to.path(), &hello(1, 4), overwrite, None);
        assert!(heard[0] == ask || text.len() > 4 && heard[0].contains("\"part\":null"), "{heard:?}");
        let heard = answers(to.path(), &hello(1, 4), ReceiveOptions::default(), Some(&sum(text.as_bytes())));
        assert_eq!(heard[1].contains("same"), text.len() == 4, "{heard:?}");
        assert_eq!(contents(to.path()).len(), 1);
    }
}

pub fn a_partial_file_belongs_to_the_sender_that_began_it() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(from.path().join("a"), "0123456789").unwrap();
    std::fs::write(to.path().join(part("a")), "01234").unwrap();
    // Another sender neither hears of the part, nor changes or locks it.
    let want = "{\"say\":\"want\",\"id\":0,\"part\":null}\n";
    let _ = sent_by(to.path(), ReceiveOptions::default(), |peer| {
        peer.say_all([hello_of(8, 1, 10).as_str(), &entry(0, "a", "file", 10)].into_iter());
        assert_eq!(peer.hear(), want);
        let mut stream = peer.link.open_uni().unwrap();
        stream.write_all(&record(b'F', 0, 0, b"x", b"")[..18]).unwrap();
        let there = || contents(to.path()).into_values().filter_map(|it| Some(it?.0)).collect::<Vec<_>>();
        while !there().contains(&b"x".to_vec()) {
            std::thread::yield_now();
        }
        assert!(there().contains(&b"01234".to_vec()));
        // Its owner goes on meanwhile.
        let (sent, got) = Run::new(from.path(), to.path()).run(&(), &());
        let (sent, _) = (sent.unwrap(), got.unwrap());
        assert_eq!((sent.files, sent.resumed_bytes, sent.bytes), (1, 5, 5));
    });
    let mut lengths: Vec<_> = contents(to.path()).values().map(|it| it.as_ref().unwrap().0.len()).collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [1, 10]);
}

/// The files in the folder, and the header of a stream: mark, entry and offset.
type Forbidden<'a> = (&'a [(&'a str, &'a str)], u8, u32, u64);

pub fn a_forbidden_stream_ends_the_session() {
    let no = ReceiveOptions::default();
    let name = part("a");
    let streams: [Forbidden<'_>; 7] = [
        (&[], b'F', 1, 0),
        (&[], b'F', u32::MAX, 0),
        (&[], b'X', 0, 0),
        (&[], b'F', 0, 1),
        (&[], b'F', 0, u64::MAX),
        (&[(&name, "12")], b'F', 0, 3),
        (&[("a", "kept")], b'F', 0, 0),
    ];
    for (there, mark, id, offset) in streams {
        let (outcome, found) = one_file(no, there, |peer| {
            peer.stream(mark, id, offset, b"1234", b"1234");
            assert_eq!(peer.hear(), "");
        });
        assert!(matches!(outcome, Err(TransferError::Protocol(_))), "{outcome:?}: {id} {offset}");
        let before: Vec<_> = there.iter().map(|(name, text)| format!("inside/{name}={text}")).collect();
        assert_eq!(found, before);
    }
    let (outcome, _) = one_file(no, &[], |peer| {
        let mut streams = Vec::new();
        for _ in 0..2 {
            // The file is not complete, so its record does not end.
            let mut stream = peer.link.open_uni().unwrap();
            let _ = stream.write_all(&record(b'F', 0, 0, b"12", b"")[..19]);
            streams.push(stream);
        }
        assert_eq!(peer.hear(), "");
    });
    assert!(matches!(outcome, Err(TransferError::Protocol(_))), "{outcome:?}");
}

pub fn a_message_out_of_order_ends_the_session() {
    let hello = hello(0, 0);
    let words: [&[&str]; 8] = [
        &[r#"{"say":"same","id":0}"#],
        &[&sum(b"1234")],
        &[r#"{"say":"sum","id":9,"sum":"0000"}"#],
        &[r#"{"say":"abandon","id":9,"reason":""}"#],
        &[r#"{"say":"end"}"#],
        &[r#"{"say":"done","id":0}"#],
        &[&hello],
        &["nonsense"],
    ];
    for words in words {
        let (outcome, found) = one_file(ReceiveOptions::default(), &[], |peer| {
            peer.say_all(words.iter().copied());
            assert_eq!(peer.hear(), "");
        });
        assert!(matches!(outcome, Err(TransferError::Protocol(_))), "{outcome:?}: {words:?}");
        assert_eq!(found, [""; 0]);
    }
}

pub fn a_file_that_is_abandoned_and_then_sent_is_not_written() {
    let (outcome, found) = one_file(ReceiveOptions::default(), &[], |peer| {
        peer.say(r#"{"say":"abandon","id":0,"reason":"no\u001b[2J"}"#);
        assert!(peer.hear().contains("cannot send it: no [2J"));
        assert_eq!(peer.hear(), "{\"say\":\"end\"}\n");
        peer.stream(b'F', 0, 0, b"1234", b"1234");
    });
    assert_eq!(outcome.unwrap().failed.len(), 1);
    assert_eq!(found, [""; 0]);
}

/// Sends a folder and a file of four bytes to a peer with these answers.
fn received_by(answers: &[&str]) -> Outcome {
    let from = tempfile::tempdir().unwrap();
    std::fs::create_dir(from.path().join("d")).unwrap();
    std::fs::write(from.path().join("d/a"), "1234").unwrap();
    let sources = sources(from.path());
    let (here, there) = MemoryLink::pair(None);
    let options = SendOptions { push: 0, ..SendOptions::default() };
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| send(&here, &sources, options, &()));
        let mut peer = Peer::new(&there);
        peer.say_all(answers.iter().copied());
        // Until the sender closes.
        let mut streams = Vec::new();
        while let Ok(Some(stream)) = peer.link.accept_uni() {
            streams.push(stream);
        }
        sender.join().unwrap()
    })
}

pub fn a_sender_ends_the_session_with_an_inconsistent_receiver() {
    let sum = blake3::hash(b"").to_hex();
    let long = format!(r#"{{"say":"want","id":1,"part":{{"len":5,"sum":"{sum}"}}}}"#);
    let want = r#"{"say":"want","id":1,"part":null}"#;
    let ask = r#"{"say":"ask","id":1}"#;
    let answers: [&[&str]; 12] = [
        &[&long],
        &[want, want],
        &[want, ask],
        &[ask, ask],
        &[&ask.replace(":1}", ":0}")],
        &[&want.replace(":1,", ":0,")],
        &[&want.replace(":1,", ":2,")],
        &[r#"{"say":"same","id":1}"#],
        &[r#"{"say":"done","id":1}"#],
        &[r#"{"say":"done","id":0}"#, r#"{"say":"done","id":0}"#],
        &[r#"{"say":"failed","id":2,"reason":""}"#],
        &[r#"{"say":"end"}"#],
    ];
    for answers in answers {
        let outcome = received_by(answers);
        assert!(matches!(outcome, Err(TransferError::Protocol(_))), "{outcome:?}: {answers:?}");
    }
    let outcome = received_by(&[r#"{"say":"refuse","reason":"no\u0007"}"#]);
    assert!(matches!(outcome, Err(TransferError::Refused(why)) if why == "no "));
}

pub fn a_receiver_without_its_folder_refuses() {
    let place = tempfile::tempdir().unwrap();
    let mut answer = String::new();
    let outcome = sent_by(&place.path().join("none"), ReceiveOptions::default(), |peer| {
        peer.say(&hello(0, 0));
        answer = peer.hear();
    });
    assert!(matches!(outcome, Err(TransferError::Local { .. })));
    assert!(answer.contains("refuse") && !answer.contains("none"), "{answer}");
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
