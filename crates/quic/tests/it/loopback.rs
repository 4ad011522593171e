//! Endpoints over loopback: data on credits, fallbacks, and peers without credits.

use crate::{ANY, send_stream, server_and_client, tls};
use pollster::block_on;
use shallop_quic::{Classes, Config, Connection, CreditStats, Endpoint, SendMode, Tls, counters::DropCounters};
use shallop_testing::soon;
use std::net::{SocketAddr, UdpSocket};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

/// The most stream data of a full packet, bytes.
const MOST: u64 = 1_435;

fn config() -> Config {
    Config { wait: Duration::from_millis(20), ..crate::config() }
}

/// A server whose first connection is served by a thread. Returns its address and the TLS settings of a client.
fn server<T: Send + 'static>(
    config: Config, serve: impl FnOnce(Connection) -> T + Send + 'static,
) -> (SocketAddr, Tls, JoinHandle<T>) {
    let (of_server, of_client) = tls();
    let endpoint = Endpoint::bind(ANY, config, of_server).unwrap();
    let address = endpoint.address();
    let thread = spawn(move || serve(block_on(endpoint.accept()).unwrap()));
    (address, of_client, thread)
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * at / 7 + at) as u8).collect()
}

/// Sends `count` bytes on one stream. Returns the send mode, the counts and the time that it took.
fn transfer(client: Config, server: Config, count: usize) -> (SendMode, CreditStats, Duration) {
    let (server, client) = server_and_client(server, client);
    send_stream(&client, &server, server.address(), &bytes(count))
}

pub fn data_leaves_on_credits_and_arrives_whole() {
    let (path, stats, took) = transfer(config(), config(), 5_000_000);
    assert_eq!(path, SendMode::Credits);
    let packets = 5_000_000 / MOST;
    assert!(stats.data_packets >= packets, "{stats:?}");
    assert!(stats.data_packets <= stats.used, "{stats:?}");
    assert!(stats.without_credit * 200 <= stats.data_packets, "{stats:?}");
    // On a busy machine a credit may arrive too late.
    let late = DropCounters { stamp_late: stats.dropped.stamp_late, ..DropCounters::default() };
    assert_eq!(stats.dropped, late, "{stats:?}");
    // The configured link rate allows no less than 0.2 s; a busy machine takes longer.
    assert!(took > Duration::from_millis(200), "{took:?}");
}

pub fn peers_without_credits_get_plain_quic() {
    let plain = Config { credits: false, ..config() };
    for (client, server) in [(plain, config()), (config(), plain)] {
        let (path, stats, _) = transfer(client, server, 300_000);
        assert_eq!(path, SendMode::WithoutCredits);
        assert_eq!((stats.emulated, stats.used), (0, 0));
    }
}

pub fn streams_in_both_directions_are_answered() {
    let (address, tls, thread) = server(config(), |connection| {
        for _ in 0..3 {
            let (mut send, mut recv) = block_on(connection.accept_bi()).unwrap();
            let mut asked = block_on(recv.read_to_end(100_000)).unwrap();
            asked.reverse();
            block_on(send.write_all(&asked)).unwrap();
            block_on(send.finished()).unwrap();
        }
        connection.stats()
    });
    let endpoint = Endpoint::bind(ANY, config(), tls).unwrap();
    let connection = block_on(endpoint.connect(address, "shallop")).unwrap();
    for count in [0, 1, 60_000] {
        let (mut send, mut recv) = block_on(connection.open_bi()).unwrap();
        block_on(send.write_all(&bytes(count))).unwrap();
        send.finish();
        let mut answer = block_on(recv.read_to_end(100_000)).unwrap();
        answer.reverse();
        assert!(answer == bytes(count));
    }
    drop(connection);
    let stats = thread.join().unwrap();
    assert!(stats.used > 40, "the server has credits of its own: {stats:?}");
}

/// Relays datagrams between a client and a server, and drops emulation packets of the client.
fn relay(server: SocketAddr) -> SocketAddr {
    let socket = UdpSocket::bind(ANY).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let address = socket.local_addr().unwrap();
    spawn(move || {
        let (mut client, mut bytes) = (None, [0; 2_000]);
        while let Ok((count, from)) = socket.recv_from(&mut bytes) {
            if from != server {
                client = Some(from);
                if [0x08, 0x09].contains(&bytes[0]) {
                    continue;
                }
            }
            let to = if from == server { client.unwrap() } else { server };
            socket.send_to(&bytes[..count], to).unwrap();
        }
    });
    address
}

pub fn where_no_emulation_packet_is_answered_data_goes_on_without_credits() {
    // The relay does not keep the DSCP.
    let classes = Classes { data: 0, unscheduled: 0, ack: 0, control: 0, emulation: 0, credit: 0 };
    let config = || Config { classes, ..config() };
    let (address, tls, thread) = server(config(), |connection| {
        let (mut send, mut recv) = block_on(connection.accept_bi()).unwrap();
        let asked = block_on(recv.read_to_end(1_000_000)).unwrap();
        block_on(send.write_all(&asked)).unwrap();
        block_on(send.finished()).unwrap();
        (connection.send_mode(), connection.stats())
    });
    let endpoint = Endpoint::bind(ANY, config(), tls).unwrap();
    let connection = block_on(endpoint.connect(relay(address), "shallop")).unwrap();
    let (mut send, mut recv) = block_on(connection.open_bi()).unwrap();
    block_on(send.write_all(&bytes(500_000))).unwrap();
    send.finish();
    assert!(block_on(recv.read_to_end(1_000_000)).unwrap() == bytes(500_000));
    assert_eq!(connection.send_mode(), SendMode::Unanswered);
    let stats = connection.stats();
    assert!(stats.emulated >= 64 && stats.granted == 0, "{stats:?}");
    // The server still gets credits of the client.
    let (path, of_server) = thread.join().unwrap();
    assert_eq!(path, SendMode::Credits);
    assert!(of_server.data_packets > 500_000 / MOST, "{of_server:?}");
    assert!(stats.credits_sent >= of_server.used, "{stats:?} {of_server:?}");
}

pub fn packets_of_no_connection_are_counted_and_get_no_answer() {
    let (endpoint, _) = server_and_client(config(), config());
    let socket = UdpSocket::bind(ANY).unwrap();
    for packet in [&[0x08; 18][..], &[0x0A; 18], &[0x08; 17], &[0x0F; 18]] {
        socket.send_to(packet, endpoint.address()).unwrap();
    }
    let expected = DropCounters { unknown_tag: 2, wrong_length: 1, unknown_kind: 1, ..DropCounters::default() };
    let begun = Instant::now();
    while endpoint.dropped() != expected && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(endpoint.dropped(), expected);
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(socket.recv(&mut [0; 2_000]).is_err());
}

pub fn an_endpoint_ends_with_connections_that_nobody_accepted() {
    let (endpoint, client) = server_and_client(config(), config());
    let connection = block_on(client.connect(endpoint.address(), "shallop")).unwrap();
    // A server that has granted credits has finished its handshake. Before that it must not send a reason (RFC 9000,
    // 10.2.3).
    let mut stream = block_on(connection.open_uni()).unwrap();
    block_on(stream.write_all(b"ahoy")).unwrap();
    assert!(soon(|| connection.stats().granted > 0), "the server grants nothing");
    let ended = spawn(move || {
        endpoint.close();
        block_on(endpoint.wait_idle());
    });
    let why = block_on(connection.closed()).to_string();
    assert!(why.contains("the endpoint is closed"), "{why}");
    assert!(soon(|| ended.is_finished()), "the connection goes on");
}
