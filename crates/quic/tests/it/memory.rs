//! The memory of connections at rest. The kernel counts it for a whole process, so both ends are in a process of their
//! own, without other tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::spawn;

use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::identity::{Identity, ServerVerifier};
use shallop_quic::{Config, Connection, Endpoint, Tls};
use shallop_testing::child;

const CONNECTIONS: usize = 200;
/// The most that both ends of one may have, bytes.
const MOST: u64 = 160_000;

/// Bytes of this process that are in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1_024
}

/// Connects so many times, with an exchange of a few bytes each, and says what both ends take on average.
fn connect(client: &Endpoint, to: SocketAddr, into: &mut Vec<Connection>) -> u64 {
    let before = resident();
    for _ in 0..CONNECTIONS {
        let connection = block_on(client.connect(to, "shallop")).unwrap();
        let mut stream = block_on(connection.open_uni()).unwrap();
        block_on(stream.write_all(b"hello")).unwrap();
        block_on(stream.finished()).unwrap();
        into.push(connection);
    }
    (resident() - before) / CONNECTIONS as u64
}

pub fn connections_at_rest_take_little_memory() {
    let status = child::command("memory::measures_connections_at_rest").status().unwrap();
    assert!(status.success(), "{status}");
}

pub fn measures_connections_at_rest() {
    let link = BitsPerSec::at_least_one(1_000_000_000);
    let config = Config { wait: std::time::Duration::from_millis(2), ..Config::new(link) };
    let identity = Identity::make().unwrap();
    let any = (Ipv4Addr::LOCALHOST, 0).into();
    let tls = Tls::server(&identity);
    let server = Endpoint::bind(any, config, tls).unwrap();
    let to = server.address();
    let accepted = spawn(move || {
        let all = (0..2 * CONNECTIONS).map(|_| {
            let connection = block_on(server.accept()).unwrap();
            let mut stream = block_on(connection.accept_uni()).unwrap();
            assert_eq!(block_on(stream.read_to_end(10)).unwrap(), b"hello");
            connection
        });
        (all.collect::<Vec<_>>(), server)
    });
    let trusts = ServerVerifier::pinned(identity.fingerprint());
    let client = Endpoint::bind(any, config, Tls::client(trusts as Arc<_>)).unwrap();
    let mut connections = Vec::new();
    // The first ones pay for the process.
    let first = connect(&client, to, &mut connections);
    let later = connect(&client, to, &mut connections);
    assert!(
        later < MOST,
        "both ends of one: {first} B of the first {CONNECTIONS}, {later} B of the next"
    );
    drop(accepted.join().unwrap());
}
