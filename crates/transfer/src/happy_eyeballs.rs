//! Connects to a host with several addresses: attempts start one after the other with a short delay, and the first that
//! succeeds is used (Happy Eyeballs, RFC 8305; all addresses are resolved before the first attempt).

use pollster::block_on;
use shallop_quic::{Config, Connection, Endpoint, QuicError, Tls};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The delay between attempts (RFC 8305, 8: Connection Attempt Delay).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// The time limit of all attempts together.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The close reason of a connection that is not used because another address answered first.
pub(crate) const OTHER_ADDRESS_CHOSEN: &[u8] = b"another address has answered first";

/// The number of a connection attempt, and its outcome.
type Outcome = (usize, Result<Connection, QuicError>);

/// Connects to the first of these addresses that answers.
pub(crate) fn connect(
    addresses: &[SocketAddr], name: &str, config: Config, tls: &Tls,
) -> Result<(Endpoint, Connection), QuicError> {
    let (report, reports) = channel();
    let mut endpoints: Vec<Endpoint> = Vec::new();
    let mut addresses = addresses.iter();
    let (mut pending, until) = (0, Instant::now() + TIMEOUT);
    // The error of a host that answered says more than a timeout, and a timeout more than a missing route.
    let (mut answered, mut unroutable) = (None, None);
    let found = loop {
        // The next attempt starts after the delay, or as soon as an earlier one has failed.
        if let Some(&to) = addresses.next() {
            match start_attempt(to, name, config, tls, endpoints.len(), report.clone()) {
                Ok(endpoint) => {
                    endpoints.push(endpoint);
                    pending += 1;
                }
                Err(why) => {
                    unroutable.get_or_insert(why);
                    continue;
                }
            }
        }
        if pending == 0 {
            break None;
        }
        let left = until.saturating_duration_since(Instant::now());
        let is_last = addresses.len() == 0;
        match reports.recv_timeout(if is_last { left } else { ATTEMPT_DELAY.min(left) }) {
            Ok((number, Ok(connection))) => break Some((number, connection)),
            Ok((_, Err(why))) => {
                pending -= 1;
                answered = Some(why);
            }
            Err(RecvTimeoutError::Timeout) if !is_last && !left.is_zero() => {}
            Err(_) => break None,
        }
    };
    let chosen = found.map(|(number, connection)| (endpoints.swap_remove(number), connection));
    for (_, late) in reports.try_iter() {
        if let Ok(connection) = late {
            connection.close(0, OTHER_ADDRESS_CHOSEN);
        }
    }
    endpoints.iter().for_each(Endpoint::close);
    let unroutable = unroutable.filter(|_| pending == 0);
    let timeout = QuicError::NoAnswer(TIMEOUT.as_secs());
    chosen.ok_or_else(|| answered.or(unroutable).unwrap_or(timeout))
}

/// Starts a connection attempt in a thread of its own, which sends the outcome to `report`.
fn start_attempt(
    to: SocketAddr, name: &str, config: Config, tls: &Tls, number: usize, report: Sender<Outcome>,
) -> Result<Endpoint, QuicError> {
    let any: SocketAddr = match to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // Connecting a UDP socket sends nothing; the kernel refuses at once if there is no route.
    UdpSocket::bind(any)?.connect(to)?;
    let endpoint = Endpoint::bind(any, config, tls.clone())?;
    let (of_thread, name) = (endpoint.clone(), name.to_owned());
    std::thread::Builder::new().name("shallop-connect".to_owned()).spawn(move || {
        // Without a receiver of reports, the connection is closed.
        let _ = report.send((number, block_on(of_thread.connect(to, &name))));
    })?;
    Ok(endpoint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::BitsPerSec;
    use shallop_quic::{code::Code, identity::SERVER_NAME};

    fn config() -> Config {
        let wait = Duration::from_millis(20);
        Config { wait, ..Config::new(BitsPerSec::at_least_one(100_000_000)) }
    }

    /// Binds a server, and makes the settings of a client with its code.
    fn server() -> (Endpoint, Tls) {
        let (code, any) = (Code::make().unwrap(), (Ipv4Addr::LOCALHOST, 0).into());
        let endpoint = Endpoint::bind(any, config(), Tls::server_with(code.clone()).unwrap()).unwrap();
        (endpoint, Tls::client_with(code))
    }

    #[test]
    fn a_silent_address_costs_the_delay_and_an_unroutable_one_nothing() {
        let (server, tls) = server();
        // A socket that receives and never answers.
        let deaf = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let silent = deaf.local_addr().unwrap();
        // Without SO_BROADCAST a socket cannot connect to the broadcast address.
        let unroutable: SocketAddr = "255.255.255.255:9".parse().unwrap();
        for (addresses, delay) in [
            (vec![server.address()], Duration::ZERO),
            (vec![unroutable, server.address()], Duration::ZERO),
            (vec![silent, server.address()], ATTEMPT_DELAY),
        ] {
            let begun = Instant::now();
            let found = connect(&addresses, SERVER_NAME, config(), &tls);
            let took = begun.elapsed();
            let (_endpoint, connection) = found.unwrap();
            assert_eq!(connection.remote_address(), Some(server.address()));
            assert!(took >= delay && took < delay + Duration::from_secs(5), "{took:?}");
        }
    }

    #[test]
    fn the_error_of_a_host_that_answered_is_reported_before_others() {
        let (server, _) = server();
        let tls = Tls::client_with(Code::make().unwrap());
        let unroutable: SocketAddr = "255.255.255.255:9".parse().unwrap();
        let addresses = [unroutable, server.address()];
        let why = connect(&addresses, SERVER_NAME, config(), &tls).err().unwrap();
        assert!(matches!(why, QuicError::WrongCode), "{why}");
        let why = connect(&[unroutable], SERVER_NAME, config(), &tls).err().unwrap();
        assert!(matches!(why, QuicError::System(_)), "{why}");
    }
}
