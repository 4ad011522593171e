//! A host in virtual time: an [`EndpointState`] with an application that sends streams and checks received ones.

use crate::endpoint_state::EndpointState;
use crate::sockets::datagram::{IncomingDatagram, OutgoingDatagram};
use crate::streams;
use crate::{connection::Connection, credit::send_mode::SendMode, credit::stats::CreditStats};
use quinn_proto::{Dir, StreamId};
use std::{collections::BTreeMap, net::SocketAddr, time::Instant};

pub(super) trait Host {
    fn address(&self) -> SocketAddr;
    fn on_datagram(&mut self, now: Instant, arrival: &IncomingDatagram<'_>);
    fn act(&mut self, now: Instant) -> Vec<OutgoingDatagram>;
    fn wakeup(&mut self) -> Option<Instant>;
}

/// The length of the pattern that streams repeat, bytes. It is a prime, so that shifted data does not match.
const PERIOD: usize = 65_521;

pub(super) struct Pattern(Vec<u8>);

impl Pattern {
    pub(super) fn new() -> Self {
        let byte = |at: usize| (at * at / 7 + at * 3) as u8;
        Self((0..2 * PERIOD).map(|at| byte(at % PERIOD)).collect())
    }

    /// Up to `most` bytes of the stream from this offset.
    pub(super) fn at(&self, offset: u64, most: usize) -> &[u8] {
        let start = (offset % PERIOD as u64) as usize;
        &self.0[start..][..most.min(PERIOD)]
    }
}

/// A host with this crate's QUIC.
pub(super) struct ShallopHost {
    pub(super) state: EndpointState,
    address: SocketAddr,
    /// The number of the application's connection.
    pub(super) number: Option<usize>,
    pattern: Pattern,
    /// The lengths of streams that are not opened yet.
    to_open: Vec<u64>,
    /// The bytes written, and the length, of each stream to the peer.
    sending: BTreeMap<StreamId, (u64, u64)>,
    /// The bytes read of each stream of the peer.
    receiving: BTreeMap<StreamId, u64>,
    /// The bytes read of all streams.
    pub(super) received: u64,
}

impl ShallopHost {
    pub(super) fn new(state: EndpointState, address: SocketAddr) -> Self {
        Self {
            state,
            address,
            number: None,
            pattern: Pattern::new(),
            to_open: Vec::new(),
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            received: 0,
        }
    }

    /// Sends `bytes` on a new stream, unless it is 0.
    pub(super) fn send(&mut self, bytes: u64) {
        self.to_open.extend((bytes > 0).then_some(bytes));
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        self.state.connections.get_mut(self.number.unwrap()).unwrap()
    }

    pub(super) fn send_mode(&mut self) -> SendMode {
        self.connection().send_mode()
    }

    pub(super) fn stats(&mut self) -> CreditStats {
        self.connection().stats()
    }

    /// Whether the peer has acknowledged all streams.
    pub(super) fn is_done(&mut self) -> bool {
        if !self.to_open.is_empty() {
            return false;
        }
        let ids: Vec<StreamId> = self.sending.keys().copied().collect();
        let connection = self.connection();
        ids.iter().all(|&id| streams::ended(connection, id).is_ready())
    }

    fn serve(&mut self) {
        if self.number.is_none() {
            self.number = self.state.arrived.pop_front();
        }
        let connection = self.number.and_then(|number| self.state.connections.get_mut(number));
        let Some(connection) = connection.filter(|connection| connection.is_ready()) else {
            return;
        };
        for bytes in self.to_open.drain(..) {
            let id = connection.quic.streams().open(Dir::Uni).unwrap();
            self.sending.insert(id, (0, bytes));
        }
        for (&id, (written, total)) in &mut self.sending {
            while *written < *total {
                let most = (*total - *written).min(1 << 14) as usize;
                let count = connection.send_queues.write(id, self.pattern.at(*written, most));
                *written += count as u64;
                if count == 0 {
                    break;
                }
                if *written == *total {
                    connection.send_queues.finish(id);
                }
            }
        }
        while let Some(id) = connection.quic.streams().accept(Dir::Uni) {
            self.receiving.insert(id, 0);
        }
        let (quic, pattern, received) = (&mut connection.quic, &self.pattern, &mut self.received);
        self.receiving.retain(|&id, offset| {
            let before = *offset;
            let is_over = read(quic, id, offset, pattern);
            *received += *offset - before;
            !is_over
        });
    }
}

/// Reads and checks the received bytes of a stream. Returns true at its end.
pub(super) fn read(quic: &mut quinn_proto::Connection, id: StreamId, offset: &mut u64, pattern: &Pattern) -> bool {
    let mut stream = quic.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return true };
    let mut is_over = false;
    loop {
        match chunks.next(1 << 14) {
            Ok(Some(chunk)) => {
                let expected = pattern.at(*offset, chunk.bytes.len());
                assert!(chunk.bytes == expected, "other bytes at {offset} of {id}");
                *offset += chunk.bytes.len() as u64;
            }
            Ok(None) => {
                is_over = true;
                break;
            }
            Err(_) => break,
        }
    }
    let _ = chunks.finalize();
    is_over
}

impl Host for ShallopHost {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn on_datagram(&mut self, now: Instant, arrival: &IncomingDatagram<'_>) {
        self.state.on_datagram(now, arrival);
    }

    fn act(&mut self, now: Instant) -> Vec<OutgoingDatagram> {
        self.serve();
        let mut out = self.state.transmit(now);
        // The first transmission may have made room in the queues.
        self.serve();
        out.extend(self.state.transmit(now));
        out
    }

    fn wakeup(&mut self) -> Option<Instant> {
        self.state.wakeup()
    }
}
