//! The TCP flows of a rehearsal. One thread opens, fills and empties all sockets, each in the namespace of its host,
//! and checks the bytes that arrive.

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::options::{BUSY_TIME, MaxPacingRate, RECEIVER_LIMITED, TcpInfo, TcpInfoWords};
use crate::pattern::{LONGEST, Pattern};
use crate::realtime;
use crate::run_clock::{FlowReport, LOOK, Poll, RunClock};
use crate::tcp_info::TcpInfoLog;
use nix::sys::socket::getsockopt;
use rustix::event::epoll::EventFlags;
use shallop_hosts::{HostFlow, HostFlows, addresses};
use shallop_measure::flow_trace::FlowTrace;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::{net::SocketAddr, time::Duration};

/// A pacing rate that never limits a flow: 100 Gb/s, in bytes per second.
const UNLIMITED: u64 = 12_500_000_000;
/// The most unsent bytes in a socket. More would only take memory.
const UNSENT: u32 = 1 << 18;
/// The most connections that wait for `accept`.
const BACKLOG: i32 = 4_096;
/// The most writes to, or reads from, a socket in a row, before the next socket has its turn.
const TURN: u32 = 2;

/// A TCP flow, with the index of its controller.
#[derive(Clone, Copy)]
struct TcpFlow {
    flow: HostFlow,
    controller: u16,
}

/// A socket of a server or of one end of a flow. `flow` is the index of the flow.
enum TcpSocket {
    /// The listening socket of the server for a controller.
    Listener(Socket, u16),
    Sender {
        socket: Socket,
        flow: usize,
        written: u64,
    },
    Receiver {
        socket: Socket,
        flow: usize,
        read: u64,
    },
    Closed,
}

/// The TCP flows of a run, and the sockets of their ends.
pub(crate) struct TcpFlows<'a> {
    flows: Vec<TcpFlow>,
    /// The kernel's names of the controllers.
    controllers: &'a [String],
    hosts: &'a [Host],
    /// Whether TCP paces, as with the queue discipline `fq`.
    paces: bool,
    /// Whether a proxy writes the receive windows, so that a flow that waits for one does not wait for its receiver.
    has_proxy: bool,
    poll: Poll,
    sockets: Vec<TcpSocket>,
    /// The index of each flow, by sending host, source port and controller.
    by_sender: BTreeMap<(u32, u16, u16), usize>,
    pattern: Pattern,
    buffer: Vec<u8>,
    report: FlowReport,
}

impl<'a> TcpFlows<'a> {
    /// Opens the servers of all receiving hosts, which moves this thread to other namespaces. `trace` samples the
    /// connections' states.
    pub(crate) fn open(
        flows: &'a HostFlows, hosts: &'a [Host], paces: bool, has_proxy: bool, trace: Option<FlowTrace>,
    ) -> Result<Self, RehearsalError> {
        let tcp: Vec<_> = flows.tcp().map(|(&flow, controller)| TcpFlow { flow, controller }).collect();
        let mut servers: Vec<(u32, u16)> = tcp.iter().map(|of| (of.flow.to, of.controller)).collect();
        servers.sort_unstable();
        servers.dedup();
        let sender = |of: &TcpFlow| (of.flow.from, of.flow.source_port, of.controller);
        let mut all = Self {
            by_sender: tcp.iter().enumerate().map(|(index, of)| (sender(of), index)).collect(),
            flows: tcp,
            controllers: &flows.controllers,
            hosts,
            paces,
            has_proxy,
            poll: Poll::new().map_err(failed("waiting for sockets"))?,
            sockets: Vec::new(),
            pattern: Pattern::default(),
            buffer: vec![0; LONGEST],
            report: FlowReport { tcp_info: TcpInfoLog(trace), ..FlowReport::default() },
        };
        for (host, controller) in servers {
            let what = format!("the server of host {host}");
            let server = all.server(host, controller).map_err(failed(what.clone()))?;
            all.add(TcpSocket::Listener(server, controller)).map_err(failed(what))?;
        }
        Ok(all)
    }

    fn socket(&self, host: u32, controller: u16) -> io::Result<Socket> {
        namespace::enter_host(self.hosts, host)?;
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        socket.set_nonblocking(true)?;
        socket.set_reuse_address(true)?;
        // However this process ends, connections end at once. Otherwise they would keep their namespaces and
        // controllers for minutes, until the last retransmission.
        socket.set_linger(Some(Duration::ZERO))?;
        socket.set_tcp_congestion(self.controllers[usize::from(controller)].as_bytes())?;
        Ok(socket)
    }

    fn server(&self, host: u32, controller: u16) -> io::Result<Socket> {
        let socket = self.socket(host, controller)?;
        socket.bind(&addresses::socket(host, addresses::FIRST_TCP_PORT + controller).into())?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    }

    fn add(&mut self, socket: TcpSocket) -> io::Result<()> {
        let number = self.sockets.len() as u64;
        match &socket {
            TcpSocket::Listener(socket, _) | TcpSocket::Receiver { socket, .. } => {
                self.poll.add(socket, number, EventFlags::IN)?;
            }
            TcpSocket::Sender { socket, .. } => self.poll.add(socket, number, EventFlags::OUT)?,
            TcpSocket::Closed => {}
        }
        self.sockets.push(socket);
        Ok(())
    }

    /// Starts and serves the flows until the run is over.
    pub(crate) fn run(mut self, clock: RunClock<'_>) -> Result<FlowReport, RehearsalError> {
        let hosting = realtime::host();
        let mut next = 0;
        while !clock.is_over() {
            let now = clock.elapsed();
            while let Some(&TcpFlow { flow, .. }) = self.flows.get(next)
                && now.is_some_and(|now| now >= Duration::from_nanos(flow.start))
            {
                self.report.record_delay(Duration::from_nanos(flow.start), now);
                if let Err(why) = self.connect(next) {
                    self.report.failures.push((flow.number, why.to_string()));
                }
                next += 1;
            }
            self.sample(now.unwrap_or_default(), clock.network.stretch);
            let due = self.flows.get(next).zip(now);
            let due = due.map(|(of, now)| Duration::from_nanos(of.flow.start).saturating_sub(now));
            let sample = now.and_then(|now| self.report.tcp_info.wait(now));
            let wait = [due, sample].into_iter().flatten().min();
            let wait = wait.map_or(LOOK, |wait| clock.network.real(wait).min(LOOK));
            let ready: Vec<u64> = self.poll.wait(wait).collect();
            for socket in ready {
                self.serve(socket as usize)?;
            }
        }
        // A flow that should have started and has not is late as well.
        for TcpFlow { flow, .. } in &self.flows[next..] {
            self.report.record_delay(Duration::from_nanos(flow.start), clock.elapsed());
        }
        self.report.starved = self.starved(clock);
        self.report.waited = hosting.waited();
        Ok(self.report)
    }

    /// Samples the states of all sending connections, if it is time to. The kernel measures round trips that are
    /// `stretch` times longer than in the network's time.
    fn sample(&mut self, now: Duration, stretch: u32) {
        let senders = self.sockets.iter().filter_map(|socket| match socket {
            TcpSocket::Sender { socket, flow, .. } => Some((self.flows[*flow].flow.number, socket)),
            _ => None,
        });
        self.report.tcp_info.sample(now, senders, stretch);
    }

    /// The part of the time that flows without an end had nothing to send, or a receiver that did not read, as a mean
    /// over them: their sockets lacked a processor.
    fn starved(&self, clock: RunClock<'_>) -> f64 {
        let now = clock.elapsed().unwrap_or_default();
        let part = |socket: &TcpSocket| {
            let TcpSocket::Sender { socket, flow, .. } = socket else { return None };
            let flow = self.flows[*flow].flow;
            let words = getsockopt(socket, TcpInfoWords).ok().filter(|_| flow.size.is_none())?;
            let rtt = f64::from(getsockopt(socket, TcpInfo).ok()?.rtt) * 1e-6;
            let age = clock.network.real(now.saturating_sub(Duration::from_nanos(flow.start)));
            let waited = if self.has_proxy { 0 } else { words[RECEIVER_LIMITED] };
            let sending = words[BUSY_TIME].saturating_sub(waited) as f64 * 1e-6;
            // A flow sends nothing in its first round trip, which makes the connection.
            let could = age.as_secs_f64() - 2.0 * rtt;
            (could > 0.0).then(|| (1.0 - sending / could).clamp(0.0, 1.0))
        };
        let parts: Vec<f64> = self.sockets.iter().filter_map(part).collect();
        parts.iter().sum::<f64>() / parts.len().max(1) as f64
    }

    fn connect(&mut self, index: usize) -> io::Result<()> {
        let TcpFlow { flow, controller } = self.flows[index];
        let socket = self.socket(flow.from, controller)?;
        socket.set_tcp_notsent_lowat(UNSENT)?;
        if self.paces {
            nix::sys::socket::setsockopt(&socket, MaxPacingRate, &UNLIMITED)?;
        }
        socket.bind(&flow.source().into())?;
        match socket.connect(&flow.destination().into()) {
            Err(why) if why.raw_os_error() != Some(nix::libc::EINPROGRESS) => return Err(why),
            _ => {}
        }
        self.add(TcpSocket::Sender { socket, flow: index, written: 0 })
    }

    fn serve(&mut self, index: usize) -> Result<(), RehearsalError> {
        let (flow, goes_on) = match self.sockets[index] {
            TcpSocket::Listener(..) => return self.accept(index),
            TcpSocket::Sender { flow, .. } => (flow, self.fill(index)),
            TcpSocket::Receiver { flow, .. } => (flow, self.empty(index)?),
            TcpSocket::Closed => return Ok(()),
        };
        match goes_on {
            Ok(true) => {}
            Ok(false) => self.finish(index),
            Err(why) => {
                let number = self.flows[flow].flow.number;
                self.report.failures.push((number, why.to_string()));
                self.sockets[index] = TcpSocket::Closed;
            }
        }
        Ok(())
    }

    /// Closes the socket of a finished flow. The kernel still delivers the bytes that were written.
    fn finish(&mut self, index: usize) {
        let socket = std::mem::replace(&mut self.sockets[index], TcpSocket::Closed);
        if let TcpSocket::Sender { socket, .. } | TcpSocket::Receiver { socket, .. } = socket {
            // With linger 0, closing would reset the connection.
            let _ = socket.set_linger(None);
        }
    }

    fn accept(&mut self, listener: usize) -> Result<(), RehearsalError> {
        while let TcpSocket::Listener(server, controller) = &self.sockets[listener] {
            let (socket, peer) = match server.accept() {
                Ok(accepted) => accepted,
                Err(why) if why.kind() == ErrorKind::WouldBlock => break,
                Err(why) => return Err(failed("accepting a connection")(why)),
            };
            let known = peer.as_socket().and_then(|peer| self.flow_from(peer, *controller));
            let Some(flow) = known else { continue };
            let set = socket.set_nonblocking(true);
            set.and_then(|()| self.add(TcpSocket::Receiver { socket, flow, read: 0 }))
                .map_err(failed("accepting a connection"))?;
        }
        Ok(())
    }

    /// The index of the flow from this address to the server of this controller.
    fn flow_from(&self, peer: SocketAddr, controller: u16) -> Option<usize> {
        let SocketAddr::V4(peer) = peer else { return None };
        let from = addresses::host_of(peer.ip().to_bits())?;
        self.by_sender.get(&(from, peer.port(), controller)).copied()
    }

    /// Writes as many bytes as a sender's socket takes. False when the flow is written.
    fn fill(&mut self, index: usize) -> io::Result<bool> {
        let TcpSocket::Sender { socket, flow, written } = &mut self.sockets[index] else {
            return Ok(true);
        };
        let HostFlow { number, size, .. } = self.flows[*flow].flow;
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

    /// Reads and checks the bytes that have arrived. False at the end of the flow.
    fn empty(&mut self, index: usize) -> Result<io::Result<bool>, RehearsalError> {
        let TcpSocket::Receiver { socket, flow, read } = &mut self.sockets[index] else {
            return Ok(Ok(true));
        };
        let flow = self.flows[*flow].flow.number;
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
