//! Hosts as users name them: `HOST` or `HOST:PORT`.

use std::fmt;
use std::io;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::files::session::PORT;

/// A host and its port: a name, an IPv4 address, or an IPv6 address, which has brackets around it if a port follows.
/// Without a port it is [`PORT`]'s.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    name: String,
    port: u16,
}

/// What was to be a host is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// There is no name.
    #[error("the name of the host is missing: HOST, HOST:PORT or [ADDRESS]:PORT")]
    Empty,
    /// The port is none.
    #[error("a port is a number from 1 to 65535")]
    Port,
    /// There is a bracket without the other one, or something between it and the port.
    #[error("an IPv6 address with a port is [ADDRESS]:PORT")]
    Brackets,
    /// A name has letters, digits, dots, hyphens and underscores.
    #[error("{0:?} has no place in the name of a host")]
    Character(char),
}

impl Host {
    /// The name or the address, without brackets.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its addresses, in the order in which they are tried: IPv6 and IPv4 in turn, IPv6 first (RFC 8305, 4), each kind
    /// in the order in which the system gives them.
    ///
    /// # Errors
    /// If the system knows no such name.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(in_turn((self.name.as_str(), self.port).to_socket_addrs()?))
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, behind) = rest.split_once(']').ok_or(HostError::Brackets)?;
                match behind.strip_prefix(':') {
                    Some(port) => (name, Some(port)),
                    None if behind.is_empty() => (name, None),
                    None => return Err(HostError::Brackets),
                }
            }
            // More colons than one are those of an address.
            None => match text.split_once(':') {
                Some((name, port)) if !port.contains(':') => (name, Some(port)),
                _ => (text, None),
            },
        };
        if name.is_empty() {
            return Err(HostError::Empty);
        }
        let is_address = name.contains(':');
        let fits = |of: char| of.is_alphanumeric() || matches!(of, '.' | '-' | '_');
        // Behind the % is the zone of a link-local address.
        let odd = name.chars().find(|&of| !(fits(of) || is_address && matches!(of, ':' | '%')));
        if let Some(odd) = odd {
            return Err(HostError::Character(odd));
        }
        let digits = |port: &&str| !port.is_empty() && port.bytes().all(|of| of.is_ascii_digit());
        let port = match port {
            None => PORT,
            Some(port) => Some(port).filter(digits).and_then(|of| of.parse().ok()).unwrap_or(0),
        };
        if port == 0 {
            return Err(HostError::Port);
        }
        Ok(Self { name: name.to_owned(), port })
    }
}

/// With the port, and brackets around an IPv6 address: the form in the file of known hosts.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.name.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.name, self.port)
    }
}

/// Addresses of IPv6 and IPv4 in turn, each once.
fn in_turn(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (v6, v4): (Vec<_>, Vec<_>) =
        addresses.map(crate::sockets::dual::plain).partition(SocketAddr::is_ipv6);
    let longest = v6.len().max(v4.len());
    let mut all = Vec::new();
    for address in (0..longest).flat_map(|at| [v6.get(at), v4.get(at)]).flatten() {
        if !all.contains(address) {
            all.push(*address);
        }
    }
    all
}

/// The address of any port of all addresses of this host: of IPv4 as well, where the machine has both.
pub(crate) fn anywhere(port: u16) -> SocketAddr {
    (Ipv6Addr::UNSPECIFIED, port).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_with_and_without_a_port() {
        for (text, name, port, shown) in [
            ("ship", "ship", 4_747, "ship:4747"),
            ("ship.example:22", "ship.example", 22, "ship.example:22"),
            ("192.0.2.1", "192.0.2.1", 4_747, "192.0.2.1:4747"),
            ("192.0.2.1:5", "192.0.2.1", 5, "192.0.2.1:5"),
            ("::1", "::1", 4_747, "[::1]:4747"),
            ("[::1]", "::1", 4_747, "[::1]:4747"),
            ("[fe80::1%eth0]:9", "fe80::1%eth0", 9, "[fe80::1%eth0]:9"),
            ("münchen", "münchen", 4_747, "münchen:4747"),
        ] {
            let host: Host = text.parse().unwrap();
            assert_eq!((host.name(), host.port()), (name, port), "{text}");
            assert_eq!(host.to_string(), shown);
            assert_eq!(shown.parse(), Ok(host));
        }
    }

    #[test]
    fn what_is_no_host_is_refused_with_the_reason() {
        for (text, why) in [
            ("", HostError::Empty),
            (":4747", HostError::Empty),
            ("[]:1", HostError::Empty),
            ("ship:", HostError::Port),
            ("ship:0", HostError::Port),
            ("ship:65536", HostError::Port),
            ("ship:+1", HostError::Port),
            ("ship:ssh", HostError::Port),
            ("[::1", HostError::Brackets),
            ("[::1]4747", HostError::Brackets),
            ("my ship", HostError::Character(' ')),
            ("ship\n", HostError::Character('\n')),
            ("user@ship", HostError::Character('@')),
            ("notes/ship", HostError::Character('/')),
        ] {
            assert_eq!(text.parse::<Host>(), Err(why), "{text:?}");
        }
    }

    #[test]
    fn addresses_of_both_families_take_turns() {
        let of = |all: &[&str]| -> Vec<SocketAddr> {
            all.iter().map(|of| of.parse().unwrap()).collect()
        };
        let given = of(&["1.0.0.1:1", "1.0.0.2:1", "[2::1]:1", "1.0.0.3:1", "1.0.0.1:1"]);
        let expected = of(&["[2::1]:1", "1.0.0.1:1", "1.0.0.2:1", "1.0.0.3:1"]);
        assert_eq!(in_turn(given.into_iter()), expected);
        let host: Host = "127.0.0.1:9".parse().unwrap();
        assert_eq!(host.addresses().unwrap(), of(&["127.0.0.1:9"]));
    }
}
