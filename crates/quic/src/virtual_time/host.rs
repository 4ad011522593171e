//! A host of ours in virtual time: a core, and an application that sends and checks streams.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Instant;

use quinn_proto::{Dir, StreamId};

use crate::connection::{Connection, Datagram};
use crate::core::Core;
use crate::credit::path::Path;
use crate::credit::stats::CreditStats;
use crate::sockets::datagram::Arrival;
use crate::streams;

/// A host of the network.
pub(super) trait Host {
    fn address(&self) -> SocketAddr;
    fn on_datagram(&mut self, now: Instant, arrival: &Arrival<'_>);
    /// What leaves now.
    fn act(&mut self, now: Instant) -> Vec<Datagram>;
    fn wakeup(&mut self) -> Option<Instant>;
}

/// Repeats with a length that is no multiple of anything else here.
const PERIOD: usize = 65_521;

/// The bytes of every stream.
pub(super) struct Pattern(Vec<u8>);

impl Pattern {
    pub(super) fn new() -> Self {
        let byte = |at: usize| (at * at / 7 + at * 3) as u8;
        Self((0..2 * PERIOD).map(|at| byte(at % PERIOD)).collect())
    }

    /// Up to `most` bytes from this offset.
    pub(super) fn at(&self, offset: u64, most: usize) -> &[u8] {
        let start = (offset % PERIOD as u64) as usize;
        &self.0[start..][..most.min(PERIOD)]
    }
}

/// A host of ours.
pub(super) struct Ours {
    pub(super) core: Core,
    address: SocketAddr,
    /// The connection that the application uses.
    pub(super) number: Option<usize>,
    pattern: Pattern,
    /// Bytes of streams that are to be opened.
    to_open: Vec<u64>,
    /// Bytes written and to be written of open streams.
    sending: BTreeMap<StreamId, (u64, u64)>,
    receiving: BTreeMap<StreamId, u64>,
    /// Bytes of all streams that have arrived.
    pub(super) received: u64,
}

impl Ours {
    pub(super) fn new(core: Core, address: SocketAddr) -> Self {
        Self {
            core,
            address,
            number: None,
            pattern: Pattern::new(),
            to_open: Vec::new(),
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            received: 0,
        }
    }

    /// Sends so many bytes on a new stream, if any.
    pub(super) fn send(&mut self, bytes: u64) {
        self.to_open.extend((bytes > 0).then_some(bytes));
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        self.core.connections.get_mut(self.number.unwrap()).unwrap()
    }

    pub(super) fn path(&mut self) -> Path {
        self.connection().path()
    }

    pub(super) fn stats(&mut self) -> CreditStats {
        self.connection().stats()
    }

    /// Whether the peer has everything.
    pub(super) fn is_done(&mut self) -> bool {
        if !self.to_open.is_empty() {
            return false;
        }
        let ids: Vec<StreamId> = self.sending.keys().copied().collect();
        let connection = self.connection();
        ids.iter().all(|&id| streams::over(connection, id).is_ready())
    }

    fn serve(&mut self) {
        if self.number.is_none() {
            self.number = self.core.arrived.pop_front();
        }
        let connection = self.number.and_then(|number| self.core.connections.get_mut(number));
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
                let count = connection.streams.write(id, self.pattern.at(*written, most));
                *written += count as u64;
                if count == 0 {
                    break;
                }
                if *written == *total {
                    connection.streams.finish(id);
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

/// Reads what has arrived of a stream, and checks it: true at its end.
pub(super) fn read(
    quic: &mut quinn_proto::Connection,
    id: StreamId,
    offset: &mut u64,
    pattern: &Pattern,
) -> bool {
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

impl Host for Ours {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn on_datagram(&mut self, now: Instant, arrival: &Arrival<'_>) {
        self.core.on_datagram(now, arrival);
    }

    fn act(&mut self, now: Instant) -> Vec<Datagram> {
        self.serve();
        let mut out = self.core.transmit(now);
        // What has arrived may let more be written, and be read.
        self.serve();
        out.extend(self.core.transmit(now));
        out
    }

    fn wakeup(&mut self) -> Option<Instant> {
        self.core.wakeup()
    }
}
