//! Pings over loopback through relays. Paths with classes are in tests/machine/ping.rs.

use crate::support::transfer::{Listener, Place};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// A process that answers pings, and its address.
fn listener(place: &Place, args: &[&str]) -> (Listener, SocketAddr) {
    let listener = place.listen(&[args, &["--wait", "20ms"]].concat());
    let address = listener.address.parse().unwrap();
    (listener, address)
}

/// Whether a relay passes on a datagram of a client. A relay sees no DSCP, and sends all datagrams with DSCP 0.
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

/// A relay to the listener; it ends when nothing has come for 5 s.
fn relay(to: SocketAddr, passes: Passes) -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut meter = Meter { last: Instant::now(), room: 8.0, count: 0 };
        let (mut upstream, mut bytes) = (BTreeMap::new(), [0; 2_000]);
        while let Ok((count, client)) = socket.recv_from(&mut bytes) {
            let to = upstream.entry(client).or_insert_with(|| returning(to, client, &socket));
            if passes(&mut meter, &bytes[..count]) {
                to.send(&bytes[..count]).unwrap();
            }
        }
    });
    address
}

/// A socket of a relay to the listener for one client, whose answers a thread returns.
fn returning(to: SocketAddr, client: SocketAddr, socket: &UdpSocket) -> UdpSocket {
    let upstream = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    upstream.connect(to).unwrap();
    upstream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let (from, socket) = (upstream.try_clone().unwrap(), socket.try_clone().unwrap());
    std::thread::spawn(move || {
        let mut bytes = [0; 2_000];
        while let Ok(count) = from.recv(&mut bytes) {
            socket.send_to(&bytes[..count], client).unwrap();
        }
    });
    upstream
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
fn no_path_that_erases_the_classes_honours_them() {
    let place = Place::new();
    let (_listener, address) = listener(&place, &["ping", "--listen"]);
    let paths: [Passes; 3] = [
        |_, _| true,
        // Short packets are dropped, whatever their class.
        |meter, of| !is_emulation(of) || meter.has_room(),
        |meter, of| {
            meter.count += u64::from(of.len() > 1_300);
            of.len() <= 1_300 || meter.count % 10 > 0
        },
    ];
    for passes in paths {
        let to = relay(address, passes);
        let (code, told) = flashpass(&place, to);
        assert_ne!(told["honours_classes"], true, "{told}");
        assert_eq!(code, Some(1));
        assert!(told["measured"]["plain_bps"].as_f64().unwrap() > 0.0, "{told}");
    }
}

#[test]
fn a_path_that_drops_all_emulation_packets_is_said_to() {
    let place = Place::new();
    let (_listener, address) = listener(&place, &["ping", "--listen"]);
    let deaf = relay(address, |_, of| !is_emulation(of));
    let (code, told) = flashpass(&place, deaf);
    assert_eq!((code, &told["honours_classes"]), (Some(1), &Value::Bool(false)), "{told}");
    assert!(told["verdict"].as_str().unwrap().contains("no emulation packet was answered"));
}
