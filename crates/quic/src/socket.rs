//! A UDP socket with a class for each datagram: DSCP and ECN of what is sent and of what arrives.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg, sendmsg};

use crate::connection::Datagram;
use crate::core::Arrival;
use crate::dual::{self, Tos};

/// The longest datagram.
const LONGEST: usize = 9_216;

/// A socket that never waits.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: UdpSocket,
    is_ipv6: bool,
    buffer: Vec<u8>,
    control: Vec<u8>,
}

impl Socket {
    /// A socket at this address.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::new(dual::bind(address)?)
    }

    /// This socket.
    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        dual::ask_for_tos(&socket)?;
        let is_ipv6 = socket.local_addr()?.is_ipv6();
        Ok(Self { udp: socket, is_ipv6, buffer: vec![0; LONGEST], control: cmsg_space!(i32, i32) })
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
        let tos = message.cmsgs()?.find_map(|part| dual::tos_in(&part)).unwrap_or(0);
        let (length, from) = (message.bytes, message.address.and_then(address_of));
        let Some(from) = from else { return Ok(None) };
        Ok(Some(Arrival { from, to: None, tos, bytes: &self.buffer[..length] }))
    }

    /// Sends a datagram: false if there is no room for it at the moment.
    pub(crate) fn send(&self, datagram: &Datagram) -> io::Result<bool> {
        let parts = [IoSlice::new(&datagram.bytes)];
        let to = SockaddrStorage::from(dual::of_socket(datagram.to, self.is_ipv6));
        let tos = Tos::new(datagram.tos);
        let control = [tos.message(datagram.to.ip())];
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
    let address = v4.or_else(|| of.as_sockaddr_in6().map(|of| SocketAddrV6::from(*of).into()));
    address.map(dual::plain)
}
