//! Senders and receivers of files, as processes of the command over loopback.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// The command, whose files of data are in this folder.
pub fn shallop(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
    command.env("XDG_DATA_HOME", data).stdin(Stdio::null());
    command
}

/// A receiver at this address, its output after the first line, and that line: where it listens, and its fingerprint.
pub fn receiver_at(
    address: &str,
    data: &Path,
    folder: &Path,
    more: &[&str],
) -> (Child, BufReader<std::process::ChildStdout>, Value) {
    let mut command = shallop(data);
    command.arg("receive").arg(folder).args(more);
    command.args(["--bind", address, "--once", "--json", "--wait", "20ms"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    (child, lines, serde_json::from_str(&first).unwrap())
}

pub fn send(data: &Path, what: &Path, to: &str, more: &[&str]) -> Output {
    let mut command = shallop(data);
    command.arg("send").arg(what).arg(to).args(["--wait", "20ms"]).args(more);
    command.output().unwrap()
}

/// A message without the line breaks that fit it to the screen.
pub fn one_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).into_owned();
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}
