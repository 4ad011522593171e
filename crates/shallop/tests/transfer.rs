//! Files between two processes of the command, over loopback.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn shallop(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
    command.env("XDG_DATA_HOME", data).stdin(Stdio::null());
    command
}

/// A receiver, where it listens, and its fingerprint.
fn receiver(
    data: &Path,
    folder: &Path,
    more: &[&str],
) -> (Child, BufReader<std::process::ChildStdout>, Value) {
    let mut command = shallop(data);
    command.arg("receive").arg(folder).args(more);
    command.args(["--bind", "127.0.0.1:0", "--once", "--json", "--wait", "20ms"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    lines.read_line(&mut first).unwrap();
    (child, lines, serde_json::from_str(&first).unwrap())
}

fn send(data: &Path, what: &Path, to: &str, more: &[&str]) -> Output {
    let mut command = shallop(data);
    command.arg("send").arg(what).arg(to).args(["--wait", "20ms"]).args(more);
    command.output().unwrap()
}

#[test]
fn files_arrive_at_a_receiver_that_is_known_and_at_no_other() {
    let place = tempfile::tempdir().unwrap();
    let [data, source, inbox] = ["data", "source", "inbox"].map(|name| place.path().join(name));
    for folder in [&source, &inbox] {
        fs::create_dir(folder).unwrap();
    }
    let bytes: Vec<u8> = (0..700_000_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8).collect();
    fs::write(source.join("file"), &bytes).unwrap();
    let (mut child, lines, told) = receiver(&data, &inbox, &[]);
    let address = told["address"].as_str().unwrap().to_owned();

    let unknown = send(&data, &source, &address, &[]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("is not known"));

    let other = "00000000-00000000-00000000-00000000-00000000-00000000-00000000-00000000";
    let wrong = send(&data, &source, &address, &["--fingerprint", other]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("somebody else answers"));
    assert!(!inbox.join("source").exists());

    let sent = send(&data, &source, &address, &["--trust-new", "--json"]);
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    let report: Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(report["on_credits"], true);
    assert_eq!(report["transfer"]["bytes"], 700_000);
    assert!(report["credits"]["data_packets"].as_u64() <= report["credits"]["used"].as_u64());
    assert!(child.wait().unwrap().success());
    let received: Value = serde_json::from_reader(lines).unwrap();
    assert_eq!(received["transfer"]["files"], 1);
    assert!(fs::read(inbox.join("source/file")).unwrap() == bytes);
    let known = fs::read_to_string(data.join("shallop/known_hosts")).unwrap();
    assert_eq!(known.trim(), format!("{address} {}", told["fingerprint"].as_str().unwrap()));
}

#[test]
fn zeros_for_a_time_are_counted_where_they_arrive_and_no_file_is_made() {
    let place = tempfile::tempdir().unwrap();
    let [data, inbox] = ["data", "inbox"].map(|name| place.path().join(name));
    fs::create_dir(&inbox).unwrap();
    let (mut child, _lines, told) = receiver(&data, &inbox, &[]);
    let address = told["address"].as_str().unwrap();
    let mut command = shallop(&data);
    command.args(["send", "--for", "300ms", address, "--wait", "20ms", "--trust-new", "--json"]);
    let sent = command.output().unwrap();
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    let report: Value = serde_json::from_slice(&sent.stdout).unwrap();
    let (bytes, seconds) = (&report["transfer"]["bytes"], &report["transfer"]["seconds"]);
    let packets = report["credits"]["data_packets"].as_f64().unwrap();
    let payload = bytes.as_f64().unwrap() / packets;
    assert!((1_000.0..1_472.0).contains(&payload), "{report}");
    // The first data leaves a waiting time later, and what waits at the end still leaves.
    assert!((0.1..2.0).contains(&seconds.as_f64().unwrap()), "{report}");
    assert_eq!(fs::read_dir(&inbox).unwrap().count(), 0);
    child.kill().unwrap();
    child.wait().unwrap();
    let both = shallop(&data).args(["send", "--for", "1s", "file", address]).output().unwrap();
    assert_eq!(both.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&both.stderr).contains("cannot be used with"));
}

/// The figure of a line of a table, by what the line begins with.
fn figure(table: &str, name: &str) -> f64 {
    let line = table.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn both_sides_say_what_they_counted_and_quiet_ones_nothing() {
    let place = tempfile::tempdir().unwrap();
    let [data, inbox] = ["data", "inbox"].map(|name| place.path().join(name));
    fs::create_dir(&inbox).unwrap();
    let file = place.path().join("file");
    fs::write(&file, vec![7; 400_000]).unwrap();
    let (child, lines, told) = receiver(&data, &inbox, &["--stats"]);
    let address = told["address"].as_str().unwrap().to_owned();
    let sent = send(&data, &file, &address, &["--trust-new", "--quiet", "--stats"]);
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    assert!(sent.stdout.is_empty(), "{}", String::from_utf8_lossy(&sent.stdout));
    let of_sender = String::from_utf8(sent.stderr).unwrap();
    let received: Value = serde_json::from_reader(lines).unwrap();
    let output = child.wait_with_output().unwrap();
    let of_receiver = String::from_utf8(output.stderr).unwrap();

    let packets = figure(&of_sender, "data packets on credits");
    assert!(packets >= 400_000.0 / 1_472.0, "{of_sender}");
    assert!(figure(&of_sender, "credits granted") >= packets, "{of_sender}");
    assert!(figure(&of_sender, "QUIC packets sent") >= packets, "{of_sender}");
    let credits_sent = figure(&of_receiver, "credits sent to the peer");
    assert!(credits_sent >= figure(&of_sender, "credits granted"), "{of_receiver}");
    assert_eq!(received["credits"]["credits_sent"].as_f64(), Some(credits_sent));
    // A round trip over loopback takes time, and less than the waiting time.
    let trip = figure(&of_sender, "least round trip, ms");
    assert!(trip > 0.0 && trip < 20.0, "{of_sender}");
    let path = &received["path"];
    assert!(path["min_rtt_s"].as_f64().unwrap() <= path["max_smoothed_rtt_s"].as_f64().unwrap());
}

#[test]
fn bad_input_is_named() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    for (args, said) in [
        (["send", "nowhere", "127.0.0.1", "--wait", "20ms"], "nowhere"),
        (["send", ".", "127.0.0.1", "--wait", "0s"], "--wait is a time from 1us"),
        (["send", ".", "no such host", "--wait", "20ms"], "is no host that can be found"),
        (["receive", "nowhere", "--once", "--wait", "20ms"], "is no folder"),
    ] {
        let output = shallop(folder).args(args).current_dir(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(said), "{args:?}: {error}");
    }
}
