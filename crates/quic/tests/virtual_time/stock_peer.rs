//! Connections with a host that runs unmodified quinn-proto: plain QUIC with CUBIC in both directions.

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event, ServerConfig,
    StreamEvent, StreamId, crypto,
};
use std::{net::SocketAddr, sync::Arc, time::Instant};

use super::MB;
use super::host::{Host, Pattern, ShallopHost, read};
use super::link::LinkConfig;
use super::network::{CLIENT, Network, SERVER, config, identities, ms, secs, shallop_client};
use crate::endpoint_state::EndpointState;
use crate::sockets::datagram::{IncomingDatagram, OutgoingDatagram};
use crate::trust::identity::SERVER_NAME;
use crate::{config::Config, credit::send_mode::SendMode, credit::unscheduled::Unscheduled};
use shallop_core::Bytes;

/// The application protocol of the quinn-proto host.
const ALPN: &[u8] = b"hq-interop";

struct QuinnHost {
    endpoint: Endpoint,
    address: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
    pattern: Pattern,
    /// The stream to the peer, the bytes written and its length.
    sending: Option<(StreamId, u64, u64)>,
    to_send: u64,
    receiving: Option<(StreamId, u64)>,
    received: u64,
    has_sent: bool,
}

impl QuinnHost {
    fn new(server: Option<Arc<dyn crypto::ServerConfig>>, address: SocketAddr) -> Self {
        let server = server.map(|crypto| Arc::new(ServerConfig::with_crypto(crypto)));
        let endpoint = Endpoint::new(Arc::new(EndpointConfig::default()), server, true, None);
        Self {
            endpoint,
            address,
            connection: None,
            pattern: Pattern::new(),
            sending: None,
            to_send: 0,
            receiving: None,
            received: 0,
            has_sent: false,
        }
    }

    fn connect(&mut self, now: Instant, crypto: Arc<dyn crypto::ClientConfig>) {
        let client = ClientConfig::new(crypto);
        self.connection = Some(self.endpoint.connect(now, client, SERVER, SERVER_NAME).unwrap());
    }

    fn serve(&mut self) {
        let Some((handle, quic)) = &mut self.connection else { return };
        while let Some(event) = quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                quic.handle_event(event);
            }
        }
        while let Some(event) = quic.poll() {
            self.has_sent |= matches!(event, Event::Stream(StreamEvent::Finished { .. }));
        }
        if quic.is_handshaking() {
            return;
        }
        if self.to_send > 0 && self.sending.is_none() {
            self.sending = quic.streams().open(Dir::Uni).map(|id| (id, 0, self.to_send));
        }
        if let Some((id, written, total)) = &mut self.sending {
            while *written < *total {
                let part = self.pattern.at(*written, (*total - *written).min(1 << 14) as usize);
                let Ok(count) = quic.send_stream(*id).write(part) else { break };
                *written += count as u64;
                if *written == *total {
                    quic.send_stream(*id).finish().unwrap();
                }
            }
        }
        if self.receiving.is_none() {
            self.receiving = quic.streams().accept(Dir::Uni).map(|id| (id, 0));
        }
        if let Some((id, offset)) = &mut self.receiving {
            read(quic, *id, offset, &self.pattern);
            self.received = *offset;
        }
    }
}

impl Host for QuinnHost {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn on_datagram(&mut self, now: Instant, arrival: &IncomingDatagram<'_>) {
        let (bytes, mut answer) = (BytesMut::from(arrival.bytes), Vec::new());
        match self.endpoint.handle(now, arrival.from, None, None, bytes, &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|error| error.cause).unwrap());
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.connection.as_mut().unwrap().1.handle_event(event);
            }
            Some(DatagramEvent::Response(_)) => panic!("a packet of no connection"),
            None => {}
        }
    }

    fn act(&mut self, now: Instant) -> Vec<OutgoingDatagram> {
        self.serve();
        let mut out = Vec::new();
        if let Some((_, quic)) = &mut self.connection {
            if quic.poll_timeout().is_some_and(|at| at <= now) {
                quic.handle_timeout(now);
            }
            let mut bytes = Vec::new();
            while let Some(transmit) = quic.poll_transmit(now, 1, &mut bytes) {
                let bytes = std::mem::take(&mut bytes);
                out.push(OutgoingDatagram { to: transmit.destination, tos: 0, bytes });
            }
        }
        self.serve();
        out
    }

    fn wakeup(&mut self) -> Option<Instant> {
        self.connection.as_mut().and_then(|(_, quic)| quic.poll_timeout())
    }
}

fn shallop() -> Config {
    let burst = Bytes::new(250_000);
    let unscheduled = Some(Unscheduled { burst, until_first_data: false, renew_after: None });
    Config { unscheduled, ..config(100, 40) }
}

fn link() -> LinkConfig {
    LinkConfig { buffer: 100, ..LinkConfig::new(100e6, ms(10)) }
}

/// Runs until each host has received 5 MB.
fn exchange<C: Host, S: Host>(network: &mut Network<C, S>, received: impl Fn(&Network<C, S>) -> [u64; 2]) {
    network.until(secs(10), |network| received(network) == [5 * MB; 2]);
}

fn uses_no_credits(shallop: &mut ShallopHost) {
    assert!(!shallop.connection().use_credits(), "the peer has none");
    assert_eq!(shallop.send_mode(), SendMode::WithoutCredits);
    assert_eq!((shallop.stats().emulated, shallop.stats().unscheduled), (0, 0));
    let quic = shallop.connection().quic.stats();
    assert!(quic.path.cwnd < 10 * MB, "CUBIC has a window: {}", quic.path.cwnd);
}

#[test]
fn a_quinn_client_transfers_both_ways_without_credits() {
    let base = Instant::now();
    let (client_tls, server_tls) = identities();
    let server_tls = server_tls.speaking(&[crate::credit::settings::ALPN, ALPN]);
    let state = EndpointState::new(shallop(), server_tls.server_config().unwrap(), None, 2).unwrap();
    let mut client = QuinnHost::new(None, CLIENT);
    client.connect(base, client_tls.speaking(&[ALPN]).client_config().unwrap());
    client.to_send = 5 * MB;
    let mut network = Network::new(base, client, ShallopHost::new(state, SERVER), &link());
    network.server.send(5 * MB);
    exchange(&mut network, |network| [network.client.received, network.server.received]);
    network.until(secs(1), |network| network.server.is_done() && network.client.has_sent);
    uses_no_credits(&mut network.server);
}

#[test]
fn a_quinn_server_transfers_both_ways_without_credits() {
    talk_to_a_quinn_server(&link());
}

#[test]
fn without_credits_an_erased_dscp_does_not_matter() {
    talk_to_a_quinn_server(&LinkConfig { is_erasing: true, ..link() });
}

fn talk_to_a_quinn_server(link: &LinkConfig) {
    let base = Instant::now();
    let (client_tls, server_tls) = identities();
    let client_tls = client_tls.speaking(&[crate::credit::settings::ALPN, ALPN]);
    let client = shallop_client(base, shallop(), client_tls.client_config().unwrap());
    let mut server = QuinnHost::new(server_tls.speaking(&[ALPN]).server_config().unwrap(), SERVER);
    server.to_send = 5 * MB;
    let mut network = Network::new(base, client, server, link);
    network.client.send(5 * MB);
    exchange(&mut network, |network| [network.client.received, network.server.received]);
    network.until(secs(1), |network| network.client.is_done() && network.server.has_sent);
    uses_no_credits(&mut network.client);
}
