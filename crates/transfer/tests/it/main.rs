//! Whole transfers: over a link in memory that can be broken at any byte, and over QUIC on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod breaks;
mod hostile;
mod memory_link;
mod plain;
mod session;

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
        hostile::lists_that_break_a_rule_are_refused,
        hostile::a_hidden_file_that_was_refused_is_not_written,
        hostile::a_sender_whose_list_does_not_end_is_closed,
        hostile::bounds::a_transfer_without_a_thread_ends_without_panic,
        hostile::bounds::hashing_ends_when_the_peer_leaves,
        hostile::bounds::a_million_names_take_bounded_time,
        hostile::bounds::streams_that_are_reset_fail_one_file_each,
        hostile::bounds::a_sender_that_stalls_is_closed,
        hostile::bounds::a_sender_that_does_not_leave_is_closed_and_its_files_count,
        hostile::bounds::a_sender_that_does_not_end_a_refused_list_is_closed,
        hostile::bounds::a_receiver_that_stalls_is_left,
        hostile::malformed_messages_are_refused,
        hostile::a_file_of_other_length_or_hash_gets_no_name,
        hostile::a_file_that_another_transfer_has_put_in_place_meanwhile_is_compared,
        hostile::a_forbidden_stream_ends_the_session,
        hostile::digests_of_the_receivers_files_are_not_told,
        hostile::a_partial_file_belongs_to_the_sender_that_began_it,
        hostile::a_message_out_of_order_ends_the_session,
        hostile::a_file_that_is_abandoned_and_then_sent_is_not_written,
        hostile::a_sender_ends_the_session_with_an_inconsistent_receiver,
        hostile::a_receiver_without_its_folder_refuses,
        hostile::random_messages_neither_panic_nor_write_outside_the_folder,
        plain::a_second_transfer_skips_files_that_have_arrived,
        plain::a_different_file_is_kept_unless_overwriting_is_allowed,
        plain::hidden_files_and_folders_are_refused_unless_allowed,
        plain::symbolic_links_in_the_receivers_folder_are_not_followed,
        plain::a_partial_file_of_other_content_is_replaced,
        plain::more_partial_files_than_are_kept_open_are_completed,
        plain::a_file_that_changes_during_the_transfer_is_not_sent,
        plain::a_file_that_keeps_its_length_while_it_is_written_to_is_not_sent,
        plain::a_small_transfer_arrives_unasked,
        plain::a_file_of_proc_is_not_sent_as_an_empty_one,
        plain::a_partial_file_locked_by_another_transfer_is_left_alone,
        plain::both_sides_report_the_same_progress,
        plain::a_transfer_of_nothing_succeeds,
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
