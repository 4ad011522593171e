//! Pings over loopback, directly and through relays that drop what switches would.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

fn shallop(data: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_shallop"));
    command.env("XDG_DATA_HOME", data).args(args).stdin(Stdio::null());
    command
}

/// Ended with the test.
struct Listener(Child);

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A process that answers, where it listens, and its fingerprint.
fn listener(data: &Path, args: &[&str]) -> (Listener, SocketAddr, String) {
    let more = ["--bind", "127.0.0.1:0", "--json", "--wait", "20ms"];
    let mut command = shallop(data, &[args, &more].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let told: Value = serde_json::from_str(&first).unwrap();
    let address = told["address"].as_str().unwrap().parse().unwrap();
    (Listener(child), address, told["fingerprint"].as_str().unwrap().to_owned())
}

/// What the relay does with a datagram of the client, by its length: it passes it on or drops it.
type Passes = fn(&mut Meter, &[u8]) -> bool;

/// A queue of 8 packets that is emptied at 1,000 packets a second, and a count.
struct Meter {
    last: Instant,
    room: f64,
    count: u64,
}

impl Meter {
    fn has_room(&mut self) -> bool {
        let passed = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        self.room = (self.room + passed * 1_000.0).min(8.0);
        let has_room = self.room >= 1.0;
        self.room -= f64::from(u8::from(has_room));
        has_room
    }
}

/// A relay to the listener, for one client at a time; it ends when nothing has come for 5 s.
fn relay(to: SocketAddr, passes: Passes) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut meter = Meter { last: Instant::now(), room: 8.0, count: 0 };
        let (mut client, mut bytes) = (to, [0; 2_000]);
        while let Ok((count, from)) = socket.recv_from(&mut bytes) {
            if from == to {
                socket.send_to(&bytes[..count], client).unwrap();
            } else {
                client = from;
                if passes(&mut meter, &bytes[..count]) {
                    socket.send_to(&bytes[..count], to).unwrap();
                }
            }
        }
    });
    address
}

fn is_emulation(datagram: &[u8]) -> bool {
    [0x08, 0x09].contains(&datagram[0])
}

fn flashpass(data: &Path, to: SocketAddr) -> (Option<i32>, Value) {
    let to = to.to_string();
    let args = ["ping", "--flashpass", &to, "--rate-limit", "20Mbps", "--wait", "20ms", "--json"];
    let output = shallop(data, &[&args[..], &["--count", "2"]].concat()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).expect(&said))
}

#[test]
fn round_trips_to_a_receiver_are_said_and_another_host_is_not_pinged() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_str().unwrap();
    let (_receiver, address, fingerprint) = listener(place.path(), &["receive", folder]);
    let to = address.to_string();
    let ping = |more: &[&str]| -> Output {
        let args = [&["ping", to.as_str(), "--count", "3", "--interval", "1ms"], more].concat();
        shallop(place.path(), &args).output().unwrap()
    };
    let output = ping(&[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.lines().count(), 4, "{said}");
    assert!(said.starts_with(&format!("{to}: ")), "{said}");
    assert!(said.lines().last().unwrap().starts_with("3 round trips: "), "{said}");

    let told: Value = serde_json::from_slice(&ping(&["--json"]).stdout).unwrap();
    assert_eq!(told["fingerprint"], fingerprint);
    let trips = told["round_trips_s"].as_array().unwrap();
    assert!(trips.len() == 3 && trips.iter().all(|of| of.as_f64().unwrap() > 0.0), "{told}");

    let pinned = ping(&["--fingerprint", &fingerprint]);
    assert_eq!(pinned.status.code(), Some(0));
    let refused = ping(&["--fingerprint", &"0".repeat(64)]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("somebody else answers"));
}

#[test]
fn a_path_that_drops_emulation_packets_first_honours_the_classes() {
    let place = tempfile::tempdir().unwrap();
    let (_listener, address, _) = listener(place.path(), &["ping", "--listen"]);
    let metered = relay(address, |meter, of| !is_emulation(of) || meter.has_room());
    let (code, told) = flashpass(place.path(), metered);
    assert_eq!(told["honours_classes"], true, "{told}");
    assert_eq!(code, Some(0));
    let loads = told["loads"].as_array().unwrap();
    assert_eq!(loads[0]["load"]["emulated"], loads[0]["load"]["granted"], "{told}");
    assert!(loads.last().unwrap()["emulation_loss"].as_f64().unwrap() > 0.02, "{told}");
}

#[test]
fn a_path_that_drops_data_does_not() {
    let place = tempfile::tempdir().unwrap();
    let (_listener, address, _) = listener(place.path(), &["ping", "--listen"]);
    let lossy = relay(address, |meter, of| {
        meter.count += u64::from(of.len() > 1_300);
        of.len() <= 1_300 || meter.count % 10 > 0
    });
    let (code, told) = flashpass(place.path(), lossy);
    assert_eq!(told["honours_classes"], false, "{told}");
    assert_eq!(code, Some(1));
    assert!(told["verdict"].as_str().unwrap().contains("it drops data"), "{told}");

    let deaf = relay(address, |_, of| !is_emulation(of));
    let (code, told) = flashpass(place.path(), deaf);
    assert_eq!((code, &told["honours_classes"]), (Some(1), &Value::Bool(false)), "{told}");
    assert!(told["verdict"].as_str().unwrap().contains("no emulation packet was answered"));
}

#[test]
fn where_nothing_is_lost_it_is_not_known() {
    let place = tempfile::tempdir().unwrap();
    let (_listener, address, _) = listener(place.path(), &["ping", "--listen"]);
    let (code, told) = flashpass(place.path(), address);
    assert_eq!((code, &told["honours_classes"]), (Some(1), &Value::Null), "{told}");
    assert_eq!(told["loads"].as_array().unwrap().len(), 3, "{told}");
}

#[test]
fn files_are_refused_where_pings_are_answered() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("file"), "x").unwrap();
    let (_listener, address, _) = listener(place.path(), &["ping", "--listen"]);
    let file = place.path().join("file");
    let args = ["send", file.to_str().unwrap(), &address.to_string(), "--trust-new"];
    let output = shallop(place.path(), &args).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("takes no files"), "{said}");
}
