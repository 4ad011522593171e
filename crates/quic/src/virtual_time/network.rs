//! Two hosts and what is between them, in virtual time.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use quinn_proto::crypto;
use shallop_core::{BitsPerSec, Seed};
use std::sync::Arc;

use super::host::{Host, Ours};
use super::link::{Link, Packet, Way};
use crate::config::Config;
use crate::core::Core;
use crate::credit::path::Path;
use crate::sockets::datagram::Arrival;
use crate::trust::identity::{Identity, SERVER_NAME, ServerVerifier};
use crate::trust::tls::Tls;

/// Steps at one instant after which the hosts are taken to spin.
const STUCK: u32 = 100_000;

/// From which host to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    There,
    Back,
}

/// A packet that a host has sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sighting {
    pub(super) at: Instant,
    pub(super) direction: Direction,
    pub(super) dscp: u8,
    pub(super) ecn: u8,
    pub(super) first_byte: u8,
    pub(super) bytes: usize,
    pub(super) to: SocketAddr,
}

/// A client and a server.
pub(super) struct Network<C = Ours, S = Ours> {
    pub(super) began: Instant,
    pub(super) now: Instant,
    pub(super) client: C,
    pub(super) server: S,
    /// The address that the server sees of the client.
    pub(super) client_address: SocketAddr,
    pub(super) there: Link,
    pub(super) back: Link,
    /// What the hosts have sent, if it is asked for.
    pub(super) seen: Option<Vec<Sighting>>,
    steps_here: u32,
}

pub(super) fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(super) fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(super) const CLIENT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1_111);
pub(super) const SERVER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), 4_747);

/// An endpoint for a link of this many Mb/s that waits for this many ms.
pub(super) fn config(mbps: u64, wait_ms: u64) -> Config {
    Config { wait: ms(wait_ms), ..Config::new(BitsPerSec::at_least_one(mbps * 1_000_000)) }
}

/// The TLS of a client and of a server that know each other.
pub(super) fn identities() -> (Tls, Tls) {
    let identity = Identity::make().unwrap();
    let trusts = ServerVerifier::pinned(identity.fingerprint());
    let server = Tls::server(&identity);
    (Tls::client(trusts as Arc<_>), server)
}

/// The client of ours, which has begun to connect.
pub(super) fn client_of_ours(
    base: Instant,
    config: Config,
    crypto: Arc<dyn crypto::ClientConfig>,
) -> Ours {
    let mut core = Core::new(base, config, None, None, 1).unwrap();
    let number = core.connect(base, crypto, SERVER, SERVER_NAME).unwrap();
    let mut ours = Ours::new(core, CLIENT);
    ours.number = Some(number);
    ours
}

impl Network {
    /// Two hosts of ours over a network with this rate in Mb/s and this delay each way.
    pub(super) fn of_ours(client: Config, server: Config, way: &Way) -> Self {
        let (client_tls, server_tls) = identities();
        let base = Instant::now();
        let core = Core::new(base, server, server_tls.server_config().unwrap(), None, 2).unwrap();
        let client = client_of_ours(base, client, client_tls.client_config().unwrap());
        Self::new(base, client, Ours::new(core, SERVER), way)
    }

    /// The same, connected: 100 Mb/s and 10 ms each way.
    pub(super) fn connected() -> Self {
        Self::connected_with(config(100, 40), &Way::new(100e6, ms(10)))
    }

    pub(super) fn connected_with(config: Config, way: &Way) -> Self {
        let mut network = Self::of_ours(config, config, way);
        network.connect();
        assert_eq!((network.client.path(), network.server.path()), (Path::Credits, Path::Credits));
        network
    }

    /// Waits until both know how data leaves.
    pub(super) fn connect(&mut self) {
        self.until(secs(10), |network| {
            network.client.connection().is_ready()
                && network.server.number.is_some()
                && network.server.connection().is_ready()
        });
    }

    /// The client sends so many bytes: how long it takes until it knows that they are there.
    pub(super) fn upload(&mut self, bytes: u64, within: Duration) -> Duration {
        self.client.send(bytes);
        let before = self.server.received;
        let took = self.until(within, |network| network.client.is_done());
        assert_eq!(self.server.received - before, bytes);
        took
    }
}

impl<C: Host, S: Host> Network<C, S> {
    pub(super) fn new(base: Instant, client: C, server: S, way: &Way) -> Self {
        let link = |id| Link::new(way.clone(), base, Seed::new(7).stream("link", id));
        Self {
            began: base,
            now: base,
            client_address: client.address(),
            client,
            server,
            there: link(0),
            back: link(1),
            seen: None,
            steps_here: 0,
        }
    }

    /// Changes both directions.
    pub(super) fn both(&mut self, change: impl Fn(&mut Way)) {
        change(&mut self.there.way);
        change(&mut self.back.way);
    }

    /// Cuts both directions, from now on and for so long.
    pub(super) fn cut(&mut self, span: Duration) {
        let down = self.now..self.now + span;
        self.both(|way| way.down = Some(down.clone()));
    }

    /// Watches what is sent from now on.
    pub(super) fn watch(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// What has been sent since, in this direction and for which this holds.
    pub(super) fn sent(
        &self,
        direction: Direction,
        holds: impl Fn(&Sighting) -> bool,
    ) -> Vec<Sighting> {
        let seen = self.seen.iter().flatten();
        seen.filter(|sighting| sighting.direction == direction && holds(sighting))
            .copied()
            .collect()
    }

    /// Runs until this holds, and says how long that took. It has to hold within this time.
    pub(super) fn until(
        &mut self,
        within: Duration,
        holds: impl Fn(&mut Self) -> bool,
    ) -> Duration {
        let begun = self.now;
        self.act();
        while !holds(self) {
            assert!(self.step(begun + within), "it does not hold after {within:?}");
        }
        self.now - begun
    }

    /// Runs for so long.
    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        self.act();
        while self.step(end) {}
    }

    /// The next thing happens, unless it is after `end`.
    fn step(&mut self, end: Instant) -> bool {
        let hosts = [self.client.wakeup(), self.server.wakeup()];
        let links = [self.there.wakeup(), self.back.wakeup()];
        let next = hosts.into_iter().chain(links).flatten().min();
        let Some(next) = next.filter(|&next| next <= end) else {
            self.now = end;
            return false;
        };
        self.steps_here = if next > self.now { 0 } else { self.steps_here + 1 };
        assert!(self.steps_here < STUCK, "the hosts spin");
        self.now = self.now.max(next);
        while let Some(packet) = self.there.arrived(self.now) {
            if packet.to == self.server.address() {
                self.server.on_datagram(self.now, &arrival(&packet));
            }
        }
        while let Some(packet) = self.back.arrived(self.now) {
            // To an address that the client has no more.
            if packet.to == self.client_address {
                self.client.on_datagram(self.now, &arrival(&packet));
            }
        }
        self.act();
        true
    }

    /// Lets both hosts send what is due.
    fn act(&mut self) {
        for datagram in self.client.act(self.now) {
            self.send(Direction::There, self.client_address, datagram);
        }
        for datagram in self.server.act(self.now) {
            self.send(Direction::Back, self.server.address(), datagram);
        }
    }

    fn send(
        &mut self,
        direction: Direction,
        from: SocketAddr,
        datagram: crate::connection::Datagram,
    ) {
        let packet = Packet { from, to: datagram.to, tos: datagram.tos, bytes: datagram.bytes };
        if let Some(seen) = &mut self.seen {
            let (dscp, first_byte) = (packet.dscp(), packet.bytes[0]);
            let (bytes, to) = (packet.bytes.len(), packet.to);
            let (at, ecn) = (self.now, packet.tos % 4);
            seen.push(Sighting { at, direction, dscp, ecn, first_byte, bytes, to });
        }
        let link = match direction {
            Direction::There => &mut self.there,
            Direction::Back => &mut self.back,
        };
        link.send(self.now, packet);
    }
}

fn arrival(packet: &Packet) -> Arrival<'_> {
    Arrival { from: packet.from, to: None, tos: packet.tos, bytes: &packet.bytes }
}
