//! A host with several addresses: they are tried one after the other with a short wait, and the first that answers is
//! taken (RFC 8305, in a simple form: all addresses are known before the first try).

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pollster::block_on;

use crate::config::Config;
use crate::endpoint::{Connection, Endpoint};
use crate::error::QuicError;
use crate::trust::tls::Tls;

/// The wait before the next address is tried besides (RFC 8305, 8: Connection Attempt Delay).
const DELAY: Duration = Duration::from_millis(250);
/// How long an answer is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Why a connection to an address that was tried besides another one is closed.
pub(crate) const ELSEWHERE: &[u8] = b"another address has answered first";

/// Connects to the first of these addresses that answers.
pub(crate) fn connect(
    addresses: &[SocketAddr],
    name: &str,
    config: Config,
    tls: Tls,
) -> Result<(Endpoint, Connection), QuicError> {
    let (tell, told) = channel();
    let begin_one = move |attempt, tell| begin(attempt, name, (config, tls.clone()), tell);
    let mut endpoints: Vec<Option<Endpoint>> = Vec::new();
    let mut waiting = addresses.iter();
    let (mut under_way, until) = (0, Instant::now() + PATIENCE);
    // What a host that answers has said tells more than silence elsewhere, and that more than an address without a way.
    let (mut said, mut without_way) = (None, None);
    let found = loop {
        // The next address: after the wait, or when the earlier ones have failed.
        if let Some(&to) = waiting.next() {
            match begin_one((to, endpoints.len()), tell.clone()) {
                Ok(endpoint) => {
                    endpoints.push(Some(endpoint));
                    under_way += 1;
                }
                Err(why) => {
                    without_way.get_or_insert(why);
                    continue;
                }
            }
        }
        if under_way == 0 {
            break None;
        }
        let left = until.saturating_duration_since(Instant::now());
        let is_last = waiting.len() == 0;
        match told.recv_timeout(if is_last { left } else { DELAY.min(left) }) {
            Ok((number, Ok(connection))) => break Some((number, connection)),
            Ok((_, Err(why))) => {
                under_way -= 1;
                said = Some(why);
            }
            Err(RecvTimeoutError::Timeout) if !is_last && !left.is_zero() => {}
            Err(_) => break None,
        }
    };
    let chosen = found.and_then(|(number, connection)| {
        Some((endpoints.get_mut(number).and_then(Option::take)?, connection))
    });
    give_up(endpoints.into_iter().flatten().collect(), told);
    let without_answer = without_way.filter(|_| under_way == 0);
    let none = QuicError::NoAnswer(PATIENCE.as_secs());
    chosen.ok_or_else(|| said.or(without_answer).unwrap_or(none))
}

/// What came of the try of a number.
type Told = (usize, Result<Connection, QuicError>);

/// Begins to connect, in a thread of its own, which tells what came of it under this number.
fn begin(
    (to, number): (SocketAddr, usize),
    name: &str,
    (config, tls): (Config, Tls),
    tell: Sender<Told>,
) -> Result<Endpoint, QuicError> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // The kernel says at once if no route leads there. Nothing is sent.
    UdpSocket::bind(any)?.connect(to)?;
    let endpoint = Endpoint::bind(any, config, tls)?;
    let (of_thread, name) = (endpoint.clone(), name.to_owned());
    std::thread::Builder::new().name("shallop-connect".to_owned()).spawn(move || {
        let connected = block_on(of_thread.connect(to, &name));
        // Whoever is told has the endpoint alone: when it drops the endpoint, it waits until the peer was told the end.
        drop(of_thread);
        // Without anybody to hear, it is closed.
        let _ = tell.send((number, connected));
    })?;
    Ok(endpoint)
}

/// Ends the tries that nobody needs. That takes some round trips, for which nobody waits.
fn give_up(endpoints: Vec<Endpoint>, told: Receiver<Told>) {
    if endpoints.is_empty() {
        return;
    }
    let end = move || {
        for (_, late) in told.try_iter() {
            if let Ok(connection) = late {
                connection.close(0, ELSEWHERE);
            }
        }
        endpoints.iter().for_each(Endpoint::close);
    };
    // Without a thread the process ends them.
    let _ = std::thread::Builder::new().name("shallop-give-up".to_owned()).spawn(end);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shallop_core::BitsPerSec;

    use super::*;
    use crate::trust::identity::{Identity, SERVER_NAME, ServerVerifier};

    fn config() -> Config {
        let wait = Duration::from_millis(20);
        Config { wait, ..Config::new(BitsPerSec::at_least_one(100_000_000)) }
    }

    /// A server of both families if there is IPv6, and what trusts it.
    fn server() -> (Endpoint, Tls) {
        let identity = Identity::make().unwrap();
        let any = (Ipv4Addr::LOCALHOST, 0).into();
        let endpoint = Endpoint::bind(any, config(), Tls::server(&identity)).unwrap();
        let trusts = ServerVerifier::pinned(identity.fingerprint());
        (endpoint, Tls::client(trusts as Arc<_>))
    }

    #[test]
    fn an_address_that_is_silent_costs_the_delay_and_one_without_a_way_nothing() {
        let (server, tls) = server();
        // A socket that takes datagrams and answers none.
        let deaf = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let silent = deaf.local_addr().unwrap();
        // Sockets without the option to broadcast have no way there.
        let no_way: SocketAddr = "255.255.255.255:9".parse().unwrap();
        for (addresses, delay) in [
            (vec![server.address()], Duration::ZERO),
            (vec![no_way, server.address()], Duration::ZERO),
            (vec![silent, server.address()], DELAY),
        ] {
            let begun = Instant::now();
            let found = connect(&addresses, SERVER_NAME, config(), tls.clone());
            let took = begun.elapsed();
            let (_endpoint, connection) = found.unwrap();
            assert_eq!(connection.remote_address(), Some(server.address()));
            assert!(took >= delay && took < delay + Duration::from_secs(5), "{took:?}");
        }
    }

    #[test]
    fn what_a_host_has_said_is_told_and_not_the_silence_of_another_address() {
        let (server, _) = server();
        let other = Identity::make().unwrap().fingerprint();
        let tls = Tls::client(ServerVerifier::pinned(other) as Arc<_>);
        let no_way: SocketAddr = "255.255.255.255:9".parse().unwrap();
        let addresses = [no_way, server.address()];
        let why = connect(&addresses, SERVER_NAME, config(), tls.clone()).err().unwrap();
        assert!(why.to_string().contains("certificate"), "{why}");
        let why = connect(&[no_way], SERVER_NAME, config(), tls).err().unwrap();
        assert!(matches!(why, QuicError::System(_)), "{why}");
    }
}
