//! IPv4 over IPv6 sockets, and the control messages of both families for DSCP and ECN.

use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, setsockopt};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, set_ip_mtu_discover, set_ipv6_mtu_discover};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind as bind_to, ipproto, socket_with};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Binds a UDP socket. A socket at `[::]` also receives IPv4, regardless of `net.ipv6.bindv6only`.
pub(crate) fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    if !(address.is_ipv6() && address.ip().is_unspecified()) {
        return UdpSocket::bind(address);
    }
    let (family, kind, flags) = (AddressFamily::INET6, SocketType::DGRAM, SocketFlags::CLOEXEC);
    let socket = socket_with(family, kind, flags, Some(ipproto::UDP))?;
    rustix::net::sockopt::set_ipv6_v6only(&socket, false)?;
    bind_to(&socket, &address)?;
    Ok(socket.into())
}

/// Whether this error of binding to an IPv6 address means that the system has no IPv6.
pub(crate) fn is_without_ipv6(why: &io::Error) -> bool {
    let (unsupported, unavailable) = (rustix::io::Errno::AFNOSUPPORT, rustix::io::Errno::ADDRNOTAVAIL);
    [unsupported, unavailable].iter().any(|of| why.raw_os_error() == Some(of.raw_os_error()))
}

/// Enables control messages with the DSCP and ECN of received datagrams, for each family that the socket may receive.
pub(crate) fn enable_tos(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv6() {
        setsockopt(socket, Ipv6RecvTClass, &true)?;
    }
    Ok(setsockopt(socket, IpRecvTos, &true)?)
}

/// Sends all datagrams with "don't fragment" (RFC 9000, section 14). QUIC finds the MTU of the path by itself (RFC
/// 8899), so the kernel's value, which anybody may lower by a forged ICMP message, is not used.
pub(crate) fn forbid_fragments(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv6() {
        set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::PROBE)?;
    }
    Ok(set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::PROBE)?)
}

/// The DSCP and ECN in a control message of either family.
pub(crate) fn tos_in(message: &ControlMessageOwned) -> Option<u8> {
    match message {
        ControlMessageOwned::Ipv4Tos(tos) => Some(*tos),
        ControlMessageOwned::Ipv6TClass(tos) => Some(*tos as u8),
        _ => None,
    }
}

/// A TOS byte (DSCP and ECN) in the types that control messages of IPv4 and IPv6 take.
pub(crate) struct Tos(u8, i32);

impl Tos {
    pub(crate) fn new(tos: u8) -> Self {
        Self(tos, i32::from(tos))
    }

    /// The control message for a datagram to this canonical address.
    pub(crate) fn message(&self, to: IpAddr) -> ControlMessage<'_> {
        match to {
            IpAddr::V4(_) => ControlMessage::Ipv4Tos(&self.0),
            IpAddr::V6(_) => ControlMessage::Ipv6TClass(&self.1),
        }
    }
}

/// Converts an IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) to IPv4.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        // The zone of a link-local address has to stay.
        IpAddr::V6(_) => address,
    }
}

/// Converts an address to the form that a socket takes: an IPv6 socket takes IPv4-mapped addresses.
pub(crate) fn for_socket(to: SocketAddr, is_ipv6: bool) -> SocketAddr {
    match to {
        SocketAddr::V4(of) if is_ipv6 => (of.ip().to_ipv6_mapped(), of.port()).into(),
        _ => to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sockets::datagram::OutgoingDatagram;
    use crate::sockets::socket::{ReceiveBuffers, Socket};
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};
    use std::time::{Duration, Instant};

    /// The source address, and the DSCP and ECN of a datagram that arrives within 5 s.
    fn received(socket: &mut Socket) -> Option<(SocketAddr, u8)> {
        let (begun, mut inbox) = (Instant::now(), ReceiveBuffers::default());
        while begun.elapsed() < Duration::from_secs(5) {
            let mut found = None;
            socket.receive(&mut inbox, |of| found = Some((of.from, of.tos))).unwrap();
            if found.is_some() {
                return found;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Without IPv6 this tests only IPv4; `credits_are_kept_over_each_family_of_one_socket` in tests/it is skipped
    /// then.
    #[test]
    fn a_dual_stack_socket_sends_and_receives_dscp_and_ecn_over_both_families() {
        let has_ipv6 = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
        let [v4, v6] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let (any, families) = if has_ipv6 {
            (IpAddr::V6(Ipv6Addr::UNSPECIFIED), vec![v4, v6])
        } else {
            (IpAddr::V4(Ipv4Addr::UNSPECIFIED), vec![v4])
        };
        let mut dual = Socket::bind((any, 0).into()).unwrap();
        let port = dual.address().unwrap().port();
        for ip in families {
            let mut one = Socket::bind((ip, 0).into()).unwrap();
            let address = one.address().unwrap();
            let datagram = |to, tos| OutgoingDatagram { to, tos, bytes: vec![0x40; 30] };
            assert_eq!(one.send(&[datagram((ip, port).into(), 24 << 2 | 2)]), 1);
            assert_eq!(received(&mut dual), Some((address, 24 << 2 | 2)));
            assert_eq!(dual.send(&[datagram(address, 32 << 2)]), 1);
            assert_eq!(received(&mut one), Some(((ip, port).into(), 32 << 2)));
        }
    }

    #[test]
    fn mapped_addresses_are_converted_and_zones_stay() {
        let v4: SocketAddr = "192.0.2.1:7".parse().unwrap();
        let mapped: SocketAddr = "[::ffff:192.0.2.1]:7".parse().unwrap();
        assert_eq!((canonical(mapped), canonical(v4)), (v4, v4));
        assert_eq!((for_socket(v4, true), for_socket(v4, false)), (mapped, v4));
        let local = SocketAddr::V6(SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, 3));
        assert_eq!((canonical(local), for_socket(local, true)), (local, local));
    }
}
