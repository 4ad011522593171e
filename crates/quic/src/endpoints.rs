//! Endpoints of many hosts, which one thread of the caller keeps going without futures. Each has a socket of its own,
//! perhaps in another namespace. Nothing happens but in [`Endpoints::turn`].

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::task::Poll;
use std::time::{Duration, Instant};

use quinn_proto::{Dir, StreamId};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::time::Timespec;

use crate::config::Config;
use crate::connection::{self, Connection, Datagram};
use crate::core::Core;
use crate::credit::path::Path;
use crate::credit::stats::CreditStats;
use crate::error::QuicError;
use crate::path_stats::PathStats;
use crate::sockets::driver::SPIN;
use crate::sockets::drops::DatagramDrops;
use crate::sockets::socket::{Inbox, Socket};
use crate::streams::{self, Effect};
use crate::trust::tls::Tls;

/// Sockets that are served in one turn.
const EVENTS: usize = 64;
/// The most times that one is served.
const RECEIVES: usize = 128;
/// Datagrams that one of them receives before others have their turn.
const MESSAGES: usize = 4;
/// How long after it was full a socket is tried again.
const FULL: Duration = Duration::from_micros(100);

/// A connection of one of the endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId {
    /// The number of the endpoint.
    pub endpoint: usize,
    number: usize,
}

/// A stream in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StreamNumber(StreamId);

struct Part {
    socket: Socket,
    core: Core,
    tls: Tls,
    /// What a full socket has not taken.
    unsent: Vec<Datagram>,
    /// When something is due.
    next: Option<Instant>,
}

impl Part {
    /// Receives some of what has arrived, so that others have their turn, and returns whether there was anything, and
    /// whether there may be more.
    fn receive(&mut self, inbox: &mut Inbox) -> io::Result<(bool, bool)> {
        let mut any = false;
        let is_more = self.socket.receive(inbox, |arrival| {
            any = true;
            self.core.on_datagram(Instant::now(), arrival);
        })?;
        self.core.datagram_drops += self.socket.take_drops();
        Ok((any, is_more))
    }

    /// Sends what is due.
    fn transmit(&mut self) {
        self.unsent.extend(self.core.transmit(Instant::now()));
        let mut sent = 0;
        while sent < self.unsent.len() {
            match self.socket.send(&self.unsent[sent..]) {
                0 => break,
                count => sent += count,
            }
        }
        self.unsent.drain(..sent);
        self.core.datagram_drops += self.socket.take_drops();
        let again = (!self.unsent.is_empty()).then(|| Instant::now() + FULL);
        self.next = [self.core.wakeup(), again].into_iter().flatten().min();
    }
}

/// The endpoints.
pub struct Endpoints {
    parts: Vec<Part>,
    epoll: OwnedFd,
    /// Endpoints with something due, by its time.
    due: BTreeSet<(Instant, usize)>,
    /// Endpoints that have been given something to do, or at which something has arrived.
    touched: BTreeSet<usize>,
    events: Vec<Event>,
    inbox: Inbox,
}

impl Endpoints {
    /// None.
    ///
    /// # Errors
    /// If the system has no room.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Self {
            parts: Vec::new(),
            epoll,
            due: BTreeSet::new(),
            touched: BTreeSet::new(),
            events: Vec::with_capacity(EVENTS),
            inbox: Inbox::of(MESSAGES),
        })
    }

    /// Adds an endpoint with this socket, and returns its number. It accepts connections if `tls` has an identity.
    /// `seed` is where its random numbers start.
    ///
    /// # Errors
    /// If the settings are out of bounds, or the system refuses the socket.
    pub fn add(
        &mut self,
        socket: UdpSocket,
        (config, tls): (Config, Tls),
        seed: u64,
    ) -> Result<usize, QuicError> {
        let tls = if config.credits { tls } else { tls.speaking(&[connection::WITHOUT]) };
        let socket = Socket::new(socket)?.pairing(config.paired());
        let core = Core::new(Instant::now(), config, tls.server_config()?, None, seed)
            .map_err(|why| QuicError::Settings(why.to_string()))?;
        let number = self.parts.len();
        let data = EventData::new_u64(number as u64);
        epoll::add(&self.epoll, socket.as_fd(), data, EventFlags::IN).map_err(io::Error::from)?;
        self.parts.push(Part { socket, core, tls, unsent: Vec::new(), next: None });
        Ok(number)
    }

    /// Begins a connection.
    ///
    /// # Errors
    /// If there is no such endpoint, it trusts nobody, or the address is none.
    pub fn connect(
        &mut self,
        endpoint: usize,
        to: SocketAddr,
        name: &str,
    ) -> Result<ConnectionId, QuicError> {
        let missing = || QuicError::Settings(format!("there is no endpoint {endpoint}"));
        let part = self.parts.get_mut(endpoint).ok_or_else(missing)?;
        let crypto = part.tls.client_config()?;
        let number = part.core.connect(Instant::now(), crypto, to, name)?;
        self.touched.insert(endpoint);
        Ok(ConnectionId { endpoint, number })
    }

    /// A connection that has come to this endpoint.
    pub fn accept(&mut self, endpoint: usize) -> Option<ConnectionId> {
        let number = self.parts.get_mut(endpoint)?.core.arrived.pop_front()?;
        Some(ConnectionId { endpoint, number })
    }

    /// Does something to a connection. It has its turn at the next occasion, if QUIC may have something to send then.
    fn with<T>(&mut self, id: ConnectionId, act: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        let connections = &mut self.parts.get_mut(id.endpoint)?.core.connections;
        let connection = connections.get_untouched(id.number)?;
        connection.effect = Effect::Sends;
        let done = act(connection);
        if connection.effect == Effect::Sends {
            connections.touch(id.number);
            self.touched.insert(id.endpoint);
        }
        Some(done)
    }

    /// Opens a stream to the peer; `None` while it is not known how data leaves, or if the peer takes no more streams.
    pub fn open(&mut self, id: ConnectionId) -> Option<StreamNumber> {
        self.with(id, |of| streams::open(of, Dir::Uni))?.map(StreamNumber)
    }

    /// A stream that the peer has opened.
    pub fn accept_stream(&mut self, id: ConnectionId) -> Option<StreamNumber> {
        self.with(id, |of| streams::accept(of, Dir::Uni))?.map(StreamNumber)
    }

    /// Bytes that a stream takes now.
    #[must_use]
    pub fn room(&self, id: ConnectionId, stream: StreamNumber) -> usize {
        self.connection(id).map_or(0, |of| of.streams.room(stream.0))
    }

    /// Writes some of these bytes, and returns how many.
    pub fn write(&mut self, id: ConnectionId, stream: StreamNumber, bytes: &[u8]) -> usize {
        self.with(id, |of| of.streams.write(stream.0, bytes)).unwrap_or(0)
    }

    /// Ends a stream behind what was written.
    pub fn finish(&mut self, id: ConnectionId, stream: StreamNumber) {
        self.with(id, |of| of.streams.finish(stream.0));
    }

    /// Reads what has arrived of a stream, and returns how much: nothing at its end.
    ///
    /// # Errors
    /// If the peer has broken it off, or the connection is gone.
    pub fn read(
        &mut self,
        id: ConnectionId,
        stream: StreamNumber,
        into: &mut [u8],
    ) -> Poll<Result<usize, QuicError>> {
        let gone = || Poll::Ready(Err(QuicError::Lost("closed".to_owned())));
        self.with(id, |of| streams::read(of, stream.0, into)).unwrap_or_else(gone)
    }

    /// UDP datagrams that an endpoint has dropped: those that the kernel refused to send, and those that nobody can
    /// answer.
    #[must_use]
    pub fn datagram_drops(&self, endpoint: usize) -> DatagramDrops {
        self.parts.get(endpoint).map(|part| part.core.datagram_drops).unwrap_or_default()
    }

    /// How data of a connection leaves, or why it has ended.
    ///
    /// # Errors
    /// If it has ended.
    pub fn path(&self, id: ConnectionId) -> Result<Path, QuicError> {
        let connection = self.connection(id);
        let connection = connection.ok_or_else(|| QuicError::Lost("closed".to_owned()))?;
        match &connection.end {
            None => Ok(connection.path()),
            Some(end) => Err(end.into()),
        }
    }

    /// Begins again with credits, where they were given up ([`Path::is_fallback`]). Nothing changes if they were not.
    pub fn use_credits(&mut self, id: ConnectionId) {
        self.with(id, Connection::use_credits);
    }

    /// Counts of emulation packets and credits of a connection.
    #[must_use]
    pub fn stats(&self, id: ConnectionId) -> CreditStats {
        self.connection(id).map(Connection::stats).unwrap_or_default()
    }

    /// Round trips and losses of a connection, as QUIC has them.
    #[must_use]
    pub fn path_stats(&self, id: ConnectionId) -> PathStats {
        self.connection(id).map(Connection::path_stats).unwrap_or_default()
    }

    /// The address of the peer.
    #[must_use]
    pub fn remote_address(&self, id: ConnectionId) -> Option<SocketAddr> {
        self.connection(id).map(|of| of.quic.remote_address())
    }

    fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.parts.get(id.endpoint)?.core.connections.get(id.number)
    }

    /// Sends what is due, then waits for datagrams and deadlines, until `until` at most, and takes what has come.
    /// Returns the endpoints at which something has arrived or was due.
    ///
    /// # Errors
    /// If the system refuses a socket.
    pub fn turn(&mut self, until: Instant) -> io::Result<Vec<usize>> {
        let mut active = BTreeSet::new();
        for number in std::mem::take(&mut self.touched) {
            self.transmit_first(&mut active);
            self.transmit_of(number);
        }
        self.wait(if active.is_empty() { until } else { Instant::now() })?;
        let ready = self.events.iter().map(|event| event.data.u64() as usize);
        let mut ready: VecDeque<usize> = ready.collect();
        for _ in 0..RECEIVES {
            let Some(number) = ready.pop_front() else { break };
            self.transmit_first(&mut active);
            let Some(part) = self.parts.get_mut(number) else { continue };
            let (any, is_more) = part.receive(&mut self.inbox)?;
            if any {
                active.insert(number);
                self.transmit_of(number);
            }
            if is_more {
                // An endpoint of many connections gets more than others.
                ready.push_back(number);
            }
        }
        let now = Instant::now();
        let due: Vec<usize> =
            self.due.iter().take_while(|(at, _)| *at <= now).map(|&(_, of)| of).collect();
        for number in due {
            active.insert(number);
            self.transmit_of(number);
        }
        Ok(active.into_iter().collect())
    }

    /// Sends what was due first, if anything is due, and notes of which endpoint. Not more than that: where more is due
    /// than this thread can send, credits are still to arrive.
    fn transmit_first(&mut self, active: &mut BTreeSet<usize>) {
        let now = Instant::now();
        let Some(&(_, number)) = self.due.first().filter(|(at, _)| *at <= now) else { return };
        active.insert(number);
        self.transmit_of(number);
    }

    fn transmit_of(&mut self, number: usize) {
        let Some(part) = self.parts.get_mut(number) else { return };
        let before = part.next;
        part.transmit();
        if before != part.next {
            before.map(|at| self.due.remove(&(at, number)));
            self.due.extend(part.next.map(|at| (at, number)));
        }
    }

    fn wait(&mut self, until: Instant) -> io::Result<()> {
        let next = self.due.first().map_or(until, |&(at, _)| at.min(until));
        let ahead = next.saturating_duration_since(Instant::now()).saturating_sub(SPIN);
        let timeout = Timespec {
            tv_sec: ahead.as_secs().cast_signed(),
            tv_nsec: i64::from(ahead.subsec_nanos()),
        };
        self.events.clear();
        let room = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, room, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
