//! All connections of an endpoint, without sockets, threads or clocks: datagrams and times in, datagrams out.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, Incoming, ServerConfig, Transmit, TransportConfig, VarInt,
};
use shallop_core::{Seed, Stream, Time};

use crate::config::{Config, span};
use crate::connection::{Connection, Datagram, End};
use crate::counters::Counters;
use crate::gate::{Gate, Gates, Mode};
use crate::packet::{Malformed, Parsed, is_ours};
use crate::reset::ResetSecret;

/// The most connections at a time; more are refused.
const CONNECTIONS: usize = 1_024;
/// From so many connections on, clients have to show that they receive at their address (RFC 9000, 8.1.2), so that
/// nobody fills the others with first packets from addresses of others.
const UNVALIDATED: usize = 64;
/// Windows of flow control, bytes: of a stream and of a connection.
const STREAM_WINDOW: u32 = 16 << 20;
const WINDOW: u32 = 64 << 20;
/// A connection that hears nothing for so long is lost.
const IDLE: u32 = 60_000;
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// A datagram that has arrived.
#[derive(Debug)]
pub(crate) struct Arrival<'a> {
    pub(crate) from: SocketAddr,
    pub(crate) to: Option<IpAddr>,
    /// DSCP and ECN.
    pub(crate) tos: u8,
    pub(crate) bytes: &'a [u8],
}

/// The connections of an endpoint.
pub(crate) struct Core {
    config: Config,
    start: Instant,
    endpoint: Endpoint,
    /// The settings of servers, but for the transport, which each connection has of its own.
    server: Option<ServerConfig>,
    pub(crate) connections: BTreeMap<usize, Connection>,
    tags: BTreeMap<u16, usize>,
    random: Stream,
    /// Connections that have come and were not accepted yet.
    pub(crate) arrived: VecDeque<usize>,
    pub(crate) accept_wakers: Vec<Waker>,
    out: Vec<Datagram>,
    /// Small packets that belong to no connection.
    pub(crate) dropped: Counters,
    pub(crate) is_closed: bool,
}

impl Core {
    /// An endpoint with this configuration, whose time begins at `start`; it accepts connections if it has a server's.
    /// With a secret, it can tell peers of an earlier endpoint with the same one that their connections are no more.
    pub(crate) fn new(
        start: Instant,
        config: Config,
        server: Option<Arc<dyn quinn_proto::crypto::ServerConfig>>,
        secret: Option<ResetSecret>,
        seed: u64,
    ) -> Result<Self, quinn_proto::ConfigError> {
        let server = server.map(ServerConfig::with_crypto);
        let mut settings =
            secret.map_or_else(EndpointConfig::default, ResetSecret::endpoint_config);
        settings.grease_quic_bit(false).max_udp_payload_size(9_000)?;
        // In tests whatever QUIC draws is the same in each run.
        let random = cfg!(test).then_some([seed as u8; 32]);
        Ok(Self {
            config,
            start,
            endpoint: Endpoint::new(
                Arc::new(settings),
                server.clone().map(Arc::new),
                false,
                random,
            ),
            server,
            connections: BTreeMap::new(),
            tags: BTreeMap::new(),
            random: Seed::new(seed).stream("tags", 0),
            arrived: VecDeque::new(),
            accept_wakers: Vec::new(),
            out: Vec::new(),
            dropped: Counters::default(),
            is_closed: false,
        })
    }

    /// The time of the machines.
    pub(crate) fn time(&self, now: Instant) -> Time {
        Time::after_start(span(now.saturating_duration_since(self.start)))
    }

    /// Begins a connection.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        crypto: Arc<dyn quinn_proto::crypto::ClientConfig>,
        to: SocketAddr,
        name: &str,
    ) -> Result<usize, ConnectError> {
        let mut client = ClientConfig::new(crypto);
        let gate = Gate::new(Mode::Open);
        client.transport_config(transport(&self.config, &gate));
        let (handle, quic) = self.endpoint.connect(now, client, to, name)?;
        Ok(self.add(now, handle, quic, gate))
    }

    fn add(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        quic: quinn_proto::Connection,
        gate: Arc<Gate>,
    ) -> usize {
        let mut tag = self.random.draw() as u16;
        while self.tags.contains_key(&tag) {
            tag = tag.wrapping_add(1);
        }
        self.tags.insert(tag, handle.0);
        self.connections
            .insert(handle.0, Connection::new(now, (handle, quic, gate), &self.config, tag));
        handle.0
    }

    /// A datagram arrived.
    pub(crate) fn on_datagram(&mut self, now: Instant, arrival: &Arrival<'_>) {
        if arrival.bytes.first().is_some_and(|&first| is_ours(first)) {
            return self.on_small(now, arrival);
        }
        let ecn = EcnCodepoint::from_bits(arrival.tos & 3);
        let mut answer = Vec::new();
        let bytes = BytesMut::from(arrival.bytes);
        match self.endpoint.handle(now, arrival.from, arrival.to, ecn, bytes, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(connection) = self.connections.get_mut(&handle.0) {
                    connection.quic.handle_event(event);
                    connection.on_arrival(arrival);
                }
                self.settle(now, handle.0);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming),
            Some(DatagramEvent::Response(transmit)) => self.answer(&transmit, answer),
            None => {}
        }
    }

    fn on_small(&mut self, now: Instant, arrival: &Arrival<'_>) {
        let parsed = match Parsed::parse(arrival.bytes) {
            Ok(parsed) => parsed,
            Err(Malformed::Kind(_)) => return self.dropped.unknown_kind += 1,
            Err(_) => return self.dropped.wrong_length += 1,
        };
        let time = self.time(now);
        let number = self.tags.get(&parsed.tag());
        match number.and_then(|number| self.connections.get_mut(number)) {
            Some(connection) => connection.on_small(time, arrival, &parsed, &mut self.out),
            None => self.dropped.unknown_tag += 1,
        }
    }

    fn accept(&mut self, now: Instant, incoming: Incoming) {
        let mut answer = Vec::new();
        if self.connections.len() >= CONNECTIONS || self.is_closed {
            let transmit = self.endpoint.refuse(incoming, &mut answer);
            return self.answer(&transmit, answer);
        }
        let incoming = match self.ask(incoming, &mut answer) {
            Ok(incoming) => incoming,
            Err(transmit) => return self.answer(&transmit, answer),
        };
        let gate = Gate::new(Mode::Open);
        let server = self.server.clone().map(|mut server| {
            server.transport_config(transport(&self.config, &gate));
            Arc::new(server)
        });
        match self.endpoint.accept(incoming, now, &mut answer, server) {
            Ok((handle, quic)) => {
                let number = self.add(now, handle, quic, gate);
                self.arrived.push_back(number);
                self.settle(now, number);
                self.accept_wakers.drain(..).for_each(Waker::wake);
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.answer(&transmit, answer);
                }
            }
        }
    }

    /// Asks a client for the token that shows its address, if there are many and it has none.
    fn ask(&mut self, incoming: Incoming, answer: &mut Vec<u8>) -> Result<Incoming, Transmit> {
        if self.connections.len() < UNVALIDATED || !incoming.may_retry() {
            return Ok(incoming);
        }
        match self.endpoint.retry(incoming, answer) {
            Ok(transmit) => Err(transmit),
            Err(why) => Ok(why.into_incoming()),
        }
    }

    fn answer(&mut self, transmit: &Transmit, mut bytes: Vec<u8>) {
        bytes.truncate(transmit.size);
        let tos = self.config.classes.control << 2;
        self.out.push(Datagram { to: transmit.destination, tos, bytes });
    }

    /// Passes on what a connection and the endpoint tell each other.
    fn settle(&mut self, now: Instant, number: usize) {
        let time = self.time(now);
        let Some(connection) = self.connections.get_mut(&number) else { return };
        let mut is_drained = false;
        while let Some(event) = connection.quic.poll_endpoint_events() {
            is_drained |= event.is_drained();
            if let Some(event) = self.endpoint.handle_event(connection.handle, event) {
                connection.quic.handle_event(event);
            }
        }
        connection.take_events(time);
        if is_drained {
            connection.end.get_or_insert_with(|| End::Lost("closed".to_owned()));
            connection.wake();
            self.tags.remove(&connection.tag);
            if connection.is_abandoned {
                self.connections.remove(&number);
            }
        }
    }

    /// Everything that is to leave now.
    pub(crate) fn transmit(&mut self, now: Instant) -> Vec<Datagram> {
        let time = self.time(now);
        let mut out = std::mem::take(&mut self.out);
        let numbers: Vec<usize> = self.connections.keys().copied().collect();
        for number in numbers {
            if let Some(connection) = self.connections.get_mut(&number) {
                connection.transmit(now, time, &mut out);
            }
            self.settle(now, number);
        }
        out
    }

    /// When something is due next.
    pub(crate) fn wakeup(&mut self) -> Option<Instant> {
        let start = self.start;
        let after =
            |time: Time| start + Duration::from_nanos(time.since_start().as_ps().div_ceil(1_000));
        let due = self.connections.values_mut().flat_map(|connection| {
            let (quic, credits) = connection.wakeup();
            [quic, credits.map(after)]
        });
        due.flatten().min()
    }

    /// Closes all connections.
    pub(crate) fn close(&mut self, now: Instant) {
        self.is_closed = true;
        for number in std::mem::take(&mut self.arrived) {
            self.abandon(number);
        }
        for connection in self.connections.values_mut() {
            connection.close(now, 0, b"the endpoint is closed");
        }
        self.accept_wakers.drain(..).for_each(Waker::wake);
    }

    /// The socket has failed: all connections are lost.
    pub(crate) fn fail(&mut self, why: &str) {
        self.is_closed = true;
        for connection in self.connections.values_mut() {
            connection.end.get_or_insert_with(|| End::Lost(why.to_owned()));
            connection.wake();
        }
        self.accept_wakers.drain(..).for_each(Waker::wake);
    }

    /// Nobody asks for this connection any more.
    pub(crate) fn abandon(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(&number) {
            connection.is_abandoned = true;
            if connection.quic.is_drained() {
                self.connections.remove(&number);
            }
        }
    }
}

fn transport(config: &Config, gate: &Arc<Gate>) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport
        .congestion_controller_factory(Arc::new(Gates(Arc::clone(gate))))
        .initial_mtu(config.datagram.max(1_200))
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .max_idle_timeout(Some(VarInt::from_u32(IDLE).into()))
        .keep_alive_interval(Some(KEEP_ALIVE));
    Arc::new(transport)
}
