//! UDP datagrams with their DSCP and ECN.

use std::net::{IpAddr, SocketAddr};

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
