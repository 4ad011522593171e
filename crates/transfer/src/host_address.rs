//! Host names and addresses as users write them: `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`.

use crate::session::PORT;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::{fmt, io};

/// A host name, an IPv4 address or an IPv6 address, and a UDP port, [`PORT`] by default. An IPv6 address before a port
/// is in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAddress {
    name: String,
    port: u16,
}

/// Why a text is not a host address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostAddressError {
    #[error("the name of the host is missing: HOST, HOST:PORT or [ADDRESS]:PORT")]
    Empty,
    #[error("a port is a number from 1 to 65535")]
    Port,
    #[error("an IPv6 address with a port is [ADDRESS]:PORT")]
    Brackets,
    #[error("HOST[:PORT] has no folder behind it: the folder is chosen at the receiver")]
    Folder,
    #[error("the host is missing: this is a path, and the receiver is the last argument")]
    Path,
    #[error("{0:?} has no place in the name of a host")]
    Character(char),
}

impl HostAddress {
    /// The name or the address, without brackets.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Resolves the name. IPv6 and IPv4 addresses alternate, IPv6 first (RFC 8305, 4), each family in the order of the
    /// resolver.
    ///
    /// # Errors
    /// The system cannot resolve the name.
    pub fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(alternate((self.name.as_str(), self.port).to_socket_addrs()?))
    }
}

impl FromStr for HostAddress {
    type Err = HostAddressError;

    fn from_str(text: &str) -> Result<Self, HostAddressError> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, behind) = rest.split_once(']').ok_or(HostAddressError::Brackets)?;
                match behind.strip_prefix(':') {
                    Some(port) => (name, Some(port)),
                    None if behind.is_empty() => (name, None),
                    None => return Err(HostAddressError::Brackets),
                }
            }
            // Two or more colons are part of an IPv6 address.
            None => match text.split_once(':') {
                Some((name, port)) if !port.contains(':') => (name, Some(port)),
                _ => (text, None),
            },
        };
        if name.is_empty() {
            return Err(HostAddressError::Empty);
        }
        let is_address = name.contains(':');
        let fits = |of: char| of.is_alphanumeric() || matches!(of, '.' | '-' | '_');
        // An IPv6 address may end in a zone after a %.
        let odd = name.chars().find(|&of| !(fits(of) || is_address && matches!(of, ':' | '%')));
        if let Some(odd) = odd {
            return Err(if odd == '/' { HostAddressError::Path } else { HostAddressError::Character(odd) });
        }
        if port.is_some_and(|port| port.starts_with(['/', '~', '.'])) {
            return Err(HostAddressError::Folder);
        }
        let digits = |port: &&str| !port.is_empty() && port.bytes().all(|of| of.is_ascii_digit());
        let port = match port {
            None => PORT,
            Some(port) => Some(port).filter(digits).and_then(|of| of.parse().ok()).unwrap_or(0),
        };
        if port == 0 {
            return Err(HostAddressError::Port);
        }
        Ok(Self { name: name.to_owned(), port })
    }
}

/// Writes the host as the file of known hosts has it: with the port, and an IPv6 address in brackets.
impl fmt::Display for HostAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.name.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}:{}", self.name, self.port)
    }
}

/// Alternates IPv6 and IPv4 addresses and removes duplicates.
fn alternate(addresses: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let (v6, v4): (Vec<_>, Vec<_>) = addresses.partition(SocketAddr::is_ipv6);
    let longest = v6.len().max(v4.len());
    let mut all = Vec::new();
    for address in (0..longest).flat_map(|at| [v6.get(at), v4.get(at)]).flatten() {
        if !all.contains(address) {
            all.push(*address);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `host_addresses.txt` has an address a line, and what it means or why it is refused.
    #[test]
    fn addresses_are_read_as_the_table_says() {
        for line in include_str!("../tests/host_addresses.txt").lines().filter(|line| !line.starts_with('#')) {
            let (text, said) = line.split_once(" | ").unwrap();
            let text = text.trim_end().replace("\\n", "\n");
            let found = text.parse::<HostAddress>();
            let told = match &found {
                Ok(host) => format!("{}, port {}, shown as {host}", host.name(), host.port()),
                Err(why) => format!("{why:?}"),
            };
            assert_eq!(told, said, "{text:?}");
            assert!(found.is_err() || found == found.as_ref().unwrap().to_string().parse(), "{text}");
        }
    }

    #[test]
    fn ipv6_and_ipv4_addresses_alternate() {
        let of = |all: &[&str]| -> Vec<SocketAddr> { all.iter().map(|of| of.parse().unwrap()).collect() };
        let given = of(&["1.0.0.1:1", "1.0.0.2:1", "[2::1]:1", "1.0.0.3:1", "1.0.0.1:1"]);
        let expected = of(&["[2::1]:1", "1.0.0.1:1", "1.0.0.2:1", "1.0.0.3:1"]);
        assert_eq!(alternate(given.into_iter()), expected);
        let host: HostAddress = "127.0.0.1:9".parse().unwrap();
        assert_eq!(host.addresses().unwrap(), of(&["127.0.0.1:9"]));
    }
}
