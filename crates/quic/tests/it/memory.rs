//! The memory of idle connections. The kernel counts memory by process, so both endpoints run in a process of their
//! own.

use crate::server_and_client;
use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::{Config, Connection, Endpoint};
use shallop_testing::child;
use std::{net::SocketAddr, thread::spawn};

const CONNECTIONS: usize = 60;
/// The most memory of both ends of a connection, bytes.
const MOST: u64 = 160_000;

/// The resident memory of this process, bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1_024
}

/// Opens [`CONNECTIONS`] connections with an exchange of a few bytes each, and returns the memory of both ends of one.
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
    let link = BitsPerSec::gbps(1);
    let config = Config { wait: std::time::Duration::from_millis(2), ..Config::new(link) };
    let (server, client) = server_and_client(config, config);
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
    let mut connections = Vec::new();
    // The first connections also allocate what all share.
    let first = connect(&client, to, &mut connections);
    let later = connect(&client, to, &mut connections);
    assert!(later < MOST, "both ends of one: {first} B of the first {CONNECTIONS}, {later} B of the next");
    drop(accepted.join().unwrap());
}
