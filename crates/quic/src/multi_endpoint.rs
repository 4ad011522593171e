//! Many endpoints on one thread of the caller, without futures. Each has a socket of its own, possibly in another
//! network namespace. Sockets are used only in [`MultiEndpoint::turn`].

use crate::sockets::datagram::{DatagramDrops, OutgoingDatagram};
use crate::sockets::socket::{ReceiveBuffers, Socket};
use crate::{config::Config, connection::Connection, credit::send_mode::SendMode};
use crate::{config::SPIN, error::QuicError, path_stats::PathStats};
use crate::{credit::stats::CreditStats, endpoint_state::EndpointState};
use crate::{streams, trust::tls::Tls};
use quinn_proto::{Dir, StreamId};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::time::Timespec;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The most ready sockets that one call of `epoll_wait` returns.
const EVENTS: usize = 64;
/// The most receive calls in one turn.
const RECEIVES: usize = 128;
/// The most messages of one receive call, so that other endpoints do not wait long.
const MESSAGES: usize = 4;
/// The delay before sending to a full socket is tried again.
const RETRY_DELAY: Duration = Duration::from_micros(100);

/// Names a connection of one of the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId {
    /// The number of the endpoint, in the order of [`MultiEndpoint::add`] from 0.
    pub endpoint: usize,
    number: usize,
}

/// Names a unidirectional stream by its ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamNumber(StreamId);

/// An endpoint of the set, with its socket.
struct Member {
    socket: Socket,
    state: EndpointState,
    tls: Tls,
    /// Datagrams that the full socket has not taken yet.
    unsent: Vec<OutgoingDatagram>,
    due: Option<Instant>,
}

impl Member {
    /// Receives up to [`MESSAGES`] messages. Returns whether any arrived, and whether more may be waiting.
    fn receive(&mut self, buffers: &mut ReceiveBuffers) -> io::Result<(bool, bool)> {
        let mut any = false;
        let is_more = self.socket.receive(buffers, |datagram| {
            any = true;
            self.state.on_datagram(Instant::now(), datagram);
        })?;
        self.state.datagram_drops += self.socket.take_drops();
        Ok((any, is_more))
    }

    /// Sends the datagrams that are due, until the socket is full.
    fn transmit(&mut self) {
        self.unsent.extend(self.state.transmit(Instant::now()));
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.socket.send(&self.unsent[sent..]) {
                0 => break,
                count => sent += count,
            }
        }
        self.unsent.drain(..sent);
        self.state.datagram_drops += self.socket.take_drops();
        let retry = (!self.unsent.is_empty()).then(|| Instant::now() + RETRY_DELAY);
        self.due = [self.state.wakeup(), retry].into_iter().flatten().min();
    }
}

/// Endpoints that one thread of the caller runs ([`MultiEndpoint::turn`]).
pub struct MultiEndpoint {
    members: Vec<Member>,
    epoll: OwnedFd,
    /// The endpoints with a deadline, in the order of deadlines.
    due: BTreeSet<(Instant, usize)>,
    /// The endpoints that may have something to send before their deadline, because the caller has used them.
    touched: BTreeSet<usize>,
    events: Vec<Event>,
    buffers: ReceiveBuffers,
}

impl MultiEndpoint {
    /// Creates a set without endpoints.
    ///
    /// # Errors
    /// The system has no file descriptor left.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self {
            members: Vec::new(),
            epoll,
            due: BTreeSet::new(),
            touched: BTreeSet::new(),
            events: Vec::with_capacity(EVENTS),
            buffers: ReceiveBuffers::new(MESSAGES),
        })
    }

    /// Adds an endpoint and returns its number. It accepts connections if `tls` has an identity. `seed` starts its
    /// random numbers.
    ///
    /// # Errors
    /// A setting is out of bounds, or the socket cannot be used.
    pub fn add(&mut self, socket: UdpSocket, config: Config, tls: Tls, seed: u64) -> Result<usize, QuicError> {
        let tls = if config.credits { tls } else { tls.without_credits() };
        let socket = Socket::new(socket)?;
        let state = EndpointState::new(config, tls.server_config()?, None, seed)
            .map_err(|why| QuicError::Settings(why.to_string()))?
            .proving(tls.code.clone());
        let number = self.members.len();
        let data = EventData::new_u64(number as u64);
        epoll::add(&self.epoll, socket.as_fd(), data, EventFlags::IN).map_err(io::Error::from)?;
        self.members.push(Member { socket, state, tls, unsent: Vec::new(), due: None });
        Ok(number)
    }

    /// Starts to connect an endpoint to a server.
    ///
    /// # Errors
    /// There is no endpoint of this number, it trusts no server, or the address is unusable.
    pub fn connect(&mut self, endpoint: usize, to: SocketAddr, name: &str) -> Result<ConnectionId, QuicError> {
        let missing = || QuicError::Settings(format!("there is no endpoint {endpoint}"));
        let member = self.members.get_mut(endpoint).ok_or_else(missing)?;
        let crypto = member.tls.client_config()?;
        let number = member.state.connect(Instant::now(), crypto, to, name)?;
        self.touched.insert(endpoint);
        Ok(ConnectionId { endpoint, number })
    }

    /// The next connection of a client whose handshake is over, and which has proved the code if there is one.
    pub fn accept(&mut self, endpoint: usize) -> Option<ConnectionId> {
        let number = self.members.get_mut(endpoint)?.state.arrived.pop_front()?;
        Some(ConnectionId { endpoint, number })
    }

    /// Calls `act` with a connection, and schedules the connection if QUIC may have something to send afterwards.
    fn with<T>(&mut self, id: ConnectionId, act: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        let connections = &mut self.members.get_mut(id.endpoint)?.state.connections;
        let connection = connections.get_untouched(id.number)?;
        connection.needs_transmit = true;
        let result = act(connection);
        if connection.needs_transmit {
            connections.touch(id.number);
            self.touched.insert(id.endpoint);
        }
        Some(result)
    }

    /// Opens a unidirectional stream; `None` during the handshake, or if the peer's stream limit is reached.
    pub fn open(&mut self, id: ConnectionId) -> Option<StreamNumber> {
        self.with(id, |of| streams::open(of, Dir::Uni))?.map(StreamNumber)
    }

    /// The next unidirectional stream that the peer has opened.
    pub fn accept_stream(&mut self, id: ConnectionId) -> Option<StreamNumber> {
        self.with(id, |of| streams::accept(of, Dir::Uni))?.map(StreamNumber)
    }

    /// The number of bytes that [`MultiEndpoint::write`] takes now.
    pub fn room(&self, id: ConnectionId, stream: StreamNumber) -> usize {
        self.connection(id).map_or(0, |of| of.send_queues.room(stream.0))
    }

    /// Writes some of these bytes and returns how many.
    pub fn write(&mut self, id: ConnectionId, stream: StreamNumber, bytes: &[u8]) -> usize {
        self.with(id, |of| of.send_queues.write(stream.0, bytes)).unwrap_or(0)
    }

    /// Ends a stream after the bytes that were written.
    pub fn finish(&mut self, id: ConnectionId, stream: StreamNumber) {
        self.with(id, |of| of.send_queues.finish(stream.0));
    }

    /// Reads the bytes of a stream that have arrived and returns how many: 0 at the end of the stream.
    ///
    /// # Errors
    /// The peer has reset the stream, or the connection has ended.
    pub fn read(&mut self, id: ConnectionId, stream: StreamNumber, into: &mut [u8]) -> Poll<Result<usize, QuicError>> {
        let gone = || Poll::Ready(Err(QuicError::Lost("closed".to_owned())));
        self.with(id, |of| streams::read(of, stream.0, into)).unwrap_or_else(gone)
    }

    /// Counts of UDP datagrams that an endpoint's socket dropped.
    pub fn datagram_drops(&self, endpoint: usize) -> DatagramDrops {
        self.members.get(endpoint).map(|member| member.state.datagram_drops).unwrap_or_default()
    }

    /// How a connection sends data at the moment.
    ///
    /// # Errors
    /// The connection has ended.
    pub fn send_mode(&self, id: ConnectionId) -> Result<SendMode, QuicError> {
        let connection = self.connection(id);
        let connection = connection.ok_or_else(|| QuicError::Lost("closed".to_owned()))?;
        match &connection.close_reason {
            None => Ok(connection.send_mode()),
            Some(reason) => Err(reason.into()),
        }
    }

    /// Sends on credits again after a fallback ([`SendMode::is_fallback`]). Without a fallback nothing changes.
    pub fn use_credits(&mut self, id: ConnectionId) {
        self.with(id, Connection::use_credits);
    }

    /// Counts of emulation packets, credits and data packets of a connection.
    pub fn stats(&self, id: ConnectionId) -> CreditStats {
        self.connection(id).map(Connection::stats).unwrap_or_default()
    }

    /// The round trip times and losses that QUIC measures on a connection.
    pub fn path_stats(&self, id: ConnectionId) -> PathStats {
        self.connection(id).map(Connection::path_stats).unwrap_or_default()
    }

    /// The address of a connection's peer.
    pub fn remote_address(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.connection(id).map(|of| of.quic.remote_address())
    }

    fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.members.get(id.endpoint)?.state.connections.get(id.number)
    }

    /// Sends what is due, waits for datagrams and deadlines until `until` at the latest, and receives. Returns the
    /// endpoints that received something or had a deadline.
    ///
    /// # Errors
    /// A socket fails.
    pub fn turn(&mut self, until: Instant) -> io::Result<Vec<usize>> {
        let mut active = BTreeSet::new();
        for number in std::mem::take(&mut self.touched) {
            self.transmit_first_due(&mut active);
            self.transmit(number);
        }
        self.wait(if active.is_empty() { until } else { Instant::now() })?;
        let ready = self.events.iter().map(|event| event.data.u64() as usize);
        let mut ready: VecDeque<usize> = ready.collect();
        for _ in 0..RECEIVES {
            let Some(number) = ready.pop_front() else { break };
            self.transmit_first_due(&mut active);
            let Some(member) = self.members.get_mut(number) else { continue };
            let (any, is_more) = member.receive(&mut self.buffers)?;
            if any {
                active.insert(number);
                self.transmit(number);
            }
            if is_more {
                ready.push_back(number);
            }
        }
        let now = Instant::now();
        let due: Vec<usize> = self.due.iter().take_while(|(at, _)| *at <= now).map(|&(_, of)| of).collect();
        for number in due {
            active.insert(number);
            self.transmit(number);
        }
        Ok(active.into_iter().collect())
    }

    /// Serves the earliest deadline if it has passed, and only that one: if this thread cannot keep up with deadlines,
    /// it must still receive credits in between.
    fn transmit_first_due(&mut self, active: &mut BTreeSet<usize>) {
        let now = Instant::now();
        let Some(&(_, number)) = self.due.first().filter(|(at, _)| *at <= now) else { return };
        active.insert(number);
        self.transmit(number);
    }

    fn transmit(&mut self, number: usize) {
        let Some(member) = self.members.get_mut(number) else { return };
        let before = member.due;
        member.transmit();
        if before != member.due {
            before.map(|at| self.due.remove(&(at, number)));
            self.due.extend(member.due.map(|at| (at, number)));
        }
    }

    fn wait(&mut self, until: Instant) -> io::Result<()> {
        let next = self.due.first().map_or(until, |&(at, _)| at.min(until));
        let ahead = next.saturating_duration_since(Instant::now()).saturating_sub(SPIN);
        let timeout = Timespec { tv_sec: ahead.as_secs().cast_signed(), tv_nsec: i64::from(ahead.subsec_nanos()) };
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, room, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
