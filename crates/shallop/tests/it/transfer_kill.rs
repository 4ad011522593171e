//! Senders and receivers that are killed at random moments, and started again: files arrive whole, once, and nothing
//! else stays. `SHALLOP_KILLS` says how often; 4 unless it is set.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Kills in one transfer.
const IN_ONE: u64 = 4;
/// The longest that a side may take to see that the other is gone.
const NOTICED: Duration = Duration::from_secs(20);

/// The folders and the port of a test.
struct Place {
    folder: tempfile::TempDir,
    port: u16,
}

impl Place {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
        command.args(args).args(["--rate-limit", "200Mbps", "--wait", "20ms", "--json"]);
        command.env("XDG_DATA_HOME", self.path("data")).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn receiver(&self, inbox: &Path) -> Process {
        let bind = format!("127.0.0.1:{}", self.port);
        let mut command = self.command(&["receive", inbox.to_str().unwrap(), "--bind", &bind]);
        // What it prints of each transfer is not read.
        Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn sender(&self) -> Process {
        let to = format!("127.0.0.1:{}", self.port);
        let source = self.path("source");
        Process(
            self.command(&["send", source.to_str().unwrap(), &to, "--trust-new"]).spawn().unwrap(),
        )
    }
}

/// A process that does not outlive the test.
struct Process(Child);

impl Process {
    /// `kill -9`.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }

    fn wait(&mut self, most: Duration) -> ExitStatus {
        let begun = Instant::now();
        while begun.elapsed() < most {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it has not ended after {most:?}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Numbers that nobody can foresee.
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

/// All files below a folder.
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

/// Moves the files, while a side is killed so often. How many kills hit a transfer, and the last sender's report.
fn transfer(place: &Place, inbox: &Path, kills: u64) -> (u64, Value) {
    let (mut receiver, mut sender) = (place.receiver(inbox), place.sender());
    let mut hits = 0;
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(100 + random(700)));
        hits += u64::from(!sender.has_ended());
        if random(2) == 0 {
            sender.kill();
        } else {
            receiver.kill();
            receiver = place.receiver(inbox);
            // The new receiver tells the sender that it knows nothing of it.
            sender.wait(NOTICED);
        }
        sender = place.sender();
    }
    let status = sender.wait(Duration::from_secs(60));
    let mut said = Vec::new();
    std::io::Read::read_to_end(&mut sender.0.stderr.take().unwrap(), &mut said).unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&said));
    (hits, serde_json::from_reader(sender.0.stdout.take().unwrap()).unwrap())
}

#[test]
fn whoever_is_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let place = Place { folder, port };
    write_source(&place.path("source"));
    let wanted = files(&place.path("source"));
    let total: usize = wanted.values().map(Vec::len).sum();
    let kills = std::env::var("SHALLOP_KILLS").map_or(IN_ONE, |text| text.parse().unwrap());
    let mut hits = 0;
    for number in 0..kills.div_ceil(IN_ONE) {
        let inbox = place.path(&format!("inbox{number}"));
        fs::create_dir(&inbox).unwrap();
        let (hit, report) = transfer(&place, &inbox, IN_ONE.min(kills - number * IN_ONE));
        hits += hit;
        // Nothing is lost, nothing is doubled, and no start of a file stays.
        let found = files(&inbox.join("source"));
        assert_eq!(found.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
        assert!(found == wanted, "a file differs");
        assert_eq!(fs::read_dir(&inbox).unwrap().count(), 1);
        let summary = &report["transfer"];
        let count = |key: &str| summary[key].as_u64().unwrap();
        assert_eq!(count("files") + count("skipped"), wanted.len() as u64, "{summary}");
        if hit > 0 {
            // What had arrived did not go again.
            assert!(count("bytes") < total as u64, "{summary}");
        }
        fs::remove_dir_all(&inbox).unwrap();
    }
    assert!(hits > 0, "no kill hit a transfer");
}
