//! Senders, receivers and pings over loopback, as processes of the command in a folder of their own.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The code of all commands of a test, unless they say otherwise.
pub const CODE: &str = "0123456789abcdefghjkmnpqrs";

/// A folder with an empty folder `inbox`, in which commands run.
pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("inbox")).unwrap();
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The length of a file's partial file in `inbox`; 0 if there is none.
    pub fn part(&self, name: &str) -> u64 {
        let mut inbox = fs::read_dir(self.path("inbox")).unwrap().flatten();
        let part = inbox.find(|entry| {
            let found = entry.file_name().into_string().unwrap();
            found.starts_with(&format!("{name}.")) && found.ends_with(".shallop-part")
        });
        part.map_or(0, |part| part.metadata().map_or(0, |of| of.len()))
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
        command.args(args).current_dir(self.0.path()).env("SHALLOP_CODE", CODE);
        command.env("XDG_DATA_HOME", self.path("data"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn start(&self, args: &[&str]) -> Process {
        Process(self.command(args).spawn().unwrap())
    }

    pub fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Sends a file or folder of this folder to an address.
    pub fn send(&self, what: &str, to: &str, more: &[&str]) -> Output {
        self.output(&[&["send", what, to, "--wait", "20ms"], more].concat())
    }

    /// Starts a receiver for one sender, with its files in `inbox`.
    pub fn receiver(&self, more: &[&str]) -> Listener {
        Listener::start(self.command(&[RECEIVE_ONCE, &["--bind", "127.0.0.1:0"], more].concat()))
    }

    /// Starts a command that listens at loopback.
    pub fn listen(&self, args: &[&str]) -> Listener {
        Listener::start(self.command(&[args, &["--bind", "127.0.0.1:0", "--json"]].concat()))
    }
}

/// The arguments of a receiver for one sender.
pub const RECEIVE_ONCE: &[&str] = &["receive", "inbox", "--once", "--json", "--wait", "20ms"];

pub struct Process(pub Child);

impl Process {
    /// Waits until the process ends, for `most`. Returns its exit code and its standard error.
    pub fn end(&mut self, most: Duration) -> (Option<i32>, String) {
        let begun = Instant::now();
        while self.0.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < most, "it has not ended after {most:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
        let said = self.0.stderr.take().map(std::io::read_to_string);
        let said = said.transpose().unwrap().unwrap_or_default();
        (self.0.wait().unwrap().code(), said)
    }

    pub fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends a signal, such as `STOP`.
    pub fn signal(&self, name: &str) {
        let mut kill = Command::new("kill");
        assert!(kill.args([&format!("-{name}"), &self.0.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that listens, with the rest of its standard output.
pub struct Listener {
    pub process: Process,
    pub lines: BufReader<ChildStdout>,
    pub address: String,
    pub code: Option<String>,
}

impl Listener {
    /// Starts a command and reads the line with its address.
    pub fn start(command: Command) -> Self {
        Self::try_start(command).unwrap_or_else(|why| panic!("it does not listen: {why}"))
    }

    /// Like [`Listener::start`]; `Err` has the standard error of a command that ended.
    pub fn try_start(mut command: Command) -> Result<Self, String> {
        let mut process = Process(command.spawn().unwrap());
        let mut lines = BufReader::new(process.0.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        if first.is_empty() {
            return Err(one_line(process.end(Duration::from_secs(10)).1.as_bytes()));
        }
        let told: Value = serde_json::from_str(&first).unwrap();
        let address = told["address"].as_str().unwrap().to_owned();
        Ok(Self { process, lines, address, code: told["code"].as_str().map(str::to_owned) })
    }

    pub fn port(&self) -> &str {
        self.address.rsplit_once(':').unwrap().1
    }

    /// The report of a receiver, which has ended with this exit code.
    pub fn report(mut self, code: i32) -> (Value, String) {
        let report = serde_json::from_reader(&mut self.lines).unwrap();
        let (found, said) = self.process.end(Duration::from_secs(20));
        assert_eq!(found, Some(code), "{said}");
        (report, said)
    }
}

/// The report of a sender, which has ended with exit code 0.
pub fn report(sent: &Output) -> Value {
    assert_eq!(sent.status.code(), Some(0), "{}", one_line(&sent.stderr));
    serde_json::from_slice(&sent.stdout).unwrap()
}

/// A message without the line breaks that fit it to the screen.
pub fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).into_owned();
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}
