//! A UDP socket that sends and receives the DSCP and ECN of each datagram. One system call sends several datagrams with
//! equal DSCP and ECN, and one receives several datagrams.

use crate::sockets::batch::{Batch, MESSAGES};
use crate::sockets::datagram::{DatagramDrops, IncomingDatagram, OutgoingDatagram};
use crate::sockets::dual_stack;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, RxqOvfl, UdpGroSegment};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg, setsockopt};
use nix::{cmsg_space, errno::Errno};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The longest received message, bytes: a datagram, or several datagrams that the kernel has joined (UDP GRO).
const MAX_MESSAGE: usize = 1 << 16;
/// The requested size of the receive buffer, bytes: the data of 10 Gb/s in 3 ms, for which a thread may have to wait
/// for a processor.
const RECEIVE_BUFFER: usize = 4 << 20;

/// The buffers of a receive call, which all sockets of a thread may share.
#[derive(Debug)]
pub(crate) struct ReceiveBuffers {
    buffer: Vec<u8>,
}

impl Default for ReceiveBuffers {
    fn default() -> Self {
        Self::new(MESSAGES)
    }
}

impl ReceiveBuffers {
    /// Allocates buffers for this number of messages.
    pub(crate) fn new(messages: usize) -> Self {
        Self { buffer: vec![0; MAX_MESSAGE * messages] }
    }
}

/// A non-blocking UDP socket.
#[derive(Debug)]
pub(crate) struct Socket {
    udp: UdpSocket,
    is_ipv6: bool,
    /// Whether one message may hold several datagrams (UDP segmentation offload), until the kernel refuses one.
    joins: bool,
    /// The kernel's count of datagrams for which the receive buffer had no room, which wraps.
    overflows: u32,
    /// Datagrams dropped since the last [`Socket::take_drops`].
    pub(crate) drops: DatagramDrops,
}

impl Socket {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        Self::new(dual_stack::bind(address)?)
    }

    pub(crate) fn new(socket: UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        dual_stack::enable_tos(&socket)?;
        dual_stack::forbid_fragments(&socket)?;
        let is_ipv6 = socket.local_addr()?.is_ipv6();
        // Without CAP_NET_ADMIN the kernel limits the size to net.core.rmem_max.
        if setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER).is_err() {
            let _ = setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER);
        }
        setsockopt(&socket, RxqOvfl, &1)?;
        // An older kernel without GRO delivers datagrams one by one.
        let _ = setsockopt(&socket, UdpGroSegment, &true);
        Ok(Self { udp: socket, is_ipv6, joins: true, overflows: 0, drops: DatagramDrops::default() })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Counts of the datagrams dropped since the last call.
    pub(crate) fn take_drops(&mut self) -> DatagramDrops {
        std::mem::take(&mut self.drops)
    }

    /// Receives datagrams, and returns whether more may be waiting.
    pub(crate) fn receive(
        &mut self, inbox: &mut ReceiveBuffers, mut take: impl FnMut(&IncomingDatagram<'_>),
    ) -> io::Result<bool> {
        let most = inbox.buffer.len() / MAX_MESSAGE;
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(most, Some(cmsg_space!(i32, i32, u32)));
        let slots = inbox.buffer.chunks_exact_mut(MAX_MESSAGE);
        let mut slots: Vec<_> = slots.map(|slot| [IoSliceMut::new(slot)]).collect();
        let fd = self.udp.as_raw_fd();
        let got = recvmmsg(fd, &mut headers, slots.iter_mut(), MsgFlags::empty(), None);
        let messages = match got {
            Ok(messages) => messages,
            Err(errno) if is_transient(errno) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut count = 0;
        for message in messages {
            count += 1;
            let Ok(Labels { tos, segment, overflows }) = Labels::of(&message) else {
                self.drops.malformed_control += 1;
                continue;
            };
            if let Some(count) = overflows {
                self.drops.unread += u64::from(count.wrapping_sub(self.overflows));
                self.overflows = count;
            }
            let Some(from) = message.address.and_then(address_of).filter(is_answerable) else {
                self.drops.unanswerable += 1;
                continue;
            };
            for bytes in message.iovs().flat_map(|bytes| bytes.chunks(segment)) {
                take(&IncomingDatagram { from, to: None, tos, bytes });
            }
        }
        Ok(count == most)
    }

    /// Sends the first of these datagrams, as many as one system call takes. Returns how many datagrams at the start of
    /// the list were either sent or dropped, and 0 if the socket is full.
    ///
    /// An error of the kernel concerns one destination (a route, a firewall rule, a port), so it drops one datagram and
    /// never ends the endpoint.
    pub(crate) fn send(&mut self, datagrams: &[OutgoingDatagram]) -> usize {
        let fd = self.udp.as_raw_fd();
        self.send_by(datagrams, &mut |batch, first| batch.send(fd, first))
    }

    /// Implements [`Socket::send`] with a replaceable system call.
    fn send_by(&mut self, datagrams: &[OutgoingDatagram], call: &mut SystemCall<'_>) -> usize {
        let Some(first) = datagrams.first() else { return 0 };
        let batch = Batch::first_of(datagrams, self.is_ipv6, self.joins);
        let is_joined = batch.segment.is_some();
        match call(&batch, first) {
            Ok(sent) => sent,
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM | Errno::EINTR) => 0,
            // Either the device or the kernel lacks segmentation offload, or the destination is refused.
            Err(Errno::EIO | Errno::EINVAL) if is_joined => {
                let refused = self.drops.unsent;
                self.joins = false;
                let done = self.send_by(datagrams, call);
                self.joins = done == 0 || self.drops.unsent > refused;
                done
            }
            Err(_) => {
                self.drops.unsent += 1;
                1
            }
        }
    }
}

/// A system call that sends a batch and returns how many datagrams the kernel took. The second argument is the first
/// datagram of the batch.
type SystemCall<'a> = dyn FnMut(&Batch<'_>, &OutgoingDatagram) -> Result<usize, Errno> + 'a;

/// Whether a receive error means that nothing has arrived, or reports that an earlier datagram was not delivered. Other
/// errors concern the socket itself.
fn is_transient(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::EAGAIN
            | Errno::EINTR
            | Errno::ENOBUFS
            | Errno::ENOMEM
            | Errno::EACCES
            | Errno::EPERM
            | Errno::ECONNREFUSED
            | Errno::ECONNRESET
            | Errno::EHOSTDOWN
            | Errno::EHOSTUNREACH
            | Errno::ENETDOWN
            | Errno::ENETUNREACH
            | Errno::EMSGSIZE
            | Errno::ENOPROTOOPT
            | Errno::EPROTO
    )
}

/// Whether a datagram can be sent to this address. Linux delivers datagrams from source port 0, which anybody can
/// forge, and refuses to send to that port.
fn is_answerable(from: &SocketAddr) -> bool {
    from.port() != 0 && !from.ip().is_unspecified()
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.udp.as_fd()
    }
}

/// What the kernel tells about a message.
struct Labels {
    /// The DSCP and ECN.
    tos: u8,
    /// The length of its datagrams.
    segment: usize,
    /// The datagrams dropped before it, if there were any.
    overflows: Option<u32>,
}

impl Labels {
    fn of(message: &RecvMsg<'_, '_, SockaddrStorage>) -> io::Result<Self> {
        let mut labels = Self { tos: 0, segment: MAX_MESSAGE, overflows: None };
        for part in message.cmsgs()? {
            match part {
                ControlMessageOwned::UdpGroSegments(of) => labels.segment = of.max(1) as usize,
                ControlMessageOwned::RxqOvfl(count) => labels.overflows = Some(count),
                other => labels.tos = dual_stack::tos_in(&other).unwrap_or(labels.tos),
            }
        }
        Ok(labels)
    }
}

fn address_of(of: SockaddrStorage) -> Option<SocketAddr> {
    let v4 = of.as_sockaddr_in().map(|of| SocketAddr::from((of.ip(), of.port())));
    let address = v4.or_else(|| of.as_sockaddr_in6().map(|of| SocketAddrV6::from(*of).into()));
    address.map(dual_stack::canonical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::sockopt::{Ipv4PacketInfo, ReceiveTimestampns};
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    const DATA: u8 = 10 << 2 | 2;
    const OTHER: u8 = 32 << 2;

    fn socket() -> Socket {
        Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    }

    /// Sends datagrams with these DSCP and lengths. Returns those that arrive, with their number, and the number of
    /// system calls for sending.
    fn pass(sender: &mut Socket, all: &[(u8, usize)]) -> (Vec<(u8, usize, u8)>, usize) {
        let mut receiver = socket();
        let to = receiver.address().unwrap();
        let make = |(number, &(tos, length)): (usize, &(u8, usize))| OutgoingDatagram {
            to,
            tos,
            bytes: vec![number as u8; length],
        };
        let datagrams: Vec<OutgoingDatagram> = all.iter().enumerate().map(make).collect();
        let (mut rest, mut calls) = (&datagrams[..], 0);
        while !rest.is_empty() {
            rest = &rest[sender.send(rest)..];
            calls += 1;
        }
        let (mut inbox, mut arrived) = (ReceiveBuffers::default(), Vec::new());
        let begun = Instant::now();
        while arrived.len() < all.len() && begun.elapsed() < Duration::from_secs(5) {
            let take = |of: &IncomingDatagram<'_>| {
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
    fn equal_datagrams_leave_as_one_message_and_all_arrive_with_their_dscp() {
        let mut all = vec![(DATA, 1_472); 100];
        all.extend([(DATA, 700), (DATA, 300), (OTHER, 18), (OTHER, 18), (OTHER, 25), (DATA, 40), (DATA, 900)]);
        let mut sender = socket();
        let (arrived, calls) = pass(&mut sender, &all);
        assert_eq!(arrived, expected(&all));
        assert_eq!(calls, 5, "1,472 to 300; 18; 25; 40; 900");
        assert!(sender.joins, "loopback takes joined datagrams");
    }

    #[test]
    fn datagrams_for_which_the_receive_buffer_has_no_room_are_counted() {
        let (mut sender, mut receiver) = (socket(), socket());
        setsockopt(&receiver, RcvBuf, &1).unwrap();
        let to = receiver.address().unwrap();
        let datagram = OutgoingDatagram { to, tos: DATA, bytes: vec![0; 1_200] };
        sender.joins = false;
        let mut arrived = 0;
        // The count comes with a datagram that arrives later.
        for _ in 0..2 {
            for _ in 0..50 {
                assert_eq!(sender.send(std::slice::from_ref(&datagram)), 1);
            }
            while receiver.receive(&mut ReceiveBuffers::default(), |_| arrived += 1).unwrap() {}
        }
        let unread = receiver.take_drops().unread;
        assert!(arrived > 0 && unread > 0 && arrived + unread <= 100, "{arrived} {unread}");
    }

    /// Sends six datagrams through a kernel that returns `errno` for those to port 1. Returns the ports of the
    /// datagrams that the kernel took.
    fn send_past(errno: Errno, sender: &mut Socket) -> Vec<u16> {
        let make = |port| OutgoingDatagram { to: (Ipv4Addr::LOCALHOST, port).into(), tos: DATA, bytes: vec![0; 1_200] };
        let all = [2, 1, 1, 3, 1, 4].map(make);
        let mut left = Vec::new();
        // sendmmsg stops at the first error, and returns it only if nothing was sent before.
        let mut kernel = |batch: &Batch<'_>, first: &OutgoingDatagram| {
            let start = all.iter().position(|of| std::ptr::eq(of, first)).unwrap();
            let mut sent = 0;
            for message in &batch.messages {
                let port = all[start + sent].to.port();
                if port == 1 {
                    return if sent > 0 { Ok(sent) } else { Err(errno) };
                }
                left.extend(std::iter::repeat_n(port, message.len()));
                sent += message.len();
            }
            Ok(sent)
        };
        let mut done = 0;
        while done < all.len() {
            match sender.send_by(&all[done..], &mut kernel) {
                0 => break,
                count => done += count,
            }
        }
        left
    }

    #[test]
    fn a_send_error_drops_only_the_datagram_to_that_address() {
        let of_an_address = [
            Errno::EINVAL,
            Errno::EACCES,
            Errno::EADDRNOTAVAIL,
            Errno::EAFNOSUPPORT,
            Errno::EPERM,
            Errno::ENETUNREACH,
            Errno::ENETDOWN,
            Errno::EHOSTUNREACH,
            Errno::EHOSTDOWN,
            Errno::EMSGSIZE,
            Errno::EDESTADDRREQ,
            Errno::ENOKEY,
            Errno::ENODEV,
            Errno::ENXIO,
            Errno::EIO,
            Errno::EPROTO,
            Errno::EPIPE,
            Errno::ECONNREFUSED,
            Errno::ECONNRESET,
            Errno::EOPNOTSUPP,
        ];
        for joins in [false, true] {
            for errno in of_an_address {
                let mut sender = Socket { joins, ..socket() };
                assert_eq!(send_past(errno, &mut sender), [2, 3, 4], "{errno}");
                assert_eq!(sender.take_drops().unsent, 3, "{errno}");
                assert_eq!(sender.joins, joins, "{errno} says nothing about segmentation");
            }
        }
    }

    #[test]
    fn a_full_socket_keeps_datagrams_for_later() {
        for errno in [Errno::EAGAIN, Errno::ENOBUFS, Errno::ENOMEM, Errno::EINTR] {
            for joins in [false, true] {
                let mut sender = Socket { joins, ..socket() };
                assert_eq!(send_past(errno, &mut sender), [2], "{errno}");
                assert_eq!(sender.take_drops(), DatagramDrops::default(), "{errno}");
            }
        }
    }

    #[test]
    fn a_kernel_without_segmentation_offload_gets_datagrams_one_by_one() {
        let make = |_| OutgoingDatagram { to: (Ipv4Addr::LOCALHOST, 1).into(), tos: DATA, bytes: vec![0; 1_200] };
        let all: [OutgoingDatagram; 4] = std::array::from_fn(make);
        let mut sender = socket();
        let mut kernel = |batch: &Batch<'_>, _: &OutgoingDatagram| match batch.segment {
            Some(_) => Err(Errno::EIO),
            None => Ok(batch.messages.len()),
        };
        assert_eq!(sender.send_by(&all, &mut kernel), 4);
        assert_eq!((sender.joins, sender.take_drops().unsent), (false, 0));
    }

    #[test]
    fn a_datagram_with_truncated_control_messages_is_dropped_and_the_next_one_arrives() {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut receiver = Socket::new(udp.try_clone().unwrap()).unwrap();
        let (mut sender, mut inbox) = (socket(), ReceiveBuffers::default());
        let to = receiver.address().unwrap();
        // A timestamp and addresses take the space of the DSCP and ECN.
        for (stamps, number) in [(true, 1), (false, 2)] {
            setsockopt(&udp, ReceiveTimestampns, &stamps).unwrap();
            setsockopt(&udp, Ipv4PacketInfo, &stamps).unwrap();
            assert_eq!(sender.send(&[OutgoingDatagram { to, tos: DATA, bytes: vec![number; 30] }]), 1);
            let (begun, mut seen) = (Instant::now(), (0, None));
            while seen == (0, None) && begun.elapsed() < Duration::from_secs(5) {
                let take = |of: &IncomingDatagram<'_>| seen.1 = Some((of.tos, of.bytes[0]));
                receiver.receive(&mut inbox, take).unwrap();
                seen.0 = receiver.take_drops().malformed_control;
            }
            assert_eq!(seen, if stamps { (1, None) } else { (0, Some((DATA, 2))) });
        }
    }

    #[test]
    fn port_0_and_unspecified_addresses_cannot_be_answered() {
        let of = |text: &str| is_answerable(&text.parse().unwrap());
        for bad in ["192.0.2.1:0", "0.0.0.0:5", "[::1]:0", "[::]:5"] {
            assert!(!of(bad), "{bad}");
        }
        assert!(of("192.0.2.1:1") && of("[::1]:65535"));
    }
}
