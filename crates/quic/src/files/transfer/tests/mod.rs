//! Whole transfers.

mod breaks;
mod hostile;
mod memory;
mod plain;

use crate::files::transfer::{
    Progress, ReceiveOptions, SendOptions, Sources, Summary, TransferError, receive, send,
};
use memory::Memory;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

type Outcome = Result<Summary, TransferError>;

/// A transfer from one folder's contents to another folder.
struct Run<'a> {
    from: &'a Path,
    to: &'a Path,
    streams: usize,
    overwrite: bool,
    budget: Option<u64>,
}

impl Run<'_> {
    fn run(&self, sending: &dyn Progress, receiving: &dyn Progress) -> (Outcome, Outcome) {
        let (here, there) = Memory::pair(self.budget);
        self.over(&here, &there, sending, receiving)
    }

    fn over(
        &self,
        here: &Memory,
        there: &Memory,
        sending: &dyn Progress,
        receiving: &dyn Progress,
    ) -> (Outcome, Outcome) {
        let sources = sources(self.from);
        std::thread::scope(|scope| {
            let options = ReceiveOptions { overwrite: self.overwrite, hidden: true };
            let receiver = scope.spawn(move || receive(there, self.to, options, receiving));
            let sent = send(here, &sources, SendOptions { streams: self.streams }, sending);
            (sent, receiver.join().unwrap())
        })
    }
}

/// All that is in a folder, to send.
fn sources(from: &Path) -> Sources {
    let mut paths: Vec<_> = from.read_dir().unwrap().map(|child| child.unwrap().path()).collect();
    paths.sort();
    Sources::collect(&paths).unwrap()
}

/// What a folder holds: of files the bytes and whether they may be run.
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

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Names of every kind.
const NAMES: [&str; 10] = [
    "a",
    "b c",
    "ü",
    "файл",
    "…",
    ".hidden",
    "back\\slash",
    "new\nline",
    "longer name with (brackets)",
    "--dash",
];

/// Makes a tree of so many files.
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
