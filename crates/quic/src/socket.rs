//! A UDP socket with a class for each datagram: DSCP and ECN of what is sent and of what arrives.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv6RecvTClass};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
};

use crate::connection::Datagram;
use crate::core::Arrival;

/// The longest datagram.
const LONGEST: usize = 9_216;

/// A socket that never waits.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: UdpSocket,
    buffer: Vec<u8>,
    control: Vec<u8>,
}

impl Socket {
    /// A socket at this address.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::new(UdpSocket::bind(address)?)
    }

    /// This socket.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        if socket.local_addr()?.is_ipv4() {
            setsockopt(&socket, IpRecvTos, &true)?;
        } else {
            setsockopt(&socket, Ipv6RecvTClass, &true)?;
        }
        Ok(Self { udp: socket, buffer: vec![0; LONGEST], control: cmsg_space!(i32, i32) })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// The next datagram, if there is one.
    pub(crate) fn receive(&mut self) -> io::Result<Option<Arrival<'_>>> {
        let fd = self.udp.as_raw_fd();
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let got =
            recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut self.control), MsgFlags::empty());
        let message = match got {
            Ok(message) => message,
            // The last one says that an earlier datagram was refused by its host.
            Err(nix::Error::EAGAIN | nix::Error::EINTR | nix::Error::ECONNREFUSED) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let mut tos = 0;
        for part in message.cmsgs()? {
            match part {
                ControlMessageOwned::Ipv4Tos(of) => tos = of,
                ControlMessageOwned::Ipv6TClass(of) => tos = of as u8,
                _ => {}
            }
        }
        let (length, from) = (message.bytes, message.address.and_then(address_of));
        let Some(from) = from else { return Ok(None) };
        Ok(Some(Arrival { from, to: None, tos, bytes: &self.buffer[..length] }))
    }

    /// Sends a datagram: false if there is no room for it at the moment.
    pub(crate) fn send(&self, datagram: &Datagram) -> io::Result<bool> {
        let parts = [IoSlice::new(&datagram.bytes)];
        let to = SockaddrStorage::from(datagram.to);
        let (tos, class) = (datagram.tos, i32::from(datagram.tos));
        let control = match datagram.to.ip() {
            IpAddr::V4(_) => [ControlMessage::Ipv4Tos(&tos)],
            IpAddr::V6(_) => [ControlMessage::Ipv6TClass(&class)],
        };
        let flags = MsgFlags::empty();
        match sendmsg(self.udp.as_raw_fd(), &parts, &control, flags, Some(&to)) {
            // Where the peer is gone, or was not there yet, what is lost is sent again.
            Ok(_)
            | Err(
                nix::Error::ECONNREFUSED
                | nix::Error::EPERM
                | nix::Error::ENETUNREACH
                | nix::Error::EHOSTUNREACH,
            ) => Ok(true),
            Err(nix::Error::EAGAIN | nix::Error::ENOBUFS) => Ok(false),

            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }
}

fn address_of(of: SockaddrStorage) -> Option<SocketAddr> {
    let v4 = of.as_sockaddr_in().map(|of| SocketAddr::from((of.ip(), of.port())));
    v4.or_else(|| of.as_sockaddr_in6().map(|of| SocketAddr::from((of.ip(), of.port()))))
}
