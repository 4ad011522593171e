//! Flows of datagrams at a constant rate by real sockets: one thread sends them all, each in the namespace of its host,
//! and checks what arrives. It keeps to the rate over time: what it could not send when it was due it sends later.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;
use shallop_core::Pace;
use shallop_hosts::addresses;
use shallop_hosts::datagrams::{DatagramOrder, wire_bytes};
use socket2::{Domain, Protocol, Socket, Type};

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::pattern::Pattern;
use crate::realtime;
use crate::tcp_flows::Report;

/// How often the thread looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(5);
/// Datagrams that are received in a row before others are sent.
const TURN: u32 = 64;
/// Bytes that a receiver's socket holds until they are read.
const HELD: usize = 4 << 20;
/// Bytes of a datagram that say whose it is: its flow, and its place in the flow.
const TITLE: usize = 12;
/// ECN-capable, as the type of service.
const ECT: u32 = 2;
/// Events that are taken at once.
const EVENTS: usize = 64;

/// A flow, while it is sent.
struct Sending {
    socket: Option<Socket>,
    pace: Pace,
    sent: u64,
}

/// The flows of datagrams of a run.
pub(crate) struct Datagrams<'a> {
    orders: &'a [DatagramOrder],
    hosts: &'a [Host],
    sending: Vec<Sending>,
    receivers: Vec<Socket>,
    epoll: OwnedFd,
    pattern: Pattern,
    buffer: Vec<u8>,
    report: Report,
}

/// A socket in a host. This thread is in its namespace afterwards.
fn socket(hosts: &[Host], host: u32, port: u16) -> io::Result<Socket> {
    namespace::enter_host(hosts, host)?;
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.bind(&addresses::socket(host, port).into())?;
    Ok(socket)
}

impl<'a> Datagrams<'a> {
    /// Opens the sockets of all hosts that receive. This thread is in other namespaces afterwards.
    pub(crate) fn open(
        orders: &'a [DatagramOrder],
        hosts: &'a [Host],
    ) -> Result<Self, RehearsalError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from);
        let epoll = epoll.map_err(failed("waiting for datagrams"))?;
        let mut receiving: Vec<u32> = orders.iter().map(|order| order.flow.to).collect();
        receiving.sort_unstable();
        receiving.dedup();
        let receiver = |(number, &host): (usize, &u32)| {
            let socket = socket(hosts, host, addresses::DATAGRAM_PORT)?;
            // The system gives what it allows.
            socket.set_recv_buffer_size(HELD)?;
            epoll::add(&epoll, socket.as_fd(), EventData::new_u64(number as u64), EventFlags::IN)?;
            Ok(socket)
        };
        let receivers = receiving.iter().enumerate().map(receiver).collect::<io::Result<_>>();
        let receivers = receivers.map_err(failed("a socket for datagrams"))?;
        let sending =
            |of: &DatagramOrder| Sending { socket: None, pace: Pace::new(of.rate), sent: 0 };
        Ok(Self {
            sending: orders.iter().map(sending).collect(),
            orders,
            hosts,
            receivers,
            epoll,
            pattern: Pattern::default(),
            buffer: vec![0; 1 << 16],
            report: Report::default(),
        })
    }

    /// Sends and receives, by the clock that `start` is the beginning of, until `stop` is true.
    pub(crate) fn run(
        mut self,
        start: &OnceLock<Instant>,
        stop: &AtomicBool,
    ) -> Result<Report, RehearsalError> {
        let hosting = realtime::host();
        let orders = self.orders.iter().enumerate();
        let mut due: BinaryHeap<Reverse<(Duration, usize)>> =
            orders.map(|(at, of)| Reverse((Duration::from_nanos(of.flow.start), at))).collect();
        let mut events = Vec::with_capacity(EVENTS);
        while !stop.load(Ordering::Relaxed) {
            let now = start.get().map(Instant::elapsed);
            while let Some(&Reverse((at, flow))) = due.peek()
                && let Some(now) = now.filter(|&now| now >= at)
            {
                due.pop();
                self.report.late = self.report.late.max(now.saturating_sub(at));
                match self.send(flow) {
                    Ok(None) => {}
                    Ok(Some(gap)) => due.push(Reverse((at + gap, flow))),
                    Err(why) => {
                        self.report.failures.push((self.orders[flow].flow.number, why.to_string()));
                    }
                }
            }
            let ahead = due.peek().zip(now).map(|(of, now)| of.0.0.saturating_sub(now));
            self.wait(ahead.unwrap_or(LOOK).min(LOOK), &mut events);
            for event in &events {
                self.receive(event.data.u64() as usize)?;
            }
        }
        if let (Some(&Reverse((at, _))), Some(now)) = (due.peek(), start.get()) {
            self.report.late = self.report.late.max(now.elapsed().saturating_sub(at));
        }
        self.report.datagrams_late = self.report.late;
        self.report.waited = hosting.waited();
        Ok(self.report)
    }

    fn wait(&self, timeout: Duration, events: &mut Vec<Event>) {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(timeout.subsec_nanos()) };
        events.clear();
        // A wait that is interrupted ends early.
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), Some(&timeout));
    }

    /// Sends the next datagram of a flow. Returns after which time the one after it is due, if there is one.
    fn send(&mut self, flow: usize) -> io::Result<Option<Duration>> {
        let (order, sending) = (&self.orders[flow], &mut self.sending[flow]);
        let socket = match &mut sending.socket {
            Some(socket) => socket,
            none => none.insert(connect(order, self.hosts)?),
        };
        let left = order.flow.size.map_or(u64::MAX, |size| size - sending.sent);
        let bytes = left.min(u64::from(order.payload)) as usize;
        let text = datagram(&self.pattern, (order.flow.number, sending.sent), bytes);
        match socket.send(&text) {
            Ok(_) => sending.sent += bytes as u64,
            // The host's card is behind: what is due now is due again after this.
            Err(why) if why.kind() == ErrorKind::WouldBlock => {}
            Err(why) => return Err(why),
        }
        let gap = sending.pace.charge(wire_bytes(bytes as u64));
        let is_over = order.flow.size == Some(sending.sent);
        Ok((!is_over).then(|| Duration::from_nanos(gap.as_ps() / 1_000)))
    }

    /// Reads and checks what has arrived at a host.
    fn receive(&mut self, receiver: usize) -> Result<(), RehearsalError> {
        for _ in 0..TURN {
            match (&self.receivers[receiver]).read(&mut self.buffer) {
                Ok(count) => {
                    check(&self.pattern, &self.buffer[..count])?;
                    self.report.checked += count as u64;
                }
                // A datagram with a wrong checksum is counted by the kernel.
                Err(_) => break,
            }
        }
        Ok(())
    }
}

fn connect(order: &DatagramOrder, hosts: &[Host]) -> io::Result<Socket> {
    let socket = socket(hosts, order.flow.from, order.flow.local)?;
    if order.ect {
        socket.set_tos_v4(ECT)?;
    }
    socket.connect(&addresses::socket(order.flow.to, addresses::DATAGRAM_PORT).into())?;
    Ok(socket)
}

/// The datagram of a flow that begins with this byte of it.
fn datagram(pattern: &Pattern, (flow, from): (u32, u64), bytes: usize) -> Vec<u8> {
    let mut text = pattern.at(flow, from, bytes).to_vec();
    if let Some(title) = text.first_chunk_mut::<TITLE>() {
        title[..4].copy_from_slice(&flow.to_be_bytes());
        title[4..].copy_from_slice(&from.to_be_bytes());
    }
    text
}

/// Whether a datagram has the bytes that its title says. One that is too short for a title is not checked.
fn check(pattern: &Pattern, text: &[u8]) -> Result<(), RehearsalError> {
    let Some((flow, rest)) = text.split_first_chunk() else { return Ok(()) };
    let Some((from, _)) = rest.split_first_chunk() else { return Ok(()) };
    let (flow, at) = (u32::from_be_bytes(*flow), u64::from_be_bytes(*from));
    if text[TITLE..] != pattern.at(flow, at, text.len())[TITLE..] {
        return Err(RehearsalError::Corrupted { flow, at });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_says_whose_it_is_and_a_changed_byte_is_seen() {
        let pattern = Pattern::default();
        let mut text = datagram(&pattern, (7, 2_920), 1_460);
        assert!(check(&pattern, &text).is_ok());
        text[1_000] ^= 1;
        let why = check(&pattern, &text);
        assert!(matches!(why, Err(RehearsalError::Corrupted { flow: 7, at: 2_920 })));
        for short in 0..=TITLE {
            assert!(check(&pattern, &datagram(&pattern, (7, 0), short)).is_ok());
        }
    }
}
