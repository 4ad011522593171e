//! Transfers that need IPv6, or a file system of their own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;
use shallop_testing::{Cause, Outcome, need, programs, skip};

use crate::support::transfer::{one_line, receiver_at, send, shallop};

pub fn a_receiver_of_both_families_is_reached_over_either() -> Outcome {
    need(Cause::Ipv6, std::net::UdpSocket::bind("[::1]:0"))?;
    let place = tempfile::tempdir()?;
    let [data, inbox] = ["data", "inbox"].map(|name| place.path().join(name));
    fs::create_dir(&inbox).unwrap();
    for host in ["127.0.0.1", "[::1]", "localhost"] {
        let file = place.path().join(host);
        fs::write(&file, vec![9; 200_000]).unwrap();
        let (mut child, _lines, told) = receiver_at("[::]:0", &data, &inbox, &[]);
        let port = told["address"].as_str().unwrap().rsplit_once(':').unwrap().1.to_owned();
        let sent = send(&data, &file, &format!("{host}:{port}"), &["--trust-new", "--json"]);
        assert_eq!(sent.status.code(), Some(0), "{host}: {}", one_line(&sent.stderr));
        let report: Value = serde_json::from_slice(&sent.stdout).unwrap();
        assert_eq!(report["on_credits"], true, "{host}");
        assert!(child.wait().unwrap().success());
        assert_eq!(fs::read(inbox.join(host)).unwrap().len(), 200_000);
    }
    Ok(())
}

pub fn a_full_disk_fails_the_file_and_says_so() -> Outcome {
    programs(&["mount", "unshare"])?;
    let place = tempfile::tempdir().unwrap();
    let [data, inbox] = ["data", "inbox"].map(|name| place.path().join(name));
    fs::create_dir(&inbox).unwrap();
    let [large, small] = ["large", "small"].map(|name| place.path().join(name));
    fs::write(&large, vec![1; 3_000_000]).unwrap();
    fs::write(&small, "aye").unwrap();
    // A file system of 1 MB, in a namespace of the receiver's own.
    let script = "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(&inbox);
    command.arg(env!("CARGO_BIN_EXE_shallop")).arg("receive").arg(&inbox);
    command.args(["--bind", "127.0.0.1:0", "--once", "--json", "--wait", "20ms"]);
    command.env("XDG_DATA_HOME", &data).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    if first.is_empty() {
        let why = child.wait_with_output().unwrap().stderr;
        let why = format!("no namespaces for this user: {}", one_line(&why));
        return Err(skip(Cause::Namespaces, why));
    }
    let told: Value = serde_json::from_str(&first).unwrap();
    let to = told["address"].as_str().unwrap();
    let mut command = shallop(&data);
    command.arg("send").args([&large, &small]).arg(to).args(["--wait", "20ms", "--trust-new"]);
    let sent = command.output().unwrap();
    assert_eq!(sent.status.code(), Some(1));
    let said = one_line(&sent.stderr);
    assert!(said.contains("large: not in place at the receiver: No space left"), "{said}");
    let what = one_line(&sent.stdout);
    assert!(what.contains("1 files sent, 1 not, "), "{what}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    Ok(())
}
