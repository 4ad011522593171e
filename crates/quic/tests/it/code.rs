//! Codes: who knows the code is served, and nobody else learns or holds anything.

use crate::{ANY, config, send_stream, server_and_client};
use pollster::block_on;
use shallop_quic::identity::{AnyServer, Identity, SERVER_NAME};
use shallop_quic::settings::{ALPN, ALPN_CODE_WITHOUT_CREDITS};
use shallop_quic::{Config, Connection, Endpoint, QuicError, SendMode, Tls, code::Code};
use std::future::{Future, poll_fn};
use std::time::{Duration, Instant};
use std::{pin::pin, task::Poll, thread::scope};

fn bind(tls: Tls) -> Endpoint {
    Endpoint::bind(ANY, Config { credits: false, ..config() }, tls).unwrap()
}

/// A client that speaks the protocol of codes and knows none.
fn stranger() -> Endpoint {
    bind(Tls::client(AnyServer::new()).speaking(&[ALPN_CODE_WITHOUT_CREDITS]))
}

/// Whether an endpoint has a connection to accept.
fn has_arrival(server: &Endpoint) -> bool {
    let mut accepts = pin!(server.accept());
    block_on(poll_fn(|context| Poll::Ready(accepts.as_mut().poll(context).is_ready())))
}

fn connect(client: &Endpoint, server: &Endpoint) -> Result<Connection, QuicError> {
    block_on(client.connect(server.address(), SERVER_NAME))
}

/// Sends these bytes in place of a proof, and returns the answer.
fn send(connection: &Connection, bytes: &[u8]) -> Result<Vec<u8>, QuicError> {
    block_on(async {
        let (mut stream, mut answer) = connection.open_bi().await?;
        stream.write_all(bytes).await?;
        stream.finish();
        answer.read_to_end(100).await
    })
}

fn is_refused(why: &QuicError) -> bool {
    matches!(why, QuicError::Closed { code: 2, .. })
}

pub fn ends_with_one_code_serve_each_other_and_another_code_is_named() {
    let (server, client) = server_and_client(config(), config());
    let (mode, ..) = send_stream(&client, &server, server.address(), &vec![7; 100_000]);
    assert_eq!(mode, SendMode::Credits);
    let other = bind(Tls::client_with(Code::make().unwrap()));
    assert!(matches!(connect(&other, &server).err(), Some(QuicError::WrongCode)));
    // Who knows no codes speaks another protocol.
    let none = bind(Tls::client(AnyServer::new()).speaking(&[ALPN]));
    let why = connect(&none, &server).err().unwrap().to_string();
    assert!(why.contains("error 120"), "{why}");
    assert!(!has_arrival(&server));
}

pub fn strangers_are_closed_whatever_they_send_in_place_of_a_proof() {
    let (server, _client) = server_and_client(config(), config());
    scope(|scope| {
        let wrong = [0, 1, 31, 32, 33, 1_000].map(|count| {
            let server = &server;
            scope.spawn(move || {
                let client = stranger();
                let connection = connect(&client, server).unwrap();
                let why = send(&connection, &vec![9; count]).expect_err("no answer");
                assert!(is_refused(&why), "{count}: {why}");
            })
        });
        let silent = scope.spawn(|| {
            let client = stranger();
            let (begun, connection) = (Instant::now(), connect(&client, &server).unwrap());
            // Streams of other kinds are not read, and a second one cannot be opened.
            let mut stream = block_on(connection.open_uni()).unwrap();
            block_on(stream.write_all(b"a list of files")).unwrap();
            let second = block_on(connection.open_uni()).err().unwrap();
            assert!(is_refused(&second), "{second}");
            let took = begun.elapsed();
            assert!(took > Duration::from_secs(4) && took < Duration::from_secs(9), "{took:?}");
        });
        wrong.into_iter().chain([silent]).for_each(|one| one.join().unwrap());
    });
    assert!(!has_arrival(&server));
}

pub fn a_proof_is_of_no_use_to_who_sends_it_back_or_passes_it_on() {
    let (server, client) = server_and_client(config(), config());
    let identity = Identity::make().unwrap();
    let between = bind(Tls::server(&identity).speaking(&[ALPN_CODE_WITHOUT_CREDITS]));
    let takes_proof = || {
        let connection = block_on(between.accept()).unwrap();
        let (answer, mut stream) = block_on(connection.accept_bi()).unwrap();
        let proof = block_on(stream.read_to_end(100)).unwrap();
        assert_eq!(proof.len(), 32);
        (connection, answer, proof)
    };
    // A server that reflects the client's proof.
    scope(|scope| {
        let reflects = scope.spawn(|| {
            let (connection, mut answer, proof) = takes_proof();
            block_on(answer.write_all(&proof)).unwrap();
            answer.finish();
            block_on(connection.closed())
        });
        let why = connect(&client, &between).err().unwrap();
        assert!(why.to_string().contains("the other end has another code"), "{why}");
        assert!(is_refused(&reflects.join().unwrap()));
    });
    // One that passes it on to the real server, over a connection of its own.
    scope(|scope| {
        let relays = scope.spawn(|| {
            let (_connection, _answer, proof) = takes_proof();
            let own = stranger();
            let onward = connect(&own, &server).unwrap();
            send(&onward, &proof).expect_err("no proof comes back")
        });
        assert!(connect(&client, &between).is_err());
        assert!(is_refused(&relays.join().unwrap()));
    });
    assert!(!has_arrival(&server));
}
