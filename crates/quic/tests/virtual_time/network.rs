//! A client and a server with two links between them, in virtual time.

use super::host::{Host, ShallopHost};
use super::link::{Link, LinkConfig, Packet};
use crate::config::Config;
use crate::endpoint_state::EndpointState;
use crate::sockets::datagram::{IncomingDatagram, OutgoingDatagram};
use crate::trust::identity::{AnyServer, Identity, SERVER_NAME};
use crate::trust::tls::Tls;
use quinn_proto::crypto;
use shallop_core::{BitsPerSec, Seed};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of steps at one instant after which a test fails, because the hosts spin.
const STUCK: u32 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    ToServer,
    ToClient,
}

/// A packet that a host has sent, before the link.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub(super) at: Instant,
    pub(super) direction: Direction,
    pub(super) dscp: u8,
    pub(super) ecn: u8,
    pub(super) first_byte: u8,
    pub(super) bytes: usize,
    pub(super) to: SocketAddr,
}

pub(super) struct Network<C = ShallopHost, S = ShallopHost> {
    pub(super) began: Instant,
    pub(super) now: Instant,
    pub(super) client: C,
    pub(super) server: S,
    /// The address of the client for the server, as behind a NAT.
    pub(super) client_address: SocketAddr,
    pub(super) to_server: Link,
    pub(super) to_client: Link,
    /// The packets sent since [`Network::watch`].
    pub(super) seen: Option<Vec<SentPacket>>,
    steps_here: u32,
}

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(super) fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(super) const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1_111);
pub(super) const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4_747);

/// A configuration with this link rate and waiting time.
pub(super) fn config(mbps: u64, wait_ms: u64) -> Config {
    Config { wait: ms(wait_ms), ..Config::new(BitsPerSec::at_least_one(mbps * 1_000_000)) }
}

/// The TLS settings of a client and of a server, without a code.
pub(super) fn identities() -> (Tls, Tls) {
    (Tls::client(AnyServer::new()), Tls::server(&Identity::make().unwrap()))
}

/// A client that has begun to connect to [`SERVER`].
pub(super) fn shallop_client(base: Instant, config: Config, crypto: Arc<dyn crypto::ClientConfig>) -> ShallopHost {
    let mut state = EndpointState::new(config, None, None, 1).unwrap();
    let number = state.connect(base, crypto, SERVER, SERVER_NAME).unwrap();
    let mut shallop = ShallopHost::new(state, CLIENT);
    shallop.number = Some(number);
    shallop
}

impl Network {
    /// Two hosts with these configurations and equal links; the client has begun to connect.
    pub(super) fn new_pair(client: Config, server: Config, link: &LinkConfig) -> Self {
        let (client_tls, server_tls) = identities();
        let base = Instant::now();
        let state = EndpointState::new(server, server_tls.server_config().unwrap(), None, 2).unwrap();
        let client = shallop_client(base, client, client_tls.client_config().unwrap());
        Self::new(base, client, ShallopHost::new(state, SERVER), link)
    }

    /// Runs until both hosts have finished the handshake.
    pub(super) fn connect(&mut self) {
        self.until(secs(10), |network| {
            network.client.connection().is_ready()
                && network.server.number.is_some()
                && network.server.connection().is_ready()
        });
    }

    /// Runs until both hosts have acknowledged all data.
    pub(super) fn finish(&mut self, within: Duration) {
        self.until(within, |network| network.client.is_done() && network.server.is_done());
    }
}

impl<C: Host, S: Host> Network<C, S> {
    pub(super) fn new(base: Instant, client: C, server: S, link: &LinkConfig) -> Self {
        let link = |id| Link::new(link.clone(), base, Seed::new(7).stream("link", id));
        Self {
            began: base,
            now: base,
            client_address: client.address(),
            client,
            server,
            to_server: link(0),
            to_client: link(1),
            seen: None,
            steps_here: 0,
        }
    }

    /// Records the packets that are sent from now on.
    pub(super) fn watch(&mut self) {
        self.seen = Some(Vec::new());
    }

    pub(super) fn sent(&self, direction: Direction, holds: impl Fn(&SentPacket) -> bool) -> Vec<SentPacket> {
        let seen = self.seen.iter().flatten();
        seen.filter(|sighting| sighting.direction == direction && holds(sighting)).copied().collect()
    }

    /// Runs until `holds` is true and returns the time that took, at most `within`.
    pub(super) fn until(&mut self, within: Duration, holds: impl Fn(&mut Self) -> bool) -> Duration {
        let begun = self.now;
        self.act();
        while !holds(self) {
            assert!(self.step(begun + within), "it does not hold after {within:?}");
        }
        self.now - begun
    }

    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.act();
        while self.step(end) {}
    }

    /// Runs the next event, unless it is after `end`.
    pub(super) fn step(&mut self, end: Instant) -> bool {
        let hosts = [self.client.wakeup(), self.server.wakeup()];
        let links = [self.to_server.wakeup(), self.to_client.wakeup()];
        let next = hosts.into_iter().chain(links).flatten().min();
        let Some(next) = next.filter(|&next| next <= end) else {
            self.now = end;
            return false;
        };
        self.steps_here = if next > self.now { 0 } else { self.steps_here + 1 };
        assert!(self.steps_here < STUCK, "the hosts spin");
        self.now = self.now.max(next);
        while let Some(packet) = self.to_server.arrived(self.now) {
            if packet.to == self.server.address() {
                self.server.on_datagram(self.now, &arrival(&packet));
            }
        }
        while let Some(packet) = self.to_client.arrived(self.now) {
            // Packets to an earlier address of the client are lost.
            if packet.to == self.client_address {
                self.client.on_datagram(self.now, &arrival(&packet));
            }
        }
        self.act();
        true
    }

    /// Lets both hosts send.
    pub(super) fn act(&mut self) {
        for datagram in self.client.act(self.now) {
            self.send(Direction::ToServer, self.client_address, datagram);
        }
        for datagram in self.server.act(self.now) {
            self.send(Direction::ToClient, self.server.address(), datagram);
        }
    }

    fn send(&mut self, direction: Direction, from: SocketAddr, datagram: OutgoingDatagram) {
        let packet = Packet { from, to: datagram.to, tos: datagram.tos, bytes: datagram.bytes };
        if let Some(seen) = &mut self.seen {
            let (dscp, first_byte) = (packet.dscp(), packet.bytes[0]);
            let (bytes, to) = (packet.bytes.len(), packet.to);
            let (at, ecn) = (self.now, packet.tos % 4);
            seen.push(SentPacket { at, direction, dscp, ecn, first_byte, bytes, to });
        }
        let link = match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        };
        link.send(self.now, packet);
    }
}

fn arrival(packet: &Packet) -> IncomingDatagram<'_> {
    IncomingDatagram { from: packet.from, to: None, tos: packet.tos, bytes: &packet.bytes }
}
