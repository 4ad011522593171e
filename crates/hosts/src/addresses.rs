//! Addresses and ports of real hosts, which follow from the number of the host.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};

/// The difference between the two IPv4 addresses of a host: 10.128.0.1 also belongs to host 0. A user may give the
/// second address to a host's interface, and the network delivers packets to it.
const SECOND: u32 = 1 << 23;

/// The IPv4 address of a host: 10.0.0.1 for host 0.
pub fn address(host: u32) -> u32 {
    (10 << 24) + host + 1
}

/// The IPv4 address of a host with a port.
pub fn socket(host: u32, port: u16) -> SocketAddr {
    SocketAddrV4::new(Ipv4Addr::from_bits(address(host)), port).into()
}

/// The IPv6 address of a host: `fd00::1` for host 0.
pub fn address_v6(host: u32) -> u128 {
    V6_PREFIX | u128::from(host + 1)
}

/// The prefix of the IPv6 addresses of hosts, `fd00::`.
const V6_PREFIX: u128 = 0xfd00 << 112;
/// The first byte of the 32-bit form of a host's IPv6 address. IPv4 addresses of hosts begin with 10.
const V6: u32 = 6;

/// A 32-bit form of a host's IPv6 address, which differs from all IPv4 addresses of hosts; zero for other addresses.
pub fn from_v6(address: [u8; 16]) -> u32 {
    let number = u128::from_be_bytes(address) ^ V6_PREFIX;
    let number = u32::try_from(number).ok().filter(|number| number >> 24 == 0);
    number.map_or(0, |number| (V6 << 24) + number)
}

pub fn host_of(address: u32) -> Option<u32> {
    match address >> 24 {
        10 => (address & 0x00ff_ffff & !SECOND).checked_sub(1),
        V6 => (address & 0x00ff_ffff).checked_sub(1),
        _ => None,
    }
}

pub fn text(address: u32) -> String {
    match host_of(address).filter(|_| address >> 24 == V6) {
        Some(host) => Ipv6Addr::from_bits(address_v6(host)).to_string(),
        None => Ipv4Addr::from_bits(address).to_string(),
    }
}

/// The Ethernet address of a host, which is administered locally.
pub fn mac(host: u32) -> [u8; 6] {
    let [_, a, b, c] = host.to_be_bytes();
    [2, 0, 0, a, b, c]
}

pub const QUIC_PORT: u16 = 4_998;
pub const UDP_PORT: u16 = 4_999;
/// The destination port of TCP flows with the first congestion controller of the run; further controllers follow.
pub const FIRST_TCP_PORT: u16 = 5_000;
/// The source port of the first flow of a host.
pub const FIRST_SOURCE_PORT: u16 = 10_000;
/// The most flows that one host may send in a run.
pub const MAX_FLOWS_PER_HOST: usize = 50_000;

/// The text of /etc/hosts in a host. `names` are the names of all hosts, by number.
pub fn hosts_file(names: &[String], has_v6: bool) -> String {
    let lines = (0..).zip(names).flat_map(|(host, name)| {
        let v4 = format!("{} {name}\n", Ipv4Addr::from_bits(address(host)));
        let v6 = format!("{} {name}\n", Ipv6Addr::from_bits(address_v6(host)));
        [Some(v4), has_v6.then_some(v6)].into_iter().flatten()
    });
    std::iter::once("127.0.0.1 localhost\n".to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_and_ipv6_addresses_name_the_same_host() {
        for host in [0, 1, 249] {
            let v6 = from_v6(address_v6(host).to_be_bytes());
            assert_eq!((host_of(address(host)), host_of(v6)), (Some(host), Some(host)));
            assert_ne!(address(host), v6);
            assert_eq!(host_of(address(host) + (128 << 16)), Some(host), "10.128.0.1 and so on");
        }
        assert_eq!(text(from_v6(address_v6(0).to_be_bytes())), "fd00::1");
        assert_eq!(text(address(0)), "10.0.0.1");
        for other in [0xff02_u128 << 112 | 1, 1, 0xfe80 << 112 | 1, 0xfd00 << 112 | 1 << 40] {
            assert_eq!(host_of(from_v6(other.to_be_bytes())), None);
        }
    }
}
