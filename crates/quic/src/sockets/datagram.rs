//! What a connection gives to the socket, and what it gets from there.

use std::net::{IpAddr, SocketAddr};

/// A UDP datagram to send.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) to: SocketAddr,
    /// DSCP and ECN, as in the header of IP.
    pub(crate) tos: u8,
    pub(crate) bytes: Vec<u8>,
}

/// A datagram that has arrived.
#[derive(Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) to: Option<IpAddr>,
    /// DSCP and ECN.
    pub(crate) tos: u8,
    pub(crate) bytes: &'a [u8],
}
