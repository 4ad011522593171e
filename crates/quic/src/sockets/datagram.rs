//! UDP datagrams with their DSCP and ECN, and counts of dropped ones.

use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::ops::AddAssign;

#[derive(Clone, Debug)]
pub(crate) struct OutgoingDatagram {
    pub(crate) to: SocketAddr,
    /// The DSCP (upper 6 bits) and ECN (lower 2 bits).
    pub(crate) tos: u8,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct IncomingDatagram<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) to: Option<IpAddr>,
    /// The DSCP (upper 6 bits) and ECN (lower 2 bits).
    pub(crate) tos: u8,
    pub(crate) bytes: &'a [u8],
}

/// UDP datagrams that an endpoint dropped, by reason. Drops end neither the endpoint nor a connection; QUIC
/// retransmits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DatagramDrops {
    /// Datagrams that the kernel refused to send, for example because a route to their destination is `prohibit`.
    pub unsent: u64,
    /// Datagrams from port 0 or from an unspecified address, which cannot be answered.
    pub unanswerable: u64,
    /// Datagrams that arrived while the socket's receive buffer was full, because this host read too late.
    pub unread: u64,
    /// Datagrams whose control messages (DSCP, ECN, segment length) were truncated or malformed.
    pub malformed_control: u64,
}

impl AddAssign for DatagramDrops {
    fn add_assign(&mut self, other: Self) {
        self.unsent += other.unsent;
        self.unanswerable += other.unanswerable;
        self.unread += other.unread;
        self.malformed_control += other.malformed_control;
    }
}
