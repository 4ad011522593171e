//! All connections of an endpoint, without sockets, threads or clocks: datagrams and times in, datagrams out.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, ConnectError, ConnectionHandle, DatagramEvent, EcnCodepoint,
    Endpoint, EndpointConfig, Incoming, ServerConfig, Transmit, TransportConfig, VarInt,
};
use shallop_core::{Seed, Stream, Time};

use crate::config::{Config, span};
use crate::connection::{Connection, Datagram, End};
use crate::connections::Connections;
use crate::credit::counters::Counters;
use crate::credit::gate::{Gate, Gates, Mode};
use crate::credit::packet::{Malformed, Parsed, is_ours};
use crate::reset::ResetSecret;
use crate::sockets::datagram::Arrival;
use crate::sockets::drops::DatagramDrops;

/// The most connections at a time; more are refused.
const CONNECTIONS: usize = 1_024;
/// From so many connections on, clients have to show that they receive at their address (RFC 9000, 8.1.2), so that
/// nobody fills the others with first packets from addresses of others.
const UNVALIDATED: usize = 64;
/// Packets for which peers are asked to send one acknowledgement, if they can be asked (draft-ietf-quic-ack-frequency).
/// They acknowledge at once what shows a loss, and anything within 25 ms.
const ACKNOWLEDGED_TOGETHER: u32 = 10;
/// The least and the largest flow-control window of a stream, and the least of a connection, bytes.
const LEAST_STREAM_WINDOW: u64 = 16 << 20;
const MOST_STREAM_WINDOW: u64 = 256 << 20;
const LEAST_WINDOW: u64 = 64 << 20;
/// A connection that hears nothing for so long is lost.
const IDLE: u32 = 60_000;
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The connections of an endpoint.
pub(crate) struct Core {
    config: Config,
    start: Instant,
    endpoint: Endpoint,
    /// The settings of servers, but for the transport, which each connection has of its own.
    server: Option<ServerConfig>,
    pub(crate) connections: Connections,
    tags: BTreeMap<u16, usize>,
    random: Stream,
    /// Connections that have come and were not accepted yet.
    pub(crate) arrived: VecDeque<usize>,
    pub(crate) accept_wakers: Vec<Waker>,
    out: Vec<Datagram>,
    /// Small packets that belong to no connection.
    pub(crate) dropped: Counters,
    /// UDP datagrams that the endpoint's socket dropped.
    pub(crate) datagram_drops: DatagramDrops,
    pub(crate) is_closed: bool,
    /// Why the endpoint's thread has ended, if it was not closed. The state of connections may be inconsistent then.
    pub(crate) failure: Option<String>,
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
            connections: Connections::default(),
            tags: BTreeMap::new(),
            random: Seed::new(seed).stream("tags", 0),
            arrived: VecDeque::new(),
            accept_wakers: Vec::new(),
            out: Vec::new(),
            dropped: Counters::default(),
            datagram_drops: DatagramDrops::default(),
            is_closed: false,
            failure: None,
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
        client.transport_config(transport(&self.config.towards(to.ip()), &gate));
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
        let config = self.config.towards(quic.remote_address().ip());
        self.connections.insert(handle.0, Connection::new(now, (handle, quic, gate), &config, tag));
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
                if let Some(connection) = self.connections.get_mut(handle.0) {
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
        match number.and_then(|number| self.connections.get_mut(*number)) {
            Some(connection) => connection.on_small((now, time), arrival, &parsed, &mut self.out),
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
            let config = self.config.towards(incoming.remote_address().ip());
            server.transport_config(transport(&config, &gate));
            Arc::new(server)
        });
        match self.endpoint.accept(incoming, now, &mut answer, server) {
            Ok((handle, quic)) => {
                let number = self.add(now, handle, quic, gate);
                self.arrived.push_back(number);
                self.settle(now, number);
                self.wake_accepts();
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
        let Some(connection) = self.connections.get_untouched(number) else { return };
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
                self.connections.remove(number);
            }
        }
    }

    /// Everything that is to leave now.
    pub(crate) fn transmit(&mut self, now: Instant) -> Vec<Datagram> {
        let time = self.time(now);
        let mut out = std::mem::take(&mut self.out);
        for number in self.connections.take_active(now) {
            if let Some(connection) = self.connections.get_untouched(number) {
                connection.transmit(now, time, &mut out);
            }
            self.settle(now, number);
            self.update_due(number);
        }
        out
    }

    /// Notes when something of a connection is due.
    fn update_due(&mut self, number: usize) {
        let Some(connection) = self.connections.get_untouched(number) else { return };
        let (quic, credits) = connection.wakeup();
        let after = |time: Time| {
            self.start + Duration::from_nanos(time.since_start().as_ps().div_ceil(1_000))
        };
        self.connections.set_due(number, quic.into_iter().chain(credits.map(after)).min());
    }

    /// When something is due next.
    pub(crate) fn wakeup(&mut self) -> Option<Instant> {
        for number in self.connections.touched() {
            self.update_due(number);
        }
        self.connections.next_due()
    }

    /// Closes all connections.
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
        self.wake_accepts();
    }

    /// The endpoint's thread has ended for this reason: every future ends with it.
    pub(crate) fn fail(&mut self, why: &str) {
        self.is_closed = true;
        self.failure.get_or_insert_with(|| why.to_owned());
        self.arrived.clear();
        for connection in self.connections.values_mut() {
            connection.end.get_or_insert_with(|| End::Failed(why.to_owned()));
            connection.wake();
        }
        self.wake_accepts();
    }

    /// Wakes those who wait for a connection. If a waker panics, the others are still in the list.
    fn wake_accepts(&mut self) {
        while let Some(waker) = self.accept_wakers.pop() {
            waker.wake();
        }
    }

    /// Nobody asks for this connection any more.
    pub(crate) fn abandon(&mut self, number: usize) {
        if let Some(connection) = self.connections.get_mut(number) {
            connection.is_abandoned = true;
            if connection.quic.is_drained() {
                self.connections.remove(number);
            }
        }
    }
}

/// Flow-control windows of a stream and of a connection, bytes. A stream alone has to fill the link: its window is what
/// the link carries in a round trip, which is not longer than the waiting time, and in another one before the update of
/// the window is back.
fn windows(config: &Config) -> (u32, u32) {
    let product = config.link.bytes_in(config.wait_span() * 2).get();
    let stream = product.clamp(LEAST_STREAM_WINDOW, MOST_STREAM_WINDOW);
    (stream as u32, (stream * 2).max(LEAST_WINDOW) as u32)
}

fn transport(config: &Config, gate: &Arc<Gate>) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(ACKNOWLEDGED_TOGETHER - 1));
    // At once if a packet is missing, as without that (RFC 9000, 13.2.1): what is lost waits for a credit besides.
    acks.reordering_threshold(VarInt::from_u32(1));
    let (stream_window, window) = windows(config);
    transport
        .congestion_controller_factory(Arc::new(Gates(Arc::clone(gate), config.fallback)))
        .initial_mtu(config.datagram.max(1_200))
        .mtu_discovery_config(None)
        .enable_segmentation_offload(false)
        .ack_frequency_config(Some(acks))
        .stream_receive_window(VarInt::from_u32(stream_window))
        .receive_window(VarInt::from_u32(window))
        .send_window(u64::from(window))
        .max_idle_timeout(Some(VarInt::from_u32(IDLE).into()))
        .keep_alive_interval(Some(KEEP_ALIVE));
    Arc::new(transport)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::BitsPerSec;

    #[test]
    fn windows_follow_the_link_and_the_waiting_time_within_bounds() {
        let of = |link, wait| {
            windows(&Config { wait: Duration::from_millis(wait), ..Config::new(link) })
        };
        assert_eq!(of(BitsPerSec::gbps(10), 60), (150_000_000, 300_000_000));
        assert_eq!(of(BitsPerSec::gbps(1), 1), (16 << 20, 64 << 20));
        assert_eq!(of(BitsPerSec::gbps(1_000), 60_000), (256 << 20, 512 << 20));
    }
}
