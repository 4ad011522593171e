//! Limits for packets to an address that a peer has changed to, so that a forged address cannot direct traffic at a
//! third party. QUIC limits its own packets (RFC 9000, 8.1); this module limits emulation packets and chooses the
//! destination of credits.

use shallop_core::{Span, Time};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// The bytes sent to an address that is not validated, as a multiple of the bytes received from it (RFC 9000, 8.1).
const AMPLIFICATION_FACTOR: u64 = 3;

/// The address to which a server sends credits. A client's emulation packets may arrive from its new address before
/// QUIC knows the address. But an attacker that sees emulation packets could forward them faster than the network, from
/// another address. So credits follow to another address only after no emulation packet has come from the previous one
/// for a waiting time.
#[derive(Debug, Default)]
pub(crate) struct CreditDestination {
    /// The destination of credits, and the time at which the newest emulation packet came from it.
    known: Option<(SocketAddr, Time)>,
}

impl CreditDestination {
    /// The destination of credits, once an emulation packet has arrived.
    pub(crate) fn get(&self) -> Option<SocketAddr> {
        self.known.map(|(address, _)| address)
    }

    /// Notes the newest emulation packet, which came from `from`. `current` is the client's address according to QUIC.
    pub(crate) fn on_newest(&mut self, now: Time, from: SocketAddr, current: SocketAddr, wait: Span) {
        let (address, newest_at) = *self.known.get_or_insert((current, now));
        if from == address || now.saturating_since(newest_at) > wait {
            self.known = Some((from, now));
        }
    }
}

/// The anti-amplification limit for emulation packets after a change of the peer's address. A credit needs no limit,
/// because it is never longer than the emulation packets that it answers.
#[derive(Debug)]
pub(crate) struct AmplificationLimit {
    address: SocketAddr,
    /// When the address has changed last.
    changed: Option<Instant>,
    /// Whether a `PATH_RESPONSE` has come from the address since it changed (RFC 9000, 8.2).
    is_validated: bool,
    /// Bytes received from the new address.
    received: u64,
    sent: u64,
}

impl AmplificationLimit {
    /// `address` is the first address of the peer, which the handshake has validated.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, changed: None, is_validated: true, received: 0, sent: 0 }
    }

    /// Notes an authentic packet received from `from`. `current` is the peer's address according to QUIC.
    pub(crate) fn on_arrival(&mut self, now: Instant, from: SocketAddr, bytes: usize, current: SocketAddr) {
        if self.address != current {
            *self = Self { changed: Some(now), is_validated: false, ..Self::new(current) };
        }
        if from == self.address {
            self.received += bytes as u64;
        }
    }

    /// Notes a `PATH_RESPONSE` from this address.
    pub(crate) fn on_path_response(&mut self, from: SocketAddr) {
        self.is_validated |= from == self.address;
    }

    /// Whether probes of the MTU may be sent: only to a validated address, as the anti-amplification limit of
    /// quinn-proto does not count them, and not within two round trips after a change. An attacker on the path can copy
    /// packets, also the answer to a challenge, and its copies may arrive first; the next packet of the peer then
    /// changes the address back.
    pub(crate) fn allows_mtu_probes(&self, now: Instant, rtt: Duration) -> bool {
        self.is_validated && self.changed.is_none_or(|at| now >= at + rtt * 2)
    }

    /// Notes an emulation packet that is sent.
    pub(crate) fn on_departure(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    /// Whether an emulation packet of this length may be sent to the new address.
    pub(crate) fn allows(&self, bytes: usize) -> bool {
        self.changed.is_none() || self.sent + bytes as u64 <= self.received * AMPLIFICATION_FACTOR
    }
}
