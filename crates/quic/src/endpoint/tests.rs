//! The end of an endpoint: failures of its thread end every future, and dropping it does not block.

use super::*;
use crate::trust::identity::{AnyServer, Identity, SERVER_NAME};
use pollster::block_on;
use shallop_core::BitsPerSec;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Wake, Waker};
use std::{fmt::Debug, future::Future};
use std::{os::fd::OwnedFd, pin::pin};
use std::{thread::spawn, time::Duration};

const PATIENCE: Duration = Duration::from_secs(20);

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

fn config() -> Config {
    let wait = Duration::from_millis(10);
    Config { wait, slack: wait, ..Config::new(BitsPerSec::at_least_one(200_000_000)) }
}

fn server_and_client() -> (Endpoint, Endpoint) {
    let identity = Identity::make().unwrap();
    let server = Endpoint::bind(any(), config(), Tls::server(&identity)).unwrap();
    let tls = Tls::client(AnyServer::new());
    (server, Endpoint::bind(any(), config(), tls).unwrap())
}

/// Runs `act` in a thread, and sends its result as text.
fn user<T: Debug>(tell: &Sender<String>, act: impl FnOnce() -> T + Send + 'static) {
    let tell = tell.clone();
    spawn(move || tell.send(format!("{:?}", act())));
}

fn ended(users: &Receiver<String>, count: usize) -> Vec<String> {
    let one = |_| users.recv_timeout(PATIENCE).expect("a user still waits");
    (0..count).map(one).collect()
}

/// A socket whose receive calls fail with ENOTCONN once a TCP client has connected to it.
fn failing_socket() -> (Socket, SocketAddr) {
    let listener = TcpListener::bind(any()).unwrap();
    let address = listener.local_addr().unwrap();
    (Socket::new(UdpSocket::from(OwnedFd::from(listener))).unwrap(), address)
}

#[test]
fn an_error_of_the_socket_ends_every_future_with_its_reason() {
    let tls = Tls::client(AnyServer::new());
    let (socket, address) = failing_socket();
    let endpoint = Endpoint::with_socket(socket, config(), tls).unwrap();
    assert!(endpoint.failure().is_none());
    let (tell, users) = channel();
    let (one, two) = (endpoint.clone(), endpoint.clone());
    let to = (Ipv4Addr::LOCALHOST, 9).into();
    user(&tell, move || block_on(one.connect(to, SERVER_NAME)).err());
    user(&tell, move || block_on(two.accept()).map(|_| "a connection"));
    while endpoint.datagram_drops().unsent == 0 {
        std::thread::yield_now();
    }
    let _client = TcpStream::connect(address).unwrap();
    let mut all = ended(&users, 2);
    all.sort();
    assert_eq!(all[0], "None", "no connection is accepted");
    assert!(all[1].contains("Failed") && all[1].contains("os error 107"), "{}", all[1]);
    let why = endpoint.failure().unwrap().to_string();
    assert!(why.starts_with("the endpoint has failed: ") && why.contains("os error 107"), "{why}");
    let later = block_on(endpoint.connect(to, SERVER_NAME)).err().unwrap();
    assert!(matches!(later, QuicError::Failed(_)), "{later}");
    assert!(block_on(endpoint.accept()).is_none());
}

/// A waker that panics in the endpoint's thread.
struct Panicking;

impl Wake for Panicking {
    fn wake(self: Arc<Self>) {
        panic!("a waker of a user panicked");
    }
}

#[test]
fn a_panic_in_the_thread_ends_every_future_with_its_message() {
    let (server, client) = server_and_client();
    let of_client = block_on(client.connect(server.address(), SERVER_NAME)).unwrap();
    let connection = block_on(server.accept()).unwrap();
    let (tell, users) = channel();
    let readers = [connection.clone(), connection.clone()];
    for (number, reader) in readers.into_iter().enumerate() {
        user(&tell, move || match number {
            0 => block_on(reader.accept_uni()).err(),
            _ => Some(block_on(reader.closed())),
        });
    }
    let acceptor = server.clone();
    user(&tell, move || block_on(acceptor.accept()).map(|_| "a connection"));
    while server.shared.lock().wakers() == 0 {
        std::thread::yield_now();
    }
    let waker = Waker::from(Arc::new(Panicking));
    let mut accepts = pin!(server.accept());
    assert!(accepts.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let to = server.address();
    let other = spawn(move || drop(block_on(client.connect(to, SERVER_NAME))));

    let mut all = ended(&users, 3);
    all.sort();
    assert_eq!(all[0], "None", "no connection is accepted");
    let said = "Failed(\"its thread panicked: a waker of a user panicked\")";
    assert_eq!(all[1..], [said, said].map(|said| format!("Some({said})")));
    assert!(server.failure().is_some());
    assert!(matches!(block_on(connection.open_uni()).err(), Some(QuicError::Failed(_))));
    drop((of_client, connection));
    drop(other);
}

#[test]
fn dropping_an_endpoint_does_not_block_and_its_thread_ends_later() {
    // A peer that never answers: the close is repeated for three probe timeouts of 1 s.
    let silent = UdpSocket::bind(any()).unwrap();
    let tls = Tls::client(AnyServer::new());
    let endpoint = Endpoint::bind(any(), config(), tls).unwrap();
    let to = silent.local_addr().unwrap();
    let mut connects = Box::pin(endpoint.connect(to, SERVER_NAME));
    assert!(connects.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(connects);
    let state = Arc::downgrade(&endpoint.shared);
    let begun = Instant::now();
    drop(endpoint);
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(500), "{took:?}");
    assert!(state.strong_count() > 0, "the thread still tells the peer");
    while state.strong_count() > 0 {
        assert!(begun.elapsed() < PATIENCE, "the thread goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_idle_endpoint_has_told_its_peers() {
    let (server, client) = server_and_client();
    block_on(client.wait_idle());
    let connection = block_on(client.connect(server.address(), SERVER_NAME)).unwrap();
    let accepted = block_on(server.accept()).unwrap();
    let mut idle = pin!(client.wait_idle());
    assert!(idle.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    connection.close(7, b"done");
    block_on(idle);
    let why = block_on(accepted.closed());
    assert!(matches!(why, QuicError::Closed { code: 7, .. }), "{why}");
}

#[test]
fn an_accept_that_is_polled_again_and_again_is_registered_once() {
    let (server, _) = server_and_client();
    let mut accepts = pin!(server.accept());
    for _ in 0..1_000 {
        assert!(accepts.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert_eq!(server.shared.lock().wakers(), 1);
}
