//! IPv4 over sockets of IPv6, and the control messages with DSCP and ECN, of which each family has its own.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
use nix::sys::socket::{ControlMessage, ControlMessageOwned, setsockopt};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind as bind_to, ipproto, socket_with};

/// A socket at this address. One at `[::]` is for IPv4, too, whatever `net.ipv6.bindv6only` says.
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

/// Whether a machine without IPv6 refuses a socket so: the family is switched off, or there is no such address.
pub(crate) fn is_without_ipv6(why: &io::Error) -> bool {
    let (unsupported, unavailable) =
        (rustix::io::Errno::AFNOSUPPORT, rustix::io::Errno::ADDRNOTAVAIL);
    [unsupported, unavailable].iter().any(|of| why.raw_os_error() == Some(of.raw_os_error()))
}

/// Asks for DSCP and ECN of what arrives, of each family that the socket may receive.
pub(crate) fn ask_for_tos(socket: &UdpSocket) -> io::Result<()> {
    if socket.local_addr()?.is_ipv6() {
        setsockopt(socket, Ipv6RecvTClass, &true)?;
    }
    Ok(setsockopt(socket, IpRecvTos, &true)?)
}

/// DSCP and ECN in a control message of either family.
pub(crate) fn tos_in(message: &ControlMessageOwned) -> Option<u8> {
    match message {
        ControlMessageOwned::Ipv4Tos(tos) => Some(*tos),
        ControlMessageOwned::Ipv6TClass(tos) => Some(*tos as u8),
        _ => None,
    }
}

/// DSCP and ECN as what the control message of one family holds.
pub(crate) struct Tos(u8, i32);

impl Tos {
    pub(crate) fn new(tos: u8) -> Self {
        Self(tos, i32::from(tos))
    }

    /// The control message for a datagram to this address, which is not an IPv4 address in the form of IPv6.
    pub(crate) fn message(&self, to: IpAddr) -> ControlMessage<'_> {
        match to {
            IpAddr::V4(_) => ControlMessage::Ipv4Tos(&self.0),
            IpAddr::V6(_) => ControlMessage::Ipv6TClass(&self.1),
        }
    }
}

/// An IPv4 address in its own form, also when a socket of IPv6 has given it as `::ffff:192.0.2.1`.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        ip @ IpAddr::V4(_) => SocketAddr::new(ip, address.port()),
        // The zone of a link-local address stays.
        IpAddr::V6(_) => address,
    }
}

/// An address as a socket takes it: one of IPv6 takes IPv4 addresses in the form of IPv6.
pub(crate) fn of_socket(to: SocketAddr, is_ipv6: bool) -> SocketAddr {
    match to {
        SocketAddr::V4(of) if is_ipv6 => (of.ip().to_ipv6_mapped(), of.port()).into(),
        _ => to,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV6};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::connection::Datagram;
    use crate::sockets::socket::{Inbox, Socket};

    /// What arrives within a while: from where, and DSCP with ECN.
    fn received(socket: &mut Socket) -> Option<(SocketAddr, u8)> {
        let (begun, mut inbox) = (Instant::now(), Inbox::default());
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

    /// Without IPv6 this is a test of IPv4 alone; `credits_are_kept_over_each_family_of_one_socket` in tests/it is
    /// then skipped, and says so.
    #[test]
    fn one_socket_has_the_classes_of_both_families_in_both_directions() {
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
            let datagram = |to, tos| Datagram { to, tos, bytes: vec![0x40; 30] };
            assert_eq!(one.send(&[datagram((ip, port).into(), 24 << 2 | 2)]), 1);
            assert_eq!(received(&mut dual), Some((address, 24 << 2 | 2)));
            assert_eq!(dual.send(&[datagram(address, 32 << 2)]), 1);
            assert_eq!(received(&mut one), Some(((ip, port).into(), 32 << 2)));
        }
    }

    #[test]
    fn addresses_of_ipv4_have_one_form_and_zones_stay() {
        let v4: SocketAddr = "192.0.2.1:7".parse().unwrap();
        let mapped: SocketAddr = "[::ffff:192.0.2.1]:7".parse().unwrap();
        assert_eq!((plain(mapped), plain(v4)), (v4, v4));
        assert_eq!((of_socket(v4, true), of_socket(v4, false)), (mapped, v4));
        let local = SocketAddr::V6(SocketAddrV6::new("fe80::1".parse().unwrap(), 7, 0, 3));
        assert_eq!((plain(local), of_socket(local, true)), (local, local));
    }
}
