//! A UDP socket with a class for each datagram: DSCP and ECN of what is sent and of what arrives. Datagrams of one
//! class that leave together cost one system call, and those that arrive together do, too.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, UdpGroSegment};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage,
    recvmmsg, sendmmsg, sendmsg, setsockopt,
};

use crate::connection::Datagram;
use crate::sockets::datagram::Arrival;
use crate::sockets::dual::{self, Tos};

/// The most bytes that arrive as one: segments that the system has put together, or the longest datagram.
const LONGEST: usize = 1 << 16;
/// Bytes that the system is asked to hold for a socket: what 10 Gb/s carry in 3 ms, in which a thread may have to wait
/// for a processor.
const HELD: usize = 4 << 20;
/// The most messages of one system call.
const MESSAGES: usize = 16;

/// Where datagrams arrive. Sockets of one thread may share it.
#[derive(Debug)]
pub(crate) struct Inbox {
    buffer: Vec<u8>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self::of(MESSAGES)
    }
}

impl Inbox {
    /// One for so many messages of one system call.
    pub(crate) fn of(messages: usize) -> Self {
        Self { buffer: vec![0; LONGEST * messages] }
    }
}

/// A socket that never waits.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: UdpSocket,
    is_ipv6: bool,
    /// DSCP and ECN of datagrams of which two may leave as one.
    paired: Option<u8>,
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
        // The system gives what it allows.
        let _ = setsockopt(&socket, RcvBuf, &HELD);
        // An older kernel hands over segments one by one.
        let _ = setsockopt(&socket, UdpGroSegment, &true);
        Ok(Self { udp: socket, is_ipv6, paired: None })
    }

    /// The same, which sends two datagrams with this DSCP and ECN as one (UDP segmentation offload).
    pub(crate) fn pairing(self, tos: Option<u8>) -> Self {
        Self { paired: tos, ..self }
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Takes datagrams that have arrived, and returns whether there may be more.
    pub(crate) fn receive(
        &self,
        inbox: &mut Inbox,
        mut take: impl FnMut(&Arrival<'_>),
    ) -> io::Result<bool> {
        let most = inbox.buffer.len() / LONGEST;
        let mut headers =
            MultiHeaders::<SockaddrStorage>::preallocate(most, Some(cmsg_space!(i32, i32)));
        let slots = inbox.buffer.chunks_exact_mut(LONGEST);
        let mut slots: Vec<_> = slots.map(|slot| [IoSliceMut::new(slot)]).collect();
        let fd = self.udp.as_raw_fd();
        let got = recvmmsg(fd, &mut headers, slots.iter_mut(), MsgFlags::empty(), None);
        let messages = match got {
            Ok(messages) => messages,
            // The last one says that an earlier datagram was refused by its host.
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut count = 0;
        for message in messages {
            count += 1;
            let (tos, segment) = labels_of(&message)?;
            let Some(from) = message.address.and_then(address_of) else { continue };
            for bytes in message.iovs().flat_map(|bytes| bytes.chunks(segment)) {
                take(&Arrival { from, to: None, tos, bytes });
            }
        }
        Ok(count == most)
    }

    /// Sends the first of these datagrams, as many as one system call takes, and returns how many; none if there is no
    /// room at the moment.
    pub(crate) fn send(&mut self, datagrams: &[Datagram]) -> io::Result<usize> {
        let Some(first) = datagrams.first() else { return Ok(0) };
        let batch = Batch::first_of(datagrams, self.is_ipv6, self.paired);
        match batch.send(self.udp.as_raw_fd(), first) {
            Ok(sent) => Ok(sent),
            // Where the peer is gone, or was not there yet, what is lost is sent again.
            Err(Errno::ECONNREFUSED | Errno::EPERM | Errno::ENETUNREACH | Errno::EHOSTUNREACH) => {
                Ok(1)
            }
            Err(Errno::EAGAIN | Errno::ENOBUFS) => Ok(0),
            // A device or a kernel that does not take two as one.
            Err(Errno::EIO | Errno::EINVAL) if self.paired.is_some() => {
                self.paired = None;
                self.send(datagrams)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }
}

/// The first datagrams of many, all of one class and one kind of address, as messages of one or two.
struct Batch<'a> {
    messages: Vec<Vec<IoSlice<'a>>>,
    addresses: Vec<Option<SockaddrStorage>>,
    /// The length of segments, if there is a message with two.
    segment: Option<u16>,
}

impl<'a> Batch<'a> {
    fn first_of(datagrams: &'a [Datagram], is_ipv6: bool, paired: Option<u8>) -> Self {
        let mut batch = Self { messages: Vec::new(), addresses: Vec::new(), segment: None };
        let Some(first) = datagrams.first() else { return batch };
        let (length, may_pair) = (first.bytes.len(), paired == Some(first.tos));
        let is_like = |of: &&Datagram| {
            of.tos == first.tos
                && of.to.is_ipv4() == first.to.is_ipv4()
                && !(may_pair && of.bytes.len() > length)
        };
        let mut open: Option<&Datagram> = None;
        for datagram in datagrams.iter().take_while(is_like) {
            let part = IoSlice::new(&datagram.bytes);
            // Only the last segment of a message may be shorter.
            let joins = open.take_if(|of| of.to == datagram.to);
            if let (Some(message), Some(_)) = (batch.messages.last_mut(), joins) {
                message.push(part);
                batch.segment = u16::try_from(length).ok();
            } else if batch.messages.len() == MESSAGES {
                break;
            } else {
                batch.messages.push(vec![part]);
                let to = dual::of_socket(datagram.to, is_ipv6);
                batch.addresses.push(Some(SockaddrStorage::from(to)));
                open = Some(datagram).filter(|of| may_pair && of.bytes.len() == length);
            }
        }
        batch
    }

    /// Sends them, and returns how many datagrams the system has taken.
    fn send(&self, fd: i32, first: &Datagram) -> Result<usize, Errno> {
        let tos = Tos::new(first.tos);
        let mut control = vec![tos.message(first.to.ip())];
        control.extend(self.segment.as_ref().map(ControlMessage::UdpGsoSegments));
        let flags = MsgFlags::empty();
        if let ([message], [address]) = (&self.messages[..], &self.addresses[..]) {
            sendmsg(fd, message, &control, flags, address.as_ref())?;
            return Ok(message.len());
        }
        // The room is that of the control messages: the system reads all of it.
        let room = if self.segment.is_some() { cmsg_space!(i32, u16) } else { cmsg_space!(i32) };
        let mut headers = MultiHeaders::preallocate(self.messages.len(), Some(room));
        let sent =
            sendmmsg(fd, &mut headers, &self.messages, &self.addresses, &control, flags)?.count();
        Ok(self.messages[..sent].iter().map(Vec::len).sum())
    }
}

/// DSCP and ECN of a message, and the length of its datagrams.
fn labels_of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> io::Result<(u8, usize)> {
    let (mut tos, mut segment) = (0, LONGEST);
    for part in message.cmsgs()? {
        match part {
            ControlMessageOwned::UdpGroSegments(of) => segment = of.max(1) as usize,
            other => tos = dual::tos_in(&other).unwrap_or(tos),
        }
    }
    Ok((tos, segment))
}

fn address_of(of: SockaddrStorage) -> Option<SocketAddr> {
    let v4 = of.as_sockaddr_in().map(|of| SocketAddr::from((of.ip(), of.port())));
    let address = v4.or_else(|| of.as_sockaddr_in6().map(|of| SocketAddrV6::from(*of).into()));
    address.map(dual::plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    const DATA: u8 = 10 << 2 | 2;
    const OTHER: u8 = 32 << 2;

    fn socket() -> Socket {
        Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    }

    /// Sends these, and returns what arrives and how many system calls sending took.
    fn pass(sender: &mut Socket, all: &[(u8, usize)]) -> (Vec<(u8, usize, u8)>, usize) {
        let receiver = socket();
        let to = receiver.address().unwrap();
        let make = |(number, &(tos, length)): (usize, &(u8, usize))| Datagram {
            to,
            tos,
            bytes: vec![number as u8; length],
        };
        let datagrams: Vec<Datagram> = all.iter().enumerate().map(make).collect();
        let (mut rest, mut calls) = (&datagrams[..], 0);
        while !rest.is_empty() {
            rest = &rest[sender.send(rest).unwrap()..];
            calls += 1;
        }
        let (mut inbox, mut arrived) = (Inbox::default(), Vec::new());
        let begun = Instant::now();
        while arrived.len() < all.len() && begun.elapsed() < Duration::from_secs(5) {
            let take = |of: &Arrival<'_>| {
                assert_eq!(Ok(of.from), sender.address().map_err(|_| ()));
                assert!(of.bytes.iter().all(|&byte| byte == of.bytes[0]), "two became one");
                arrived.push((of.tos, of.bytes.len(), of.bytes[0]));
            };
            receiver.receive(&mut inbox, take).unwrap();
        }
        (arrived, calls)
    }

    fn expected(all: &[(u8, usize)]) -> Vec<(u8, usize, u8)> {
        all.iter().zip(0..).map(|(&(tos, length), number)| (tos, length, number)).collect()
    }

    #[test]
    fn datagrams_of_one_class_leave_together_and_each_keeps_its_class() {
        let mut all = vec![(DATA, 1_472); 20];
        all.extend([(OTHER, 18), (OTHER, 25), (DATA, 1_000)]);
        let (arrived, calls) = pass(&mut socket(), &all);
        assert_eq!(arrived, expected(&all));
        assert_eq!(calls, 4, "16, then the other 4 of data, two of another class, and the last");
    }

    #[test]
    fn two_of_the_paired_class_leave_as_one_and_arrive_as_two() {
        let mut all = vec![(DATA, 1_472); 5];
        all.extend([(DATA, 700), (DATA, 300), (OTHER, 18), (OTHER, 18), (DATA, 40), (DATA, 900)]);
        let mut sender = socket().pairing(Some(DATA));
        let (arrived, _) = pass(&mut sender, &all);
        assert_eq!(arrived, expected(&all));
        assert_eq!(sender.paired, Some(DATA), "loopback takes two as one");
    }

    #[test]
    fn a_message_has_two_datagrams_at_most_and_only_the_last_is_shorter() {
        let to = (Ipv4Addr::LOCALHOST, 9).into();
        let make = |length| Datagram { to, tos: DATA, bytes: vec![0; length] };
        let lengths = [1_472, 1_472, 1_472, 900, 900, 900, 1_472, 1_500, 1_472];
        let datagrams = lengths.map(make);
        let of = |paired| {
            let batch = Batch::first_of(&datagrams, false, paired);
            let lengths = |of: &Vec<IoSlice<'_>>| of.iter().map(|part| part.len()).collect();
            (batch.messages.iter().map(lengths).collect::<Vec<Vec<usize>>>(), batch.segment)
        };
        let paired = [&[1_472, 1_472][..], &[1_472, 900], &[900], &[900], &[1_472]];
        let paired: Vec<Vec<usize>> = paired.into_iter().map(<[usize]>::to_vec).collect();
        assert_eq!(of(Some(DATA)), (paired, Some(1_472)), "a longer one begins another batch");
        assert_eq!(of(None), (lengths.map(|length| vec![length]).to_vec(), None));
        assert_eq!(of(Some(OTHER)).1, None);
    }
}
