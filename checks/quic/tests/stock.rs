//! The library quinn as it is, over loopback: its client and its server talk to ours, and know nothing of credits.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use pollster::block_on;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use shallop_core::BitsPerSec;
use shallop_quic::identity::{AnyServer, Identity};
use shallop_quic::{Config, Connection, Endpoint, SendMode, Tls};
use std::net::{Ipv4Addr, SocketAddr};
use std::{sync::Arc, thread::spawn};

/// What the stock end speaks, and ours beside its own protocols.
const ALPN: &[u8] = b"hq-interop";
const COUNT: usize = 20_000_000;

fn config() -> Config {
    Config::new(BitsPerSec::at_least_one(1_000_000_000))
}

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn bytes(direction: usize) -> Vec<u8> {
    (0..COUNT).map(|at| (at * at / 7 + at * (3 + direction)) as u8).collect()
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Ours sends and receives one stream, and stays until the other end has everything. How data left.
fn ours(connection: &Connection) -> SendMode {
    let mut send = block_on(connection.open_uni()).unwrap();
    let sending = {
        let connection = connection.clone();
        spawn(move || {
            let mut recv = block_on(connection.accept_uni()).unwrap();
            block_on(recv.read_to_end(COUNT + 1)).unwrap()
        })
    };
    block_on(send.write_all(&bytes(0))).unwrap();
    block_on(send.finished()).unwrap();
    assert!(sending.join().unwrap() == bytes(1), "other bytes arrived at our end");
    assert_eq!((connection.stats().emulated, connection.stats().used), (0, 0));
    connection.send_mode()
}

async fn stock(connection: &quinn::Connection) {
    let (mut stream, sent) = (connection.open_uni().await.unwrap(), bytes(1));
    let receive = async {
        let mut recv = connection.accept_uni().await.unwrap();
        recv.read_to_end(COUNT + 1).await.unwrap()
    };
    let sending = async {
        stream.write_all(&sent).await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
    };
    let (received, ()) = tokio::join!(receive, sending);
    assert!(received == bytes(0), "other bytes arrived at the stock end");
}

#[test]
fn quinns_client_talks_to_our_server() {
    let identity = Identity::make().unwrap();
    let tls = Tls::server(&identity).speaking(&[b"shallop-flashpass/1", ALPN]);
    let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
    let address = endpoint.address();
    let server = spawn(move || {
        let connection = block_on(endpoint.accept()).unwrap();
        let path = ours(&connection);
        block_on(connection.closed());
        path
    });
    let mut tls = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(AnyServer::new())
        .with_no_client_auth();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).unwrap();
    runtime().block_on(async {
        let client = quinn::Endpoint::client(any()).unwrap();
        let with = quinn::ClientConfig::new(Arc::new(crypto));
        let connection = client.connect_with(with, address, "shallop").unwrap().await.unwrap();
        stock(&connection).await;
        connection.close(0_u32.into(), b"done");
        client.wait_idle().await;
    });
    assert_eq!(server.join().unwrap(), SendMode::WithoutCredits);
}

#[test]
fn our_client_talks_to_quinns_server() {
    let identity = Identity::make().unwrap();
    let mut tls = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(identity.chain.clone(), identity.key())
        .unwrap();
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let crypto = QuicServerConfig::try_from(tls).unwrap();
    let runtime = runtime();
    let with = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    let server = {
        let _inside = runtime.enter();
        quinn::Endpoint::server(with, any()).unwrap()
    };
    let address = server.local_addr().unwrap();
    let client = spawn(move || {
        let tls = Tls::client(AnyServer::new()).speaking(&[b"shallop-flashpass/1", ALPN]);
        let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
        let connection = block_on(endpoint.connect(address, "shallop")).unwrap();
        let path = ours(&connection);
        connection.close(0, b"done");
        path
    });
    runtime.block_on(async {
        let connection = server.accept().await.unwrap().await.unwrap();
        stock(&connection).await;
        connection.closed().await;
    });
    assert_eq!(client.join().unwrap(), SendMode::WithoutCredits);
}
