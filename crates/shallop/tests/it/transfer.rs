//! Files between two processes of the command, over loopback.

use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::process::Child;

use serde_json::Value;

use crate::support::transfer::{one_line, receiver_at, send, shallop};

/// A receiver, where it listens, and its fingerprint.
fn receiver(
    data: &Path,
    folder: &Path,
    more: &[&str],
) -> (Child, BufReader<std::process::ChildStdout>, Value) {
    receiver_at("127.0.0.1:0", data, folder, more)
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
fn the_start_and_the_controller_without_credits_can_be_chosen() {
    let place = tempfile::tempdir().unwrap();
    let [data, inbox] = ["data", "inbox"].map(|name| place.path().join(name));
    fs::create_dir(&inbox).unwrap();
    let file = place.path().join("file");
    fs::write(&file, vec![7; 300_000]).unwrap();

    let (mut child, _lines, told) = receiver(&data, &inbox, &[]);
    let address = told["address"].as_str().unwrap().to_owned();
    let sent = send(&data, &file, &address, &["--trust-new", "--json", "--unscheduled", "100KB"]);
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    let report: Value = serde_json::from_slice(&sent.stdout).unwrap();
    assert_eq!(report["leaves"], "credits");
    let unscheduled = report["credits"]["unscheduled"].as_u64().unwrap();
    assert!((1..=66).contains(&unscheduled), "the list of files comes first: {unscheduled}");
    assert!(child.wait().unwrap().success());

    let more = ["--without-credits", "--overwrite"];
    let (mut child, _lines, told) = receiver(&data, &inbox, &more);
    let address = told["address"].as_str().unwrap().to_owned();
    fs::write(&file, vec![8; 300_000]).unwrap();
    let args = ["--trust-new", "--fallback", "bbr", "--retry-credits", "1s"];
    let sent = send(&data, &file, &address, &args);
    assert_eq!(sent.status.code(), Some(0), "{}", String::from_utf8_lossy(&sent.stderr));
    let said = String::from_utf8(sent.stdout).unwrap();
    assert!(said.contains("Data leaves by BBR, without credits: one of both ends"), "{said}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn bad_input_is_named() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    fs::write(folder.join("notes.txt"), "aye").unwrap();
    std::os::unix::fs::symlink("notes.txt", folder.join("link")).unwrap();
    let port = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = port.local_addr().unwrap().to_string();
    for (args, said) in [
        (&["send", "nowhere", "127.0.0.1"][..], &["nowhere: No such file"][..]),
        (
            &["send", "notes.txt", "127.0.0.1", "--wait", "0s"],
            &["--wait: the waiting time is from 1us"],
        ),
        (&["send", "notes.txt", "no-such-host.invalid"], &["no-such-host.invalid:4747 is no host"]),
        (&["send", "notes.txt", "no such host"], &["' ' has no place in the name of a host"]),
        (&["send", "notes.txt", "ship:70000"], &["a port is a number from 1 to 65535"]),
        (
            &["send", "notes.txt", "notes.txt"],
            &["there is a file of that name", "the last argument"],
        ),
        (&["send", "notes.txt"], &["HOST[:PORT]"]),
        (&["send", "link", "127.0.0.1"], &["link: symbolic links are not sent"]),
        (&["send", "notes.txt", "127.0.0.1", "--fingerprint", "12"], &["64 hexadecimal digits"]),
        (&["send", "notes.txt", "127.0.0.1", "--cert", "a"], &["--key"]),
        (&["receive", "--once"], &["required arguments were not provided", "<DIR>"]),
        (&["receive", "nowhere", "--once"], &["is no folder", "make it first"]),
        (&["receive", "notes.txt", "--once"], &["\"notes.txt\" is no folder"]),
        (&["receive", ".", "--bind", "4747"], &["as 192.0.2.1:4747"]),
        (&["receive", ".", "--bind", "192.0.2.1:4747"], &["--bind takes an address of this host"]),
        (&["receive", ".", "--bind", &taken], &[&taken, "another program has this port"]),
        (&["ping", "--listen", "--bind", &taken], &["another program has this port"]),
        (
            &["send", ".", "127.0.0.1", "--unscheduled", "2000GB"],
            &["--unscheduled: at most 1 TB leave before the first credit"],
        ),
        (&["send", ".", "127.0.0.1", "--unscheduled", "2"], &["--unscheduled"]),
        (&["send", ".", "127.0.0.1", "--fallback", "reno"], &["cubic, bbr"]),
    ] {
        let output = shallop(folder).args(args).current_dir(folder).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let error = one_line(&output.stderr);
        for said in said {
            assert!(error.contains(said), "{args:?}: {error}");
        }
    }
}

#[test]
fn a_host_that_does_not_answer_is_said_with_what_to_look_at() {
    let place = tempfile::tempdir().unwrap();
    let deaf = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = deaf.local_addr().unwrap();
    let output = send(place.path(), place.path(), &to.to_string(), &["--trust-new"]);
    assert_eq!(output.status.code(), Some(2));
    let said = one_line(&output.stderr);
    assert!(said.contains(&format!("{to}: no answer for 10 s")), "{said}");
    assert!(said.contains(&format!("let UDP to port {} and back pass?", to.port())), "{said}");
}

#[test]
fn odd_names_arrive_and_are_printed_harmlessly() {
    let place = tempfile::tempdir().unwrap();
    let [data, source, inbox] = ["data", "source", "inbox"].map(|name| place.path().join(name));
    let odd = "two\nlines\u{1b}[31m";
    fs::create_dir_all(source.join("a folder there")).unwrap();
    fs::create_dir_all(inbox.join("source/a file there")).unwrap();
    fs::create_dir_all(source.join("empty folder")).unwrap();
    fs::write(source.join(odd), "aye").unwrap();
    fs::write(source.join("a file there"), "aye").unwrap();
    fs::write(source.join("empty"), "").unwrap();
    fs::write(inbox.join("source/a folder there"), "in the way").unwrap();
    fs::write(inbox.join("source").join(odd), "other").unwrap();

    let (child, lines, told) = receiver(&data, &inbox, &[]);
    let address = told["address"].as_str().unwrap().to_owned();
    let sent = send(&data, &source, &address, &["--trust-new"]);
    assert_eq!(sent.status.code(), Some(1), "{}", one_line(&sent.stderr));
    let said = String::from_utf8(sent.stderr).unwrap();
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(
        said.contains(r"source/two\nlines\u001b[31m: not in place at the receiver: a file"),
        "{said}"
    );
    assert!(said.contains("source/a file there: not in place at the receiver: "), "{said}");
    assert!(said.contains("source/a folder there: not in place at the receiver: "), "{said}");
    assert!(said.chars().all(|of| of == '\n' || !of.is_control()), "{said:?}");
    let received: Value = serde_json::from_reader(lines).unwrap();
    assert_eq!(received["transfer"]["failed"].as_array().unwrap().len(), 3);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    assert_eq!(fs::read(inbox.join("source").join(odd)).unwrap(), b"other");
    assert!(fs::read(inbox.join("source/empty")).unwrap().is_empty());
    assert!(inbox.join("source/empty folder").is_dir());
}
