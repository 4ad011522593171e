//! Ctrl-C during a transfer: the other side is told at once, and the same command goes on later.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process that a failing test does not leave behind.
struct Process(Child);

impl Process {
    fn start(place: &Path, args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
        command.env("XDG_DATA_HOME", place.join("data")).current_dir(place).args(args);
        command.args(["--wait", "20ms", "--rate-limit", "20Mbps"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn interrupt(&self) {
        let mut kill = Command::new("kill");
        assert!(kill.args(["-INT", &self.0.id().to_string()]).status().unwrap().success());
    }

    /// How it ends, which takes 10 s at most, and what it has said on standard error.
    fn end(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "it goes on");
            std::thread::sleep(Duration::from_millis(20));
        };
        let said = std::io::read_to_string(self.0.stderr.take().unwrap()).unwrap();
        (status, said)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wait_for(what: impl Fn() -> bool) {
    let begun = Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn ctrl_c_ends_both_sides_at_once_and_the_transfer_goes_on_later() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    fs::create_dir(place.join("inbox")).unwrap();
    let bytes: Vec<u8> = (0..12_000_000_u32).map(|at| (at.wrapping_mul(at) >> 9) as u8).collect();
    fs::write(place.join("file"), &bytes).unwrap();
    let there = || fs::metadata(place.join("inbox/file.shallop-part")).map_or(0, |of| of.len());

    let receive = ["receive", "inbox", "--json", "--bind", "127.0.0.1:0"];
    let mut receiver = Process::start(place, &receive);
    let mut lines = BufReader::new(receiver.0.stdout.take().unwrap()).lines();
    let told: serde_json::Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let address = told["address"].as_str().unwrap().to_owned();
    let send = ["send", "file", &address, "--trust-new"];

    let sender = Process::start(place, &send);
    wait_for(|| there() > 1_000_000);
    sender.interrupt();
    let (status, said) = sender.end();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("goes on from there"), "{said}");

    let before = there();
    let sender = Process::start(place, &send);
    wait_for(|| there() > before + 1_000_000);
    receiver.interrupt();
    let (status, said) = receiver.end();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("interrupted"), "of the first sender: {said}");
    let (status, said) = sender.end();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("closed"), "{said}");

    let again = Process::start(place, &["receive", "inbox", "--once", "--bind", &address]);
    let sender = Process::start(place, &send);
    let (status, said) = sender.end();
    assert!(status.success(), "{said}");
    assert!(again.end().0.success());
    assert_eq!(fs::read(place.join("inbox/file")).unwrap(), bytes);
}
