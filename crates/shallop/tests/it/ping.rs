//! Pings over loopback, directly and through relays that drop what switches would.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::transfer::{Listener, Place};

/// A process that answers pings, and its address.
fn listener(place: &Place, args: &[&str]) -> (Listener, SocketAddr) {
    let listener = place.listen(&[args, &["--wait", "20ms"]].concat());
    let address = listener.address.parse().unwrap();
    (listener, address)
}

/// Whether a relay passes on a datagram of the client.
type Passes = fn(&mut Meter, &[u8]) -> bool;

/// A queue of 8 packets that is served at 1,000 packets a second, and a counter.
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

fn flashpass(place: &Place, to: SocketAddr) -> (Option<i32>, Value) {
    let to = to.to_string();
    let args = ["ping", "--flashpass", &to, "--rate-limit", "20Mbps", "--wait", "20ms", "--json"];
    let output = place.output(&[&args[..], &["--count", "2"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), serde_json::from_slice(&output.stdout).expect(&said))
}

#[test]
fn ping_prints_round_trips_and_refuses_a_wrong_fingerprint() {
    let place = Place::new();
    let (receiver, _) = listener(&place, &["receive", "inbox"]);
    let (to, fingerprint) = (receiver.address.as_str(), receiver.fingerprint.as_str());
    let ping = |more: &[&str]| -> Output {
        place.output(&[&["ping", to, "--count", "3", "--interval", "1ms"], more].concat())
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

    let pinned = ping(&["--fingerprint", fingerprint]);
    assert_eq!(pinned.status.code(), Some(0));
    let refused = ping(&["--fingerprint", &"0".repeat(64)]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("somebody else answers"));
}

#[test]
fn a_path_that_drops_emulation_packets_first_honours_the_classes() {
    let place = Place::new();
    let (_listener, address) = listener(&place, &["ping", "--listen"]);
    let metered = relay(address, |meter, of| !is_emulation(of) || meter.has_room());
    let (code, told) = flashpass(&place, metered);
    assert_eq!(told["honours_classes"], true, "{told}");
    assert_eq!(code, Some(0));
    let loads = told["loads"].as_array().unwrap();
    assert_eq!(loads[0]["load"]["emulated"], loads[0]["load"]["granted"], "{told}");
    assert!(loads.last().unwrap()["emulation_loss"].as_f64().unwrap() > 0.02, "{told}");
}

#[test]
fn a_path_that_drops_data_does_not_honour_the_classes() {
    let place = Place::new();
    let (_listener, address) = listener(&place, &["ping", "--listen"]);
    let lossy = relay(address, |meter, of| {
        meter.count += u64::from(of.len() > 1_300);
        of.len() <= 1_300 || meter.count % 10 > 0
    });
    let (code, told) = flashpass(&place, lossy);
    assert_eq!(told["honours_classes"], false, "{told}");
    assert_eq!(code, Some(1));
    assert!(told["verdict"].as_str().unwrap().contains("it drops data"), "{told}");

    let deaf = relay(address, |_, of| !is_emulation(of));
    let (code, told) = flashpass(&place, deaf);
    assert_eq!((code, &told["honours_classes"]), (Some(1), &Value::Bool(false)), "{told}");
    assert!(told["verdict"].as_str().unwrap().contains("no emulation packet was answered"));
}

#[test]
fn without_losses_the_test_is_inconclusive() {
    let place = Place::new();
    let (_listener, address) = listener(&place, &["ping", "--listen"]);
    let (code, told) = flashpass(&place, address);
    assert_eq!((code, &told["honours_classes"]), (Some(1), &Value::Null), "{told}");
    assert_eq!(told["loads"].as_array().unwrap().len(), 3, "{told}");
}

#[test]
fn files_are_refused_where_pings_are_answered() {
    let place = Place::new();
    std::fs::write(place.path("file"), "x").unwrap();
    let (listener, _) = listener(&place, &["ping", "--listen"]);
    let output = place.send("file", &listener.address, &["--trust-new"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("takes no files"), "{said}");
}
