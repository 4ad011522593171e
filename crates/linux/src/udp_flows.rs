//! The UDP flows of a rehearsal, at constant rates. One thread sends all datagrams, each in the namespace of its host,
//! and checks the bytes that arrive. The average rate is exact: a datagram that could not be sent in time is sent
//! later.

use crate::error::{RehearsalError, failed};
use crate::namespace::{self, Host};
use crate::run_clock::{FlowReport, LOOK, Poll, RunClock};
use crate::{pattern::Pattern, realtime};
use rustix::event::epoll::EventFlags;
use shallop_core::Pace;
use shallop_hosts::{HostFlow, HostFlows, UdpOptions, addresses, udp_wire_bytes};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, ErrorKind, Read};
use std::time::Duration;
use std::{cmp::Reverse, collections::BinaryHeap};

/// The most datagrams that are received in a row before others are sent.
const TURN: u32 = 64;
/// The receive buffer of a UDP socket, in bytes: it holds datagrams while the thread serves other sockets.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Bytes of a datagram's title: the number of the flow, and the position of the datagram in the flow.
const TITLE: usize = 12;
/// The type of service of ECN-capable packets: ECT(0).
const ECT: u32 = 2;

struct UdpSender {
    flow: HostFlow,
    options: UdpOptions,
    /// The sending socket, once the flow has started.
    socket: Option<Socket>,
    pace: Pace,
    sent: u64,
}

pub(crate) struct UdpFlows<'a> {
    hosts: &'a [Host],
    senders: Vec<UdpSender>,
    receivers: Vec<Socket>,
    poll: Poll,
    pattern: Pattern,
    buffer: Vec<u8>,
    report: FlowReport,
}

/// Opens a socket in a host, which moves this thread to the host's namespace.
fn socket(hosts: &[Host], host: u32, port: u16) -> io::Result<Socket> {
    namespace::enter_host(hosts, host)?;
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    socket.bind(&addresses::socket(host, port).into())?;
    Ok(socket)
}

impl<'a> UdpFlows<'a> {
    /// Opens the sockets of all receiving hosts, which moves this thread to other namespaces.
    pub(crate) fn open(flows: &HostFlows, hosts: &'a [Host]) -> Result<Self, RehearsalError> {
        let poll = Poll::new().map_err(failed("waiting for datagrams"))?;
        let mut receiving: Vec<u32> = flows.udp().map(|(flow, _)| flow.to).collect();
        receiving.sort_unstable();
        receiving.dedup();
        let receiver = |(number, &host): (usize, &u32)| {
            let socket = socket(hosts, host, addresses::UDP_PORT)?;
            // The kernel may give less.
            socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
            poll.add(&socket, number as u64, EventFlags::IN)?;
            Ok(socket)
        };
        let receivers = receiving.iter().enumerate().map(receiver).collect::<io::Result<_>>();
        let receivers = receivers.map_err(failed("a socket for datagrams"))?;
        let sender = |(&flow, options): (&HostFlow, UdpOptions)| {
            let pace = Pace::new(options.rate);
            UdpSender { flow, options, socket: None, pace, sent: 0 }
        };
        Ok(Self {
            hosts,
            senders: flows.udp().map(sender).collect(),
            receivers,
            poll,
            pattern: Pattern::default(),
            buffer: vec![0; 1 << 16],
            report: FlowReport::default(),
        })
    }

    /// Sends and receives until the run is over.
    pub(crate) fn run(mut self, clock: RunClock<'_>) -> Result<FlowReport, RehearsalError> {
        let hosting = realtime::host();
        let start = |(index, of): (usize, &UdpSender)| Reverse((Duration::from_nanos(of.flow.start), index));
        let mut due: BinaryHeap<_> = self.senders.iter().enumerate().map(start).collect();
        while !clock.is_over() {
            let now = clock.elapsed();
            while let Some(&Reverse((at, index))) = due.peek()
                && now.is_some_and(|now| now >= at)
            {
                due.pop();
                self.report.record_delay(at, now);
                match self.send(index) {
                    Ok(None) => {}
                    Ok(Some(gap)) => due.push(Reverse((at + gap, index))),
                    Err(why) => {
                        let number = self.senders[index].flow.number;
                        self.report.failures.push((number, why.to_string()));
                    }
                }
            }
            let ahead = due.peek().zip(now).map(|(of, now)| of.0.0.saturating_sub(now));
            let wait = ahead.map_or(LOOK, |ahead| clock.network.real(ahead).min(LOOK));
            let ready: Vec<u64> = self.poll.wait(wait).collect();
            for receiver in ready {
                self.receive(receiver as usize)?;
            }
        }
        if let Some(&Reverse((at, _))) = due.peek() {
            self.report.record_delay(at, clock.elapsed());
        }
        self.report.datagrams_late = self.report.late;
        self.report.waited = hosting.waited();
        Ok(self.report)
    }

    /// Sends the next datagram of a flow. Returns the time until the one after it, if there is one.
    fn send(&mut self, index: usize) -> io::Result<Option<Duration>> {
        let UdpSender { flow, options, socket, pace, sent } = &mut self.senders[index];
        let socket = match socket {
            Some(socket) => socket,
            none => none.insert(connect(flow, *options, self.hosts)?),
        };
        let left = flow.size.map_or(u64::MAX, |size| size - *sent);
        let bytes = left.min(u64::from(options.payload));
        let text = datagram(&self.pattern, flow.number, *sent, bytes as usize);
        match socket.send(&text) {
            Ok(_) => *sent += bytes,
            // The queue of the host's interface is full: this datagram is sent later.
            Err(why) if why.kind() == ErrorKind::WouldBlock => {}
            Err(why) => return Err(why),
        }
        let gap = pace.charge(udp_wire_bytes(bytes));
        let is_over = flow.size == Some(*sent);
        Ok((!is_over).then(|| Duration::from_nanos(gap.as_ps() / 1_000)))
    }

    /// Reads and checks the datagrams that have arrived at a host.
    fn receive(&mut self, receiver: usize) -> Result<(), RehearsalError> {
        for _ in 0..TURN {
            match (&self.receivers[receiver]).read(&mut self.buffer) {
                Ok(count) => {
                    check(&self.pattern, &self.buffer[..count])?;
                    self.report.checked += count as u64;
                }
                // The kernel counts datagrams with a wrong checksum.
                Err(_) => break,
            }
        }
        Ok(())
    }
}

fn connect(flow: &HostFlow, options: UdpOptions, hosts: &[Host]) -> io::Result<Socket> {
    let socket = socket(hosts, flow.from, flow.source_port)?;
    if options.ect {
        socket.set_tos_v4(ECT)?;
    }
    socket.connect(&flow.destination().into())?;
    Ok(socket)
}

/// The datagram at position `from` of a flow.
fn datagram(pattern: &Pattern, flow: u32, from: u64, bytes: usize) -> Vec<u8> {
    let mut text = pattern.at(flow, from, bytes).to_vec();
    if let Some(title) = text.first_chunk_mut::<TITLE>() {
        title[..4].copy_from_slice(&flow.to_be_bytes());
        title[4..].copy_from_slice(&from.to_be_bytes());
    }
    text
}

/// Checks the bytes of a datagram after its title. A datagram that is too short for a title is not checked.
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
    fn a_changed_byte_of_a_datagram_is_detected() {
        let pattern = Pattern::default();
        let mut text = datagram(&pattern, 7, 2_920, 1_460);
        assert!(check(&pattern, &text).is_ok());
        text[1_000] ^= 1;
        let why = check(&pattern, &text);
        assert!(matches!(why, Err(RehearsalError::Corrupted { flow: 7, at: 2_920 })));
        for short in 0..=TITLE {
            assert!(check(&pattern, &datagram(&pattern, 7, 0, short)).is_ok());
        }
    }
}
