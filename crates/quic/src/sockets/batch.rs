//! The datagrams of one system call. Linux takes datagrams of equal length to one address as one message (UDP
//! segmentation offload), which saves most of its work for them.

use crate::sockets::datagram::OutgoingDatagram;
use crate::sockets::dual_stack::{self, Tos};
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg, sendmsg};
use nix::{cmsg_space, errno::Errno};
use std::{io::IoSlice, net::SocketAddr};

/// The most messages that one system call sends or receives.
pub(super) const MESSAGES: usize = 16;
/// The most datagrams that one message joins (`UDP_MAX_SEGMENTS` in Linux before 6.9), and their most bytes.
const MAX_JOINED: usize = 64;
const MAX_JOINED_BYTES: usize = 65_000;

/// Datagrams with equal DSCP, ECN and address family for one system call. A message holds datagrams to one address,
/// which the kernel takes as one through most of its layers and cuts at the interface.
pub(super) struct Batch<'a> {
    pub(super) messages: Vec<Vec<IoSlice<'a>>>,
    addresses: Vec<Option<SockaddrStorage>>,
    /// The length of the datagrams, if a message has several of them.
    pub(super) segment: Option<u16>,
}

impl<'a> Batch<'a> {
    pub(super) fn first_of(datagrams: &'a [OutgoingDatagram], is_ipv6: bool, joins: bool) -> Self {
        let mut batch = Self { messages: Vec::new(), addresses: Vec::new(), segment: None };
        let Some(first) = datagrams.first() else { return batch };
        let length = first.bytes.len();
        let most = if joins { MAX_JOINED.min(MAX_JOINED_BYTES / length.max(1)) } else { 1 };
        let is_like = |of: &&OutgoingDatagram| {
            of.tos == first.tos && of.to.is_ipv4() == first.to.is_ipv4() && !(joins && of.bytes.len() > length)
        };
        let mut open: Option<SocketAddr> = None;
        for datagram in datagrams.iter().take_while(is_like) {
            let part = IoSlice::new(&datagram.bytes);
            let is_full = batch.messages.len() == MESSAGES;
            let last = batch.messages.last_mut().filter(|of| open == Some(datagram.to) && of.len() < most);
            if let Some(message) = last {
                message.push(part);
                batch.segment = u16::try_from(length).ok();
            } else if is_full {
                break;
            } else {
                batch.messages.push(vec![part]);
                let to = dual_stack::for_socket(datagram.to, is_ipv6);
                batch.addresses.push(Some(SockaddrStorage::from(to)));
            }
            // Only the last segment of a message may be shorter.
            open = Some(datagram.to).filter(|_| datagram.bytes.len() == length);
        }
        batch
    }

    /// Sends the batch, and returns how many datagrams the kernel took.
    pub(super) fn send(&self, fd: i32, first: &OutgoingDatagram) -> Result<usize, Errno> {
        let tos = Tos::new(first.tos);
        let mut control = vec![tos.message(first.to.ip())];
        control.extend(self.segment.as_ref().map(ControlMessage::UdpGsoSegments));
        let flags = MsgFlags::empty();
        if let ([message], [address]) = (&self.messages[..], &self.addresses[..]) {
            sendmsg(fd, message, &control, flags, address.as_ref())?;
            return Ok(message.len());
        }
        // The space has to match the control messages, because the kernel reads all of it.
        let room = if self.segment.is_some() { cmsg_space!(i32, u16) } else { cmsg_space!(i32) };
        let mut headers = MultiHeaders::preallocate(self.messages.len(), Some(room));
        let sent = sendmmsg(fd, &mut headers, &self.messages, &self.addresses, &control, flags)?.count();
        Ok(self.messages[..sent].iter().map(Vec::len).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const DATA: u8 = 10 << 2 | 2;

    #[test]
    fn a_message_holds_datagrams_to_one_address_and_only_its_last_is_shorter() {
        let make = |(port, length)| OutgoingDatagram {
            to: (Ipv4Addr::LOCALHOST, port).into(),
            tos: DATA,
            bytes: vec![0; length],
        };
        let datagrams = [(9, 1_472), (9, 1_472), (9, 900), (9, 900), (8, 1_472), (9, 1_500), (9, 1_472)].map(make);
        let of = |joins| {
            let batch = Batch::first_of(&datagrams, false, joins);
            let lengths = |of: &Vec<IoSlice<'_>>| of.iter().map(|part| part.len()).collect();
            (batch.messages.iter().map(lengths).collect::<Vec<Vec<usize>>>(), batch.segment)
        };
        let joined = vec![vec![1_472, 1_472, 900], vec![900], vec![1_472]];
        assert_eq!(of(true), (joined, Some(1_472)), "a longer one begins another batch");
        let alone = datagrams.iter().map(|of| vec![of.bytes.len()]).collect();
        assert_eq!(of(false), (alone, None));
    }

    #[test]
    fn a_message_holds_at_most_64_datagrams_and_65_000_bytes() {
        let longest = |length| {
            let to = (Ipv4Addr::LOCALHOST, 9).into();
            let datagrams = vec![OutgoingDatagram { to, tos: DATA, bytes: vec![0; length] }; 100];
            Batch::first_of(&datagrams, false, true).messages[0].len()
        };
        assert_eq!([18, 1_472, 9_000].map(longest), [64, 44, 7]);
    }
}
