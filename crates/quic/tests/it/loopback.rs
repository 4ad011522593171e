//! Endpoints of this process, over loopback: data on credits, without them, and beside peers that have none.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use pollster::block_on;
use shallop_core::BitsPerSec;
use shallop_quic::counters::Counters;
use shallop_quic::identity::{Identity, ServerVerifier};
use shallop_quic::{Classes, Config, Connection, CreditStats, Endpoint, Path, Tls};

fn config() -> Config {
    let link = BitsPerSec::at_least_one(200_000_000);
    Config {
        wait: Duration::from_millis(20),
        slack: Duration::from_millis(10),
        ..Config::new(link)
    }
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// A server with this configuration, whose first connection is served by a thread.
fn server<T: Send + 'static>(
    config: Config,
    serve: impl FnOnce(Connection) -> T + Send + 'static,
) -> (SocketAddr, Tls, JoinHandle<T>) {
    let identity = Identity::make().unwrap();
    let tls = Tls::server(&identity);
    let endpoint = Endpoint::bind(any(), config, tls).unwrap();
    let address = endpoint.address();
    let trusts = ServerVerifier::pinned(identity.fingerprint());
    let thread = spawn(move || serve(block_on(endpoint.accept()).unwrap()));
    (address, Tls::client(trusts as Arc<_>), thread)
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| (at * at / 7 + at) as u8).collect()
}

/// Sends this much on one stream, and says what arrived, how data left, what was counted, and how long it took.
fn transfer(of_client: Config, of_server: Config, count: usize) -> (Path, CreditStats, Duration) {
    let (address, tls, thread) = server(of_server, move |connection| {
        let mut stream = block_on(connection.accept_uni()).unwrap();
        let all = block_on(stream.read_to_end(count + 1)).unwrap();
        let why = block_on(connection.closed());
        (all, why.to_string())
    });
    let endpoint = Endpoint::bind(any(), of_client, tls).unwrap();
    let connection = block_on(endpoint.connect(address, "shallop")).unwrap();
    let begun = Instant::now();
    let mut stream = block_on(connection.open_uni()).unwrap();
    block_on(stream.write_all(&bytes(count))).unwrap();
    block_on(stream.finished()).unwrap();
    let (path, stats, took) = (connection.path(), connection.stats(), begun.elapsed());
    connection.close(0, b"done");
    let (all, why) = thread.join().unwrap();
    assert!(all == bytes(count), "{} bytes arrived", all.len());
    assert!(why.contains("done"), "{why}");
    (path, stats, took)
}

pub fn data_leaves_on_credits_and_arrives_whole() {
    let (path, stats, took) = transfer(config(), config(), 5_000_000);
    assert_eq!(path, Path::Credits);
    let packets = 5_000_000 / 1_408;
    assert!(stats.data_packets >= packets, "{stats:?}");
    assert!(stats.data_packets <= stats.used, "{stats:?}");
    assert!(stats.without_credit * 200 <= stats.data_packets, "{stats:?}");
    // On a busy machine a credit may come too late.
    let late = Counters { stamp_late: stats.dropped.stamp_late, ..Counters::default() };
    assert_eq!(stats.dropped, late, "{stats:?}");
    // The link would take 0.2 s; a machine that is busy takes longer, and none is faster.
    assert!(took > Duration::from_millis(200), "{took:?}");
}

pub fn peers_without_credits_get_plain_quic() {
    let plain = Config { credits: false, ..config() };
    for (client, server) in [(plain, config()), (config(), plain)] {
        let (path, stats, _) = transfer(client, server, 300_000);
        assert_eq!(path, Path::WithoutCredits);
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
    let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
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

/// Passes datagrams between a client and this server, but for emulation packets of the client.
fn relay(server: SocketAddr) -> SocketAddr {
    let socket = UdpSocket::bind(any()).unwrap();
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
    // The relay keeps no classes.
    let classes = Classes { data: 0, unscheduled: 0, ack: 0, control: 0, emulation: 0, credit: 0 };
    let config = || Config { classes, ..config() };
    let (address, tls, thread) = server(config(), |connection| {
        let (mut send, mut recv) = block_on(connection.accept_bi()).unwrap();
        let asked = block_on(recv.read_to_end(1_000_000)).unwrap();
        block_on(send.write_all(&asked)).unwrap();
        block_on(send.finished()).unwrap();
        (connection.path(), connection.stats())
    });
    let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
    let connection = block_on(endpoint.connect(relay(address), "shallop")).unwrap();
    let (mut send, mut recv) = block_on(connection.open_bi()).unwrap();
    block_on(send.write_all(&bytes(500_000))).unwrap();
    send.finish();
    assert!(block_on(recv.read_to_end(1_000_000)).unwrap() == bytes(500_000));
    assert_eq!(connection.path(), Path::Unanswered);
    let stats = connection.stats();
    assert!(stats.emulated >= 64 && stats.granted == 0, "{stats:?}");
    // The way back has credits, which this end grants as before.
    let (path, of_server) = thread.join().unwrap();
    assert_eq!(path, Path::Credits);
    assert!(of_server.data_packets > 500_000 / 1_408, "{of_server:?}");
    assert!(stats.credits_sent >= of_server.used, "{stats:?} {of_server:?}");
}

pub fn packets_of_no_connection_are_counted_and_get_no_answer() {
    let identity = Identity::make().unwrap();
    let tls = Tls::server(&identity);
    let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
    let socket = UdpSocket::bind(any()).unwrap();
    for packet in [&[0x08; 18][..], &[0x0A; 18], &[0x08; 17], &[0x0F; 18]] {
        socket.send_to(packet, endpoint.address()).unwrap();
    }
    let expected =
        Counters { unknown_tag: 2, wrong_length: 1, unknown_kind: 1, ..Counters::default() };
    let begun = Instant::now();
    while endpoint.dropped() != expected && begun.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(endpoint.dropped(), expected);
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(socket.recv(&mut [0; 2_000]).is_err());
}

pub fn an_endpoint_ends_with_connections_that_nobody_accepted() {
    let identity = Identity::make().unwrap();
    let tls = Tls::server(&identity);
    let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
    let trusts = ServerVerifier::pinned(identity.fingerprint());
    let client = Endpoint::bind(any(), config(), Tls::client(trusts as Arc<_>)).unwrap();
    let connection = block_on(client.connect(endpoint.address(), "shallop")).unwrap();
    // A server that has granted credits has ended its handshake: before, it may not say why it closes (RFC 9000,
    // 10.2.3).
    let mut stream = block_on(connection.open_uni()).unwrap();
    block_on(stream.write_all(b"ahoy")).unwrap();
    let begun = Instant::now();
    while connection.stats().granted == 0 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = spawn(move || drop(endpoint));
    let why = block_on(connection.closed()).to_string();
    assert!(why.contains("the endpoint is closed"), "{why}");
    let begun = Instant::now();
    while !ended.is_finished() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(ended.is_finished(), "its thread goes on");
}

pub fn another_server_than_the_pinned_one_is_refused() {
    let (address, _, thread) = server(config(), |connection| block_on(connection.ready()).is_err());
    let other = Identity::make().unwrap();
    let tls = Tls::client(ServerVerifier::pinned(other.fingerprint()) as Arc<_>);
    let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
    let refused = block_on(endpoint.connect(address, "shallop")).err().unwrap();
    assert!(refused.to_string().contains("certificate"), "{refused}");
    assert!(thread.join().unwrap(), "the server has no such connection");
}
