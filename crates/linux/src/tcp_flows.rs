//! The TCP flows of a rehearsal by real sockets: one thread opens, fills and empties them all, each in the namespace of
//! its host, and checks what arrives.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use shallop_hosts::{FlowOrder, addresses};
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::options::MaxPacingRate;
use crate::pattern::{LONGEST, Pattern};
use crate::realtime;
use crate::tcp_info::TcpInfoLog;

/// How often the thread looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(5);
/// A rate of pacing that never holds a flow back: 100 Gb/s, in bytes.
const UNLIMITED: u64 = 12_500_000_000;
/// Bytes that a socket takes beyond what it has sent. More would only take memory.
const UNSENT: u32 = 1 << 18;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4_096;
/// Writes or reads of one socket before the next has its turn.
const TURN: u32 = 2;
/// Events that are taken at once.
const EVENTS: usize = 64;

/// What the sockets of a run are made of.
pub(crate) struct Wanted<'a> {
    pub(crate) orders: &'a [FlowOrder],
    /// The kernel's names of the controllers.
    pub(crate) controllers: &'a [String],
    pub(crate) hosts: &'a [Host],
    /// Whether TCP paces what it sends, as with the queue discipline `fq`.
    pub(crate) paces: bool,
    /// How often connections are asked for their state; never if it is zero.
    pub(crate) sample: Duration,
}

/// How the flows of a run went.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// What went wrong, by the number of the order.
    pub(crate) failures: Vec<(u32, String)>,
    /// Payload bytes that were received and checked.
    pub(crate) checked: u64,
    /// How long the thread waited for a processor.
    pub(crate) waited: Duration,
    /// The longest that a flow started, or a datagram was sent, after its time.
    pub(crate) late: Duration,
    /// The longest that a datagram was sent after its time.
    pub(crate) datagrams_late: Duration,
    /// Windows and round trips of connections.
    pub(crate) tcp_info: TcpInfoLog,
}

impl Report {
    /// Adds how other flows of the run went.
    pub(crate) fn add(&mut self, other: Self) {
        self.failures.extend(other.failures);
        self.checked += other.checked;
        self.waited += other.waited;
        self.late = self.late.max(other.late);
        self.datagrams_late = self.datagrams_late.max(other.datagrams_late);
    }
}

/// A socket, and what it is for.
enum Part {
    Listener(Socket, u16),
    Sender { socket: Socket, order: usize, written: u64 },
    Receiver { socket: Socket, order: usize, read: u64 },
    Closed,
}

/// The sockets of a run.
pub(crate) struct Sockets<'a> {
    wanted: Wanted<'a>,
    epoll: OwnedFd,
    parts: Vec<Part>,
    /// The place of each order by its sending host, port and controller.
    by_sender: BTreeMap<(u32, u16, u16), usize>,
    pattern: Pattern,
    buffer: Vec<u8>,
    report: Report,
}

impl<'a> Sockets<'a> {
    /// Opens the servers of all hosts that receive. This thread is in other namespaces afterwards.
    pub(crate) fn open(wanted: Wanted<'a>) -> Result<Self, RehearsalError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from);
        let epoll = epoll.map_err(failed("waiting for sockets"))?;
        let mut servers: Vec<(u32, u16)> =
            wanted.orders.iter().map(|order| (order.to, order.controller)).collect();
        servers.sort_unstable();
        servers.dedup();
        let orders = wanted.orders.iter().enumerate();
        let by_sender = orders.map(|(at, of)| ((of.from, of.local, of.controller), at)).collect();
        let report = Report { tcp_info: TcpInfoLog::every(wanted.sample), ..Report::default() };
        let mut all = Self {
            by_sender,
            wanted,
            epoll,
            parts: Vec::new(),
            pattern: Pattern::default(),
            buffer: vec![0; LONGEST],
            report,
        };
        for (host, controller) in servers {
            let what = format!("the server of host {host}");
            let server = all.server(host, controller).map_err(failed(what.clone()))?;
            all.add(Part::Listener(server, controller)).map_err(failed(what))?;
        }
        Ok(all)
    }

    fn socket(&self, host: u32, controller: u16) -> io::Result<Socket> {
        namespace::enter_host(self.wanted.hosts, host)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_reuse_address(true)?;
        // However this process ends, the connections end at once. They would keep their namespaces and controllers for
        // minutes, until their last retransmission.
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_tcp_congestion(self.wanted.controllers[usize::from(controller)].as_bytes())?;
        Ok(socket)
    }

    fn server(&self, host: u32, controller: u16) -> io::Result<Socket> {
        let socket = self.socket(host, controller)?;
        socket.bind(&addresses::socket(host, addresses::FIRST_PORT + controller).into())?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    }

    fn add(&mut self, part: Part) -> io::Result<()> {
        let number = self.parts.len() as u64;
        let (socket, flags) = match &part {
            Part::Listener(socket, _) | Part::Receiver { socket, .. } => (socket, EventFlags::IN),
            Part::Sender { socket, .. } => (socket, EventFlags::OUT),
            Part::Closed => return Ok(()),
        };
        epoll::add(&self.epoll, socket.as_fd(), EventData::new_u64(number), flags)?;
        self.parts.push(part);
        Ok(())
    }

    /// Starts and serves the flows, by the clock that `start` is the beginning of, until `stop` is true.
    pub(crate) fn run(
        mut self,
        start: &OnceLock<Instant>,
        stop: &AtomicBool,
    ) -> Result<Report, RehearsalError> {
        let hosting = realtime::host();
        let mut next = 0;
        let mut events = Vec::with_capacity(EVENTS);
        while !stop.load(Ordering::Relaxed) {
            let now = start.get().map(Instant::elapsed);
            while let Some(order) = self.wanted.orders.get(next)
                && now.is_some_and(|now| now >= Duration::from_nanos(order.start))
            {
                self.record_start(next, now);
                if let Err(why) = self.connect(next) {
                    self.report.failures.push((order.number, why.to_string()));
                }
                next += 1;
            }
            self.ask(now.unwrap_or_default());
            let due = self.wanted.orders.get(next).zip(now);
            let due = due.map(|(order, now)| Duration::from_nanos(order.start).saturating_sub(now));
            self.wait(due.unwrap_or(LOOK).min(LOOK), &mut events);
            for event in &events {
                self.serve(event.data.u64() as usize)?;
            }
        }
        // A flow that should have started and has not is late as well.
        let end = start.get().map(Instant::elapsed);
        (next..self.wanted.orders.len()).for_each(|order| self.record_start(order, end));
        self.report.waited = hosting.waited();
        Ok(self.report)
    }

    /// Records how long after its time a flow starts, which is at this time of the run.
    fn record_start(&mut self, order: usize, now: Option<Duration>) {
        let due = Duration::from_nanos(self.wanted.orders[order].start);
        self.report.late = self.report.late.max(now.unwrap_or_default().saturating_sub(due));
    }

    /// Asks all connections that send for their state, if it is time to.
    fn ask(&mut self, now: Duration) {
        let log = &mut self.report.tcp_info;
        if !log.is_due(now) {
            return;
        }
        for part in &self.parts {
            if let Part::Sender { socket, order, .. } = part {
                log.ask(now, self.wanted.orders[*order].number, socket);
            }
        }
        log.asked(now);
    }

    fn wait(&self, timeout: Duration, events: &mut Vec<Event>) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(timeout.subsec_nanos()) };
        events.clear();
        // A wait that is interrupted ends early.
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout));
    }

    fn connect(&mut self, order: usize) -> io::Result<()> {
        let FlowOrder { from, to, local, controller, .. } = self.wanted.orders[order];
        let socket = self.socket(from, controller)?;
        socket.set_tcp_notsent_lowat(UNSENT)?;
        if self.wanted.paces {
            nix::sys::socket::setsockopt(&socket, MaxPacingRate, &UNLIMITED)?;
        }
        socket.bind(&addresses::socket(from, local).into())?;
        match socket.connect(&addresses::socket(to, addresses::FIRST_PORT + controller).into()) {
            Err(why) if why.raw_os_error() != Some(nix::libc::EINPROGRESS) => return Err(why),
            _ => {}
        }
        self.add(Part::Sender { socket, order, written: 0 })
    }

    fn serve(&mut self, part: usize) -> Result<(), RehearsalError> {
        let done = match &self.parts[part] {
            Part::Listener(..) => return self.accept(part),
            Part::Sender { order, .. } => {
                let order = self.wanted.orders[*order].number;
                (order, self.fill(part).map_err(|why| why.to_string()))
            }
            Part::Receiver { order, .. } => {
                let order = self.wanted.orders[*order].number;
                (order, self.empty(part)?.map_err(|why| why.to_string()))
            }
            Part::Closed => return Ok(()),
        };
        match done {
            (_, Ok(true)) => {}
            (_, Ok(false)) => self.finish(part),
            (order, Err(why)) => {
                self.report.failures.push((order, why));
                self.parts[part] = Part::Closed;
            }
        }
        Ok(())
    }

    /// Closes the socket of a flow that is finished here. The kernel still delivers what it was given.
    fn finish(&mut self, part: usize) {
        let part = std::mem::replace(&mut self.parts[part], Part::Closed);
        if let Part::Sender { socket, .. } | Part::Receiver { socket, .. } = part {
            // Otherwise the connection is reset, which its other end reports.
            let _ = socket.set_linger(None);
        }
    }

    fn accept(&mut self, listener: usize) -> Result<(), RehearsalError> {
        while let Part::Listener(server, controller) = &self.parts[listener] {
            let (socket, peer) = match server.accept() {
                Ok(accepted) => accepted,
                Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                Err(why) => return Err(failed("accepting a connection")(why)),
            };
            let known = peer.as_socket().and_then(|peer| self.order_from(peer, *controller));
            let Some(order) = known else { continue };
            let set = socket.set_nonblocking(true);
            set.and_then(|()| self.add(Part::Receiver { socket, order, read: 0 }))
                .map_err(failed("accepting a connection"))?;
        }
        Ok(())
    }

    /// The flow that comes from this address to the server of this controller.
    fn order_from(&self, peer: SocketAddr, controller: u16) -> Option<usize> {
        let SocketAddr::V4(peer) = peer else { return None };
        let from = addresses::host_of(peer.ip().to_bits())?;
        self.by_sender.get(&(from, peer.port(), controller)).copied()
    }

    /// Writes what a sender takes. False when all is written.
    fn fill(&mut self, part: usize) -> io::Result<bool> {
        let Part::Sender { socket, order, written } = &mut self.parts[part] else {
            return Ok(true);
        };
        let FlowOrder { number, size, .. } = self.wanted.orders[*order];
        for _ in 0..TURN {
            let left = size.map_or(u64::MAX, |size| size - *written);
            if left == 0 {
                return Ok(false);
            }
            let most = usize::try_from(left).unwrap_or(LONGEST);
            match socket.write(self.pattern.at(number, *written, most)) {
                Ok(count) => *written += count as u64,
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Err(why),
            }
        }
        Ok(true)
    }

    /// Reads and checks what has arrived. False at the end of the flow.
    fn empty(&mut self, part: usize) -> Result<io::Result<bool>, RehearsalError> {
        let Part::Receiver { socket, order, read } = &mut self.parts[part] else {
            return Ok(Ok(true));
        };
        let flow = self.wanted.orders[*order].number;
        for _ in 0..TURN {
            match socket.read(&mut self.buffer) {
                Ok(0) => return Ok(Ok(false)),
                Ok(count) => {
                    if self.buffer[..count] != *self.pattern.at(flow, *read, count) {
                        return Err(RehearsalError::Corrupted { flow, at: *read });
                    }
                    *read += count as u64;
                    self.report.checked += count as u64;
                }
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Ok(Ok(true)),
                Err(why) if why.kind() == ErrorKind::Interrupted => {}
                Err(why) => return Ok(Err(why)),
            }
        }
        Ok(Ok(true))
    }
}
