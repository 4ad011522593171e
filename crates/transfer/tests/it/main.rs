//! Whole transfers: over a link in memory that can be broken at any byte, and over QUIC on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod breaks;
mod hostile;
mod memory_link;
mod peer;
mod progress;
mod session;
mod world;

use memory_link::MemoryLink;
use shallop_transfer::limits::Limits;
use shallop_transfer::protocol::{
    Progress, ReceiveOptions, SendOptions, SourcePaths, Summary, Token, TransferError, part_name, receive, send,
};
use std::{collections::BTreeMap, os::unix::fs::PermissionsExt, path::Path};

shallop_testing::tests! {
    tests: [
        breaks::a_transfer_broken_at_any_byte_is_resumed,
        breaks::a_small_transfer_is_broken_at_every_byte,
        breaks::either_side_may_be_killed,
        breaks::a_killed_process_leaves_no_half_file_under_its_final_name,
        breaks::any_tree_arrives,
        hostile::hashing_ends_when_the_peer_leaves,
        hostile::a_million_names_take_bounded_time,
        hostile::streams_that_are_reset_fail_one_file_each,
        hostile::random_messages_neither_panic_nor_write_outside_the_folder,
        progress::a_file_that_keeps_its_length_while_it_is_written_to_is_not_sent,
        progress::both_sides_report_the_same_progress,
        world::hostile_senders,
        world::hostile_receivers,
        world::plain,
        session::a_folder_arrives_on_credits_and_a_second_time_nothing_is_sent,
        session::a_connection_without_a_thread_is_refused_alone,
        session::a_connection_on_which_nothing_begins_is_closed,
        session::three_live_senders_of_one_host_all_finish,
    ]
    children: [breaks::transfers_until_killed]
}

type Outcome = Result<Summary, TransferError>;

/// A transfer of the contents of one folder into another folder.
#[derive(Clone, Copy)]
struct Run<'a> {
    from: &'a Path,
    to: &'a Path,
    streams: usize,
    overwrite: bool,
    hidden: bool,
    /// Transfers of up to this many bytes are sent unasked.
    push: u64,
    token: Token,
    /// The link breaks after this many bytes of both directions.
    budget: Option<u64>,
}

impl<'a> Run<'a> {
    fn new(from: &'a Path, to: &'a Path) -> Self {
        Self { from, to, streams: 4, overwrite: false, hidden: true, push: 0, token: token(7), budget: None }
    }

    /// Runs over an unbroken link, and asserts that every file has arrived.
    fn complete(from: &Path, to: &Path, receiving: &dyn Progress) -> (Summary, Summary) {
        let (sent, got) = Run::new(from, to).run(&(), receiving);
        let (sent, got) = (sent.unwrap(), got.unwrap());
        assert_eq!((&sent.failed, &got.failed), (&vec![], &vec![]));
        assert!(contents(from) == contents(to), "what arrived is not what was sent");
        (sent, got)
    }

    fn run(&self, sending: &dyn Progress, receiving: &dyn Progress) -> (Outcome, Outcome) {
        let (here, there) = MemoryLink::pair(self.budget);
        self.over(&here, &there, sending, receiving)
    }

    fn over(
        &self, here: &MemoryLink, there: &MemoryLink, sending: &dyn Progress, receiving: &dyn Progress,
    ) -> (Outcome, Outcome) {
        let sources = sources(self.from);
        std::thread::scope(|scope| {
            let options =
                ReceiveOptions { overwrite: self.overwrite, hidden: self.hidden, ..ReceiveOptions::default() };
            let receiver = scope.spawn(move || receive(there, self.to, options, &Limits::default(), receiving));
            let token = Some(self.token);
            let options = SendOptions { streams: self.streams, push: self.push, token, ..SendOptions::default() };
            let sent = send(here, &sources, options, sending);
            (sent, receiver.join().unwrap())
        })
    }
}

fn token(number: u64) -> Token {
    format!("{number:032x}").try_into().unwrap()
}

/// The name of a partial file that [`Run::new`] resumes.
fn part(name: &str) -> String {
    part_name(name, token(7))
}

fn sources(from: &Path) -> SourcePaths {
    let mut paths: Vec<_> = from.read_dir().unwrap().map(|child| child.unwrap().path()).collect();
    paths.sort();
    SourcePaths::collect(&paths).unwrap()
}

/// The entries of a folder by path: `None` for a folder, the bytes and the executable bit of a file.
fn contents(of: &Path) -> BTreeMap<String, Option<(Vec<u8>, bool)>> {
    let mut found = BTreeMap::new();
    let mut left = vec![of.to_owned()];
    while let Some(folder) = left.pop() {
        for child in folder.read_dir().unwrap() {
            let path = child.unwrap().path();
            let name = path.strip_prefix(of).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                left.push(path);
                found.insert(name, None);
            } else {
                let executable = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
                found.insert(name, Some((std::fs::read(path).unwrap(), executable)));
            }
        }
    }
    found
}

/// Pseudo-random numbers that are equal in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

const NAMES: [&str; 10] =
    ["a", "b c", "ü", "файл", "…", ".hidden", "back\\slash", "new\nline", "longer name with (brackets)", "--dash"];

/// Makes a tree of up to `files` files of up to `largest` bytes.
fn plant(place: &Path, numbers: &mut Numbers, files: u64, largest: u64) {
    for number in 0..files {
        let mut path = place.to_owned();
        for _ in 0..numbers.below(6) {
            path.push(NAMES[numbers.below(10) as usize]);
        }
        if numbers.below(8) == 0 {
            let _ = std::fs::create_dir_all(path.join("empty"));
            continue;
        }
        if std::fs::create_dir_all(&path).is_err() {
            continue;
        }
        let path = path.join(format!("{} {number}", NAMES[numbers.below(10) as usize]));
        let size = match numbers.below(6) {
            0 => 0,
            1 => numbers.below(100),
            2 | 3 => numbers.below(largest / 20),
            _ => numbers.below(largest),
        };
        std::fs::write(&path, numbers.bytes(size)).unwrap();
        if numbers.below(4) == 0 {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
}
