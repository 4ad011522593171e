//! What may be sent to an address that the peer has changed to, so that nobody makes a host flood another one: as in
//! RFC 9000, 8.1, at most three times what came from there. QUIC sees to its own packets; this is for emulation
//! packets. A credit is never longer than the emulation packets that it answers.

use std::net::SocketAddr;

use shallop_core::{Span, Time};

const FACTOR: u64 = 3;

/// Where a server sends credits. The address of a client changes before QUIC knows; but who sees emulation packets and
/// is faster than the network could send one first, from another address. So credits follow to another address only
/// once none has come from the one before for a waiting time.
#[derive(Debug, Default)]
pub(crate) struct CreditAddress {
    /// The address, and when an emulation packet came from there that was the newest.
    known: Option<(SocketAddr, Time)>,
}

impl CreditAddress {
    /// The address, if emulation packets have come.
    pub(crate) fn get(&self) -> Option<SocketAddr> {
        self.known.map(|(address, _)| address)
    }

    /// The newest emulation packet came from `from`, while QUIC has the client at `current`.
    pub(crate) fn on_newest(
        &mut self,
        now: Time,
        from: SocketAddr,
        current: SocketAddr,
        wait: Span,
    ) {
        let (address, heard_at) = *self.known.get_or_insert((current, now));
        if from == address || now.saturating_since(heard_at) > wait {
            self.known = Some((from, now));
        }
    }
}

/// The address of a peer, since it has changed.
#[derive(Debug)]
pub(crate) struct NewAddress {
    address: SocketAddr,
    has_changed: bool,
    received: u64,
    sent: u64,
}

impl NewAddress {
    /// The first address of a peer, which the handshake has validated.
    pub(crate) fn first(address: SocketAddr) -> Self {
        Self { address, has_changed: false, received: 0, sent: 0 }
    }

    /// A packet of the peer came from `from`, and its address is `now` by now.
    pub(crate) fn on_arrival(&mut self, from: SocketAddr, bytes: usize, now: SocketAddr) {
        if self.address != now {
            *self = Self { address: now, has_changed: true, received: 0, sent: 0 };
        }
        if from == self.address {
            self.received += bytes as u64;
        }
    }

    /// An emulation packet was sent.
    pub(crate) fn on_departure(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Whether a packet of this length may be sent.
    pub(crate) fn allows(&self, bytes: usize) -> bool {
        !self.has_changed || self.sent + bytes as u64 <= self.received * FACTOR
    }
}
