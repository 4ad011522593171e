//! What a connection gives to the socket.

use std::net::SocketAddr;

/// A UDP datagram to send.
#[derive(Clone, Debug)]
pub(crate) struct Datagram {
    pub(crate) to: SocketAddr,
    /// DSCP and ECN, as in the header of IP.
    pub(crate) tos: u8,
    pub(crate) bytes: Vec<u8>,
}
