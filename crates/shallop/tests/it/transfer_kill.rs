//! Senders and receivers that are killed at random moments, and started again: files arrive whole, once, and nothing
//! else stays. `SHALLOP_KILLS` is the number of kills; default: 4.

use crate::support::transfer::{Place, Process};
use serde_json::Value;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::{collections::BTreeMap, fs};
use std::{process::Stdio, time::Duration};

const IN_ONE: u64 = 4;
/// The longest that a side may take to notice that the other is gone.
const NOTICED: Duration = Duration::from_secs(20);
const NETWORK: &[&str] = &["--rate-limit", "200Mbps", "--wait", "20ms", "--json"];

/// Both ends of the transfers, at a fixed address.
struct Ends {
    place: Place,
    address: String,
}

impl Ends {
    fn receiver(&self, inbox: &str) -> Process {
        let args = [&["receive", inbox, "--bind", &self.address], NETWORK].concat();
        let mut command = self.place.command(&args);
        // Unread output would fill its pipe.
        Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn sender(&self) -> Process {
        self.place.start(&[&["send", "source", &self.address], NETWORK].concat())
    }
}

fn kill(process: &mut Process) {
    process.0.kill().unwrap();
    process.0.wait().unwrap();
}

fn random(below: u64) -> u64 {
    RandomState::new().build_hasher().finish() % below
}

/// 50 MB: a file of 30 MB, ten of 2 MB, and some small ones.
fn write_source(folder: &Path) {
    let bytes = |seed: u64, count: usize| -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            state.to_be_bytes()
        };
        (0..count.div_ceil(8)).flat_map(|_| next()).take(count).collect()
    };
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::write(folder.join("large"), bytes(1, 30_000_000)).unwrap();
    for number in 0..10 {
        fs::write(folder.join(format!("deep/{number}")), bytes(2 + number, 2_000_000)).unwrap();
    }
    for number in 0..20 {
        fs::write(folder.join(format!("small{number}")), bytes(99, number as usize * 100)).unwrap();
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                all.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    all
}

/// Moves the files to `inbox` while a side is killed this often. Returns the kills during a transfer, and the report of
/// the last sender.
fn transfer(ends: &Ends, inbox: &str, kills: u64) -> (u64, Value) {
    let (mut receiver, mut sender) = (ends.receiver(inbox), ends.sender());
    let mut hits = 0;
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(100 + random(700)));
        hits += u64::from(sender.0.try_wait().unwrap().is_none());
        if random(2) == 0 {
            kill(&mut sender);
        } else {
            kill(&mut receiver);
            receiver = ends.receiver(inbox);
            // The new receiver tells the sender that it does not know the connection.
            sender.end(NOTICED);
        }
        sender = ends.sender();
    }
    let (code, said) = sender.end(Duration::from_secs(60));
    let report = std::io::read_to_string(sender.0.stdout.take().unwrap()).unwrap();
    assert_eq!(code, Some(0), "{said}{report}");
    (hits, serde_json::from_str(&report).unwrap())
}

#[test]
fn a_transfer_resumes_whichever_side_is_killed() {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let ends = Ends { place: Place::new(), address: format!("127.0.0.1:{port}") };
    write_source(&ends.place.path("source"));
    let wanted = files(&ends.place.path("source"));
    let total: usize = wanted.values().map(Vec::len).sum();
    let kills = std::env::var("SHALLOP_KILLS").map_or(IN_ONE, |text| text.parse().unwrap());
    let mut hits = 0;
    for number in 0..kills.div_ceil(IN_ONE) {
        let name = format!("inbox{number}");
        let inbox = ends.place.path(&name);
        fs::create_dir(&inbox).unwrap();
        let (hit, report) = transfer(&ends, &name, IN_ONE.min(kills - number * IN_ONE));
        hits += hit;
        // Nothing is lost or doubled, and no partial file stays.
        let found = files(&inbox.join("source"));
        assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
        assert!(found == wanted, "a file differs");
        assert_eq!(fs::read_dir(&inbox).unwrap().count(), 1);
        let summary = &report["transfer"];
        let count = |key: &str| summary[key].as_u64().unwrap();
        assert_eq!(count("files") + count("skipped"), wanted.len() as u64, "{summary}");
        if hit > 0 {
            assert!(count("bytes") < total as u64, "what had arrived is not sent again: {summary}");
        }
        fs::remove_dir_all(&inbox).unwrap();
    }
    assert!(hits > 0, "no kill hit a transfer");
}
