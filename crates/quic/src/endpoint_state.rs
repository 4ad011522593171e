//! The connections of an endpoint as a state machine: datagrams and times in, datagrams and one deadline out. Sockets,
//! threads and clocks are outside.

use crate::config::{Config, MIN_DATAGRAM};
use crate::connection::Connection;
use crate::credit::gate::{CreditGate, CreditGateFactory, GateMode};
use crate::credit::packet::{Parsed, is_ours};
use crate::error::CloseReason;
use crate::receive_windows::{self, ReceiveWindows};
use crate::reset::ResetSecret;
use crate::sockets::datagram::{DatagramDrops, IncomingDatagram, OutgoingDatagram};
use crate::sockets::dual_stack;
use crate::{connections::Connections, credit::counters::DropCounters, trust::code::Code};
use bytes::BytesMut;
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, ConnectError, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, EndpointEvent, Incoming, MtuDiscoveryConfig, ServerConfig, Transmit, TransportConfig, VarInt,
};
use shallop_core::{Seed, Stream};
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};
use std::{net::SocketAddr, sync::Arc, task::Waker};

/// The most connections at a time; further ones are refused.
const MAX_CONNECTIONS: usize = 1_024;
/// The most connections at a time from one IPv4 address, or from one /64 of IPv6, which a single host may have.
const MAX_PER_ADDRESS: usize = 128;
/// From this number of connections on, clients have to validate their address with a Retry packet (RFC 9000, 8.1.2), so
/// that Initial packets with forged source addresses cannot use up [`MAX_CONNECTIONS`].
const RETRY_THRESHOLD: usize = 64;
/// Ack-eliciting packets that the peer is asked to acknowledge together, if it supports
/// draft-ietf-quic-ack-frequency. Reordered packets are acknowledged at once, others within 25 ms.
const ACK_ELICITING_THRESHOLD: u32 = 10;
/// The idle timeout (RFC 9000, 10.1), milliseconds.
const IDLE_TIMEOUT: u32 = 60_000;
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// By how much packets may overtake each other, at the configured rate, before one that has not arrived counts as lost
/// (RFC 9002, 6.1 leaves both thresholds to the sender): paths with jitter reorder, and credits pace the data anyway.
const MAX_REORDERING: Duration = Duration::from_millis(10);
const TIME_THRESHOLD: f32 = 1.5;
/// The time from the end of a search for the MTU of a path to the next search, since routes change.
const MTU_INTERVAL: Duration = Duration::from_secs(300);
/// The flow-control window of a connection before the peer has proved the code, bytes.
const WINDOW_BEFORE_PROOF: u32 = 1_024;

pub(crate) struct EndpointState {
    config: Config,
    endpoint: Endpoint,
    /// The server's configuration without transport parameters, which differ between connections; `None` for a client.
    server: Option<ServerConfig>,
    /// The code that both ends of each connection prove.
    code: Option<Code>,
    pub(crate) connections: Connections,
    /// Maps the tag of emulation packets and credits ([`crate::packet`]) to the number of their connection.
    tags: BTreeMap<u16, usize>,
    random: Stream,
    /// Connections of clients that may use them and that the application has not accepted yet.
    pub(crate) arrived: VecDeque<usize>,
    windows: ReceiveWindows,
    /// Tasks that wait for a connection or for the end of all connections.
    wakers: Vec<Waker>,
    out: Vec<OutgoingDatagram>,
    /// Emulation packets and credits that belong to no connection.
    pub(crate) dropped: DropCounters,
    /// UDP datagrams that the socket dropped.
    pub(crate) datagram_drops: DatagramDrops,
    pub(crate) is_closed: bool,
    /// Why the endpoint's thread has ended, if it was not closed. The state of connections may be inconsistent then.
    pub(crate) failure: Option<String>,
}

impl EndpointState {
    /// Creates an endpoint, which accepts connections if it has a server configuration. With the `secret` of an earlier
    /// endpoint it answers that endpoint's peers with stateless resets.
    pub(crate) fn new(
        config: Config, server: Option<Arc<dyn quinn_proto::crypto::ServerConfig>>, secret: Option<ResetSecret>,
        seed: u64,
    ) -> Result<Self, quinn_proto::ConfigError> {
        let server = server.map(ServerConfig::with_crypto);
        let mut settings = secret.map_or_else(EndpointConfig::default, ResetSecret::endpoint_config);
        settings.grease_quic_bit(false).max_udp_payload_size(9_000)?;
        // Tests need the random numbers of QUIC to be equal in every run.
        let random = cfg!(test).then_some([seed as u8; 32]);
        let server_config = server.clone().map(Arc::new);
        Ok(Self {
            config,
            endpoint: Endpoint::new(Arc::new(settings), server_config, true, random),
            server,
            code: None,
            connections: Connections::default(),
            tags: BTreeMap::new(),
            random: Seed::new(seed).stream("tags", 0),
            arrived: VecDeque::new(),
            windows: ReceiveWindows::default(),
            wakers: Vec::new(),
            out: Vec::new(),
            dropped: DropCounters::default(),
            datagram_drops: DatagramDrops::default(),
            is_closed: false,
            failure: None,
        })
    }

    /// Asks the peers of all connections to prove this code.
    pub(crate) fn proving(self, code: Option<Code>) -> Self {
        Self { code, ..self }
    }

    /// Starts the handshake of a connection to a server, and returns the number of the connection.
    pub(crate) fn connect(
        &mut self, now: Instant, crypto: Arc<dyn quinn_proto::crypto::ClientConfig>, to: SocketAddr, name: &str,
    ) -> Result<usize, ConnectError> {
        let to = dual_stack::canonical(to);
        let mut client = ClientConfig::new(crypto);
        let gate = CreditGate::new(GateMode::Open);
        client.transport_config(self.transport(&self.config.for_peer(to.ip()), &gate));
        let (handle, quic) = self.endpoint.connect(now, client, to, name)?;
        Ok(self.add(now, handle, quic, gate))
    }

    fn add(
        &mut self, now: Instant, handle: ConnectionHandle, quic: quinn_proto::Connection, gate: Arc<CreditGate>,
    ) -> usize {
        let mut tag = self.random.draw() as u16;
        while self.tags.contains_key(&tag) {
            tag = tag.wrapping_add(1);
        }
        let config = self.config.for_peer(quic.remote_address().ip());
        let connection = Connection::new(now, handle, quic, gate, &config, tag);
        let number = self.connections.insert(connection.proving(now, self.code.clone()));
        self.tags.insert(tag, number);
        number
    }

    /// Passes a received datagram to QUIC, or to the credit machinery of its connection.
    pub(crate) fn on_datagram(&mut self, now: Instant, datagram: &IncomingDatagram<'_>) {
        if datagram.bytes.first().is_some_and(|&first| is_ours(first)) {
            return self.on_credit_packet(now, datagram);
        }
        let ecn = EcnCodepoint::from_bits(datagram.tos & 3);
        let mut answer = Vec::new();
        let bytes = BytesMut::from(datagram.bytes);
        match self.endpoint.handle(now, datagram.from, datagram.to, ecn, bytes, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                let Some(number) = self.connections.number_of(handle) else { return };
                if let Some(connection) = self.connections.get_mut(number) {
                    connection.quic.handle_event(event);
                    connection.on_quic_datagram(now, datagram);
                }
                self.process_events(now, number);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.accept(now, incoming),
            Some(DatagramEvent::Response(transmit)) => self.respond(&transmit, answer),
            None => {}
        }
    }

    /// Passes an emulation packet or a credit to the connection with its tag.
    fn on_credit_packet(&mut self, now: Instant, datagram: &IncomingDatagram<'_>) {
        let parsed = match Parsed::parse(datagram.bytes) {
            Ok(parsed) => parsed,
            Err(why) => return self.dropped += why.into(),
        };
        let number = self.tags.get(&parsed.tag);
        match number.and_then(|number| self.connections.get_mut(*number)) {
            Some(connection) => connection.on_credit_packet(now, datagram, &parsed, &mut self.out),
            None => self.dropped.unknown_tag += 1,
        }
    }

    fn accept(&mut self, now: Instant, incoming: Incoming) {
        let mut answer = Vec::new();
        let incoming = match self.validate_address(incoming, &mut answer) {
            Ok(incoming) => incoming,
            Err(transmit) => return self.respond(&transmit, answer),
        };
        let from = incoming.remote_address().ip();
        if self.is_closed || self.connections.count_from(from) >= MAX_PER_ADDRESS || !self.make_room(now) {
            let transmit = self.endpoint.refuse(incoming, &mut answer);
            return self.respond(&transmit, answer);
        }
        let gate = CreditGate::new(GateMode::Open);
        let server = self.server.clone().map(|mut server| {
            let config = self.config.for_peer(incoming.remote_address().ip());
            server.transport_config(self.transport(&config, &gate));
            Arc::new(server)
        });
        match self.endpoint.accept(incoming, now, &mut answer, server) {
            Ok((handle, quic)) => {
                let number = self.add(now, handle, quic, gate);
                self.process_events(now, number);
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.respond(&transmit, answer);
                }
            }
        }
    }

    /// Makes room for a client whose address is validated: of [`MAX_CONNECTIONS`], the oldest one whose client has not
    /// proved the code is forgotten. False if all have.
    fn make_room(&mut self, now: Instant) -> bool {
        if self.connections.len() < MAX_CONNECTIONS {
            return true;
        }
        let Some((number, connection)) = self.connections.oldest_stranger() else { return false };
        connection.forgotten_at = Some(now);
        self.process_events(now, number);
        self.connections.len() < MAX_CONNECTIONS
    }

    /// Returns a Retry packet for a client that has not validated its address, if there are many connections.
    fn validate_address(&mut self, incoming: Incoming, answer: &mut Vec<u8>) -> Result<Incoming, Transmit> {
        if self.connections.len() < RETRY_THRESHOLD || !incoming.may_retry() {
            return Ok(incoming);
        }
        match self.endpoint.retry(incoming, answer) {
            Ok(transmit) => Err(transmit),
            Err(why) => Ok(why.into_incoming()),
        }
    }

    fn respond(&mut self, transmit: &Transmit, mut bytes: Vec<u8>) {
        bytes.truncate(transmit.size);
        let tos = self.config.classes.control << 2;
        self.out.push(OutgoingDatagram { to: transmit.destination, tos, bytes });
    }

    /// Exchanges events between a connection and the QUIC endpoint, and removes the connection if it has ended.
    fn process_events(&mut self, now: Instant, number: usize) {
        let Some(connection) = self.connections.get_untouched(number) else { return };
        let mut is_drained = false;
        while let Some(event) = connection.quic.poll_endpoint_events().filter(|_| !connection.is_drained) {
            is_drained |= event.is_drained();
            if let Some(event) = self.endpoint.handle_event(connection.handle, event) {
                connection.quic.handle_event(event);
            }
        }
        if !is_drained && !connection.is_drained && connection.forgotten_at.is_some_and(|at| at <= now) {
            is_drained = true;
            self.endpoint.handle_event(connection.handle, EndpointEvent::drained());
        }
        connection.is_drained |= is_drained;
        connection.process_events(now);
        if let Some(wanted) = connection.wanted_window() {
            connection.window = self.windows.grant(u64::from(wanted)) as u32;
            connection.quic.set_receive_window(VarInt::from_u32(connection.window));
        }
        let arrives = std::mem::take(&mut connection.arrives) && !self.is_closed;
        if arrives {
            connection.is_abandoned = false;
            self.arrived.push_back(number);
        }
        if is_drained {
            connection.close_reason.get_or_insert_with(|| CloseReason::Lost("closed".to_owned()));
            connection.wake();
            self.tags.remove(&connection.tag);
            self.windows.release(u64::from(std::mem::take(&mut connection.window)));
            let (handle, is_abandoned) = (connection.handle, connection.is_abandoned);
            self.connections.release(handle);
            if is_abandoned {
                self.connections.remove(number);
            }
        }
        if is_drained || arrives {
            self.wake_all();
        }
    }

    /// The transport parameters of a connection. Before the proof of the code, a peer can send little.
    fn transport(&self, config: &Config, gate: &Arc<CreditGate>) -> Arc<TransportConfig> {
        let mut transport = transport(config, gate);
        if self.code.is_some() {
            let one = VarInt::from_u32(1);
            transport.max_concurrent_bidi_streams(one).max_concurrent_uni_streams(one);
            transport.receive_window(VarInt::from_u32(WINDOW_BEFORE_PROOF));
        }
        Arc::new(transport)
    }

    pub(crate) fn transmit(&mut self, now: Instant) -> Vec<OutgoingDatagram> {
        let mut out = std::mem::take(&mut self.out);
        for number in self.connections.take_active(now) {
            if let Some(connection) = self.connections.get_untouched(number) {
                connection.transmit(now, &mut out);
            }
            self.process_events(now, number);
            self.update_due(number);
        }
        out
    }

    fn update_due(&mut self, number: usize) {
        let Some(connection) = self.connections.get_untouched(number) else { return };
        let due = connection.wakeup();
        self.connections.set_due(number, due);
    }

    /// The earliest deadline of all connections.
    pub(crate) fn wakeup(&mut self) -> Option<Instant> {
        for number in self.connections.touched() {
            self.update_due(number);
        }
        self.connections.due.first().map(|&(at, _)| at)
    }

    /// Closes all connections and tells their peers.
    pub(crate) fn close(&mut self, now: Instant) {
        if self.failure.is_some() {
            return;
        }
        self.is_closed = true;
        for number in std::mem::take(&mut self.arrived) {
            self.abandon(number);
        }
        for connection in self.connections.values_mut() {
            connection.close(now, 0, b"the endpoint is closed");
        }
        self.wake_all();
    }

    /// Ends every future of the endpoint with the reason for which the thread has ended.
    pub(crate) fn fail(&mut self, why: &str) {
        self.is_closed = true;
        self.failure.get_or_insert_with(|| why.to_owned());
        self.arrived.clear();
        for connection in self.connections.values_mut() {
            connection.close_reason.get_or_insert_with(|| CloseReason::Failed(why.to_owned()));
            connection.wake();
        }
        self.wake_all();
    }

    /// Registers a task that waits for a connection or for the end of all connections.
    pub(crate) fn add_waker(&mut self, waker: &Waker) {
        if !self.wakers.iter().any(|known| known.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
    }

    #[cfg(test)]
    pub(crate) fn wakers(&self) -> usize {
        self.wakers.len()
    }

    /// Wakes the registered tasks. If a waker panics, the others are still registered.
    fn wake_all(&mut self) {
        while let Some(waker) = self.wakers.pop() {
            waker.wake();
        }
    }

    /// Notes that the application has dropped its handle of a connection.
    pub(crate) fn abandon(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(number) {
            connection.is_abandoned = true;
            if connection.is_drained {
                self.connections.remove(number);
            }
        }
    }
}

fn transport(config: &Config, gate: &Arc<CreditGate>) -> TransportConfig {
    let mut transport = TransportConfig::default();
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(ACK_ELICITING_THRESHOLD - 1));
    // A gap is acknowledged at once, as without the extension (RFC 9000, 13.2.1): a repair also waits for a credit.
    acks.reordering_threshold(VarInt::from_u32(1));
    let (stream_window, send_window) = config.windows();
    let window = (receive_windows::LEAST as u32).min(send_window);
    let overtaking = config.link.bytes_in(MAX_REORDERING.into()).get() / u64::from(config.datagram.max(MIN_DATAGRAM));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(config.datagram.max(MIN_DATAGRAM)).interval(MTU_INTERVAL);
    let controllers = CreditGateFactory { gate: Arc::clone(gate), fallback: config.fallback };
    transport
        .congestion_controller_factory(Arc::new(controllers))
        .mtu_discovery_config(Some(discovery))
        .enable_segmentation_offload(false)
        .ack_frequency_config(Some(acks))
        .packet_threshold(overtaking.clamp(3, 10_000) as u32)
        .time_threshold(TIME_THRESHOLD)
        .stream_receive_window(VarInt::from_u32(stream_window))
        .receive_window(VarInt::from_u32(window))
        .send_window(u64::from(send_window))
        .max_idle_timeout(Some(VarInt::from_u32(IDLE_TIMEOUT).into()))
        .keep_alive_interval(Some(KEEP_ALIVE));
    transport
}
