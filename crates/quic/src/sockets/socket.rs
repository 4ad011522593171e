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
use crate::sockets::drops::DatagramDrops;
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
    /// Datagrams dropped since [`Socket::take_drops`].
    drops: DatagramDrops,
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
        Ok(Self { udp: socket, is_ipv6, paired: None, drops: DatagramDrops::default() })
    }

    /// The same, which sends two datagrams with this DSCP and ECN as one (UDP segmentation offload).
    pub(crate) fn pairing(self, tos: Option<u8>) -> Self {
        Self { paired: tos, ..self }
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Datagrams dropped since the last call.
    pub(crate) fn take_drops(&mut self) -> DatagramDrops {
        std::mem::take(&mut self.drops)
    }

    /// Counts a datagram for which a full socket made no room in time.
    pub(crate) fn give_up(&mut self) {
        self.drops.unsent += 1;
    }

    /// Takes datagrams that have arrived, and returns whether there may be more.
    pub(crate) fn receive(
        &mut self,
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
            Err(errno) if is_transient(errno) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let mut count = 0;
        for message in messages {
            count += 1;
            let Ok((tos, segment)) = labels_of(&message) else {
                self.drops.malformed_control += 1;
                continue;
            };
            let Some(from) = message.address.and_then(address_of).filter(is_answerable) else {
                self.drops.unanswerable += 1;
                continue;
            };
            for bytes in message.iovs().flat_map(|bytes| bytes.chunks(segment)) {
                take(&Arrival { from, to: None, tos, bytes });
            }
        }
        Ok(count == most)
    }

    /// Sends the first of these datagrams, as many as one system call takes. Returns how many datagrams at the start
    /// of the list are done with, either sent or dropped and counted: 0 if there is no room at the moment.
    ///
    /// An error of the kernel concerns one destination (a route, a firewall rule, a port), so it costs one datagram
    /// and never ends the endpoint.
    pub(crate) fn send(&mut self, datagrams: &[Datagram]) -> usize {
        let fd = self.udp.as_raw_fd();
        self.send_by(datagrams, &mut |batch, first| batch.send(fd, first))
    }

    /// [`Socket::send`] with this system call.
    fn send_by(&mut self, datagrams: &[Datagram], call: &mut SystemCall<'_>) -> usize {
        let Some(first) = datagrams.first() else { return 0 };
        let batch = Batch::first_of(datagrams, self.is_ipv6, self.paired);
        let is_paired = batch.segment.is_some();
        match call(&batch, first) {
            Ok(sent) => sent,
            Err(Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM | Errno::EINTR) => 0,
            // Either the device or the kernel lacks segmentation offload, or the destination is refused.
            Err(Errno::EIO | Errno::EINVAL) if is_paired => {
                let paired = self.paired.take();
                let refused = self.drops.unsent;
                let done = self.send_by(datagrams, call);
                if done == 0 || self.drops.unsent > refused {
                    self.paired = paired;
                }
                done
            }
            Err(_) => {
                self.drops.unsent += 1;
                1
            }
        }
    }
}

/// Sends a batch, of which the second argument is the first datagram, and returns how many datagrams were taken.
type SystemCall<'a> = dyn FnMut(&Batch<'_>, &Datagram) -> Result<usize, Errno> + 'a;

/// Whether an error of receiving means that nothing has arrived, or reports that an earlier datagram was not
/// delivered. Other errors are of the socket itself.
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

/// Whether an answer can be sent to this address. Linux delivers datagrams from UDP source port 0, which anybody can
/// forge, and refuses to send to that port.
fn is_answerable(from: &SocketAddr) -> bool {
    from.port() != 0 && !from.ip().is_unspecified()
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
    use nix::sys::socket::sockopt::ReceiveTimestampns;
    use std::net::Ipv4Addr;
    use std::time::{Duration, Instant};

    const DATA: u8 = 10 << 2 | 2;
    const OTHER: u8 = 32 << 2;

    fn socket() -> Socket {
        Socket::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    }

    /// Sends these, and returns what arrives and how many system calls sending took.
    fn pass(sender: &mut Socket, all: &[(u8, usize)]) -> (Vec<(u8, usize, u8)>, usize) {
        let mut receiver = socket();
        let to = receiver.address().unwrap();
        let make = |(number, &(tos, length)): (usize, &(u8, usize))| Datagram {
            to,
            tos,
            bytes: vec![number as u8; length],
        };
        let datagrams: Vec<Datagram> = all.iter().enumerate().map(make).collect();
        let (mut rest, mut calls) = (&datagrams[..], 0);
        while !rest.is_empty() {
            rest = &rest[sender.send(rest)..];
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

    /// Passes six datagrams to a kernel that answers `errno` for those to port 1, and takes others. Returns the ports
    /// to which datagrams left.
    fn send_past(errno: Errno, sender: &mut Socket) -> Vec<u16> {
        let make = |port| Datagram {
            to: (Ipv4Addr::LOCALHOST, port).into(),
            tos: DATA,
            bytes: vec![0; 1_200],
        };
        let all = [2, 1, 1, 3, 1, 4].map(make);
        let mut left = Vec::new();
        // As sendmmsg: it stops at the first error, and returns it only if nothing was sent before.
        let mut kernel = |batch: &Batch<'_>, first: &Datagram| {
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
    fn an_error_of_sending_costs_one_datagram_and_not_those_to_other_addresses() {
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
        for paired in [None, Some(DATA)] {
            for errno in of_an_address {
                let mut sender = socket().pairing(paired);
                assert_eq!(send_past(errno, &mut sender), [2, 3, 4], "{errno}");
                assert_eq!(sender.take_drops().unsent, 3, "{errno}");
                assert_eq!(sender.paired, paired, "{errno} says nothing about segmentation");
            }
        }
    }

    #[test]
    fn a_full_socket_keeps_datagrams_for_later() {
        for errno in [Errno::EAGAIN, Errno::ENOBUFS, Errno::ENOMEM, Errno::EINTR] {
            for paired in [None, Some(DATA)] {
                let mut sender = socket().pairing(paired);
                assert_eq!(send_past(errno, &mut sender), [2], "{errno}");
                assert_eq!(sender.take_drops(), DatagramDrops::default(), "{errno}");
            }
        }
    }

    #[test]
    fn a_kernel_without_segmentation_offload_gets_datagrams_one_by_one() {
        let make =
            |_| Datagram { to: (Ipv4Addr::LOCALHOST, 1).into(), tos: DATA, bytes: vec![0; 1_200] };
        let all: [Datagram; 4] = std::array::from_fn(make);
        let mut sender = socket().pairing(Some(DATA));
        let mut kernel = |batch: &Batch<'_>, _: &Datagram| match batch.segment {
            Some(_) => Err(Errno::EIO),
            None => Ok(batch.messages.len()),
        };
        assert_eq!(sender.send_by(&all, &mut kernel), 4);
        assert_eq!((sender.paired, sender.take_drops().unsent), (None, 0));
    }

    #[test]
    fn a_datagram_whose_control_messages_do_not_fit_is_dropped_and_the_next_one_arrives() {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut receiver = Socket::new(udp.try_clone().unwrap()).unwrap();
        let (mut sender, mut inbox) = (socket(), Inbox::default());
        let to = receiver.address().unwrap();
        // A time stamp takes the room of DSCP and ECN.
        for (stamps, number) in [(true, 1), (false, 2)] {
            setsockopt(&udp, ReceiveTimestampns, &stamps).unwrap();
            assert_eq!(sender.send(&[Datagram { to, tos: DATA, bytes: vec![number; 30] }]), 1);
            let (begun, mut seen) = (Instant::now(), (0, None));
            while seen == (0, None) && begun.elapsed() < Duration::from_secs(5) {
                let take = |of: &Arrival<'_>| seen.1 = Some((of.tos, of.bytes[0]));
                receiver.receive(&mut inbox, take).unwrap();
                seen.0 = receiver.take_drops().malformed_control;
            }
            assert_eq!(seen, if stamps { (1, None) } else { (0, Some((DATA, 2))) });
        }
    }

    #[test]
    fn addresses_that_cannot_be_answered_are_known() {
        let of = |text: &str| is_answerable(&text.parse().unwrap());
        for bad in ["192.0.2.1:0", "0.0.0.0:5", "[::1]:0", "[::]:5"] {
            assert!(!of(bad), "{bad}");
        }
        assert!(of("192.0.2.1:1") && of("[::1]:65535"));
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
