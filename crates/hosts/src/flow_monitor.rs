//! Monitors of flows between real hosts. A monitor stands at each end of a flow in the simulated network, counts the
//! flow's packets and decides nothing. Sequence numbers of TCP count from the first byte of the connection.

use crate::frame::{Segment, SocketPair};
use crate::host_flow::{FlowProtocol, HostFlow};
use shallop_core::{Class, Span, Time};
pub use shallop_proto::Credits;
use shallop_proto::{EndpointCounters, ranges::Ranges};
use std::collections::BTreeMap;

/// The connection number of packets that are not TCP.
pub const DATAGRAMS: u32 = u32::MAX;

/// The header of a real host's packet in the simulated network: the fields that monitors count, and the number under
/// which the frame is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameHead {
    /// The number of the frame in [`HostPackets`](crate::HostPackets).
    pub slot: u32,
    /// The number of a program's connection; zero for flows of the scenario.
    pub connection: u32,
    /// The sequence number of the first byte.
    pub sequence: u32,
    /// The acknowledgement number, if the ACK flag is set.
    pub acknowledged: Option<u32>,
    pub payload: u16,
    pub syn: bool,
    /// The traffic class in the DSCP, if the host sets one.
    pub class: Option<Class>,
}

impl FrameHead {
    /// The header of a segment whose frame is stored under `slot`.
    pub fn new(slot: u32, connection: u32, segment: &Segment) -> Self {
        Self {
            slot,
            connection,
            sequence: segment.sequence,
            acknowledged: segment.ack.then_some(segment.acknowledged),
            payload: segment.payload as u16,
            syn: segment.syn,
            class: segment.class,
        }
    }
}

/// The progress of a QUIC flow, as its hosts report it. The packets are encrypted, so a monitor sees only their traffic
/// classes and lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Payload bytes that the receiver has in order and has checked.
    pub received: u64,
    /// Packets that the sender declared lost and whose data it sends again.
    pub lost: u64,
    /// Emulation packets that the sender has sent; each may return as a credit.
    pub emulated: u64,
    /// Credits that arrived at the sender.
    pub credits: Credits,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitoredPackets {
    Tcp(SocketPair),
    Udp(SocketPair),
    Quic(SocketPair),
    /// All packets of programs in two hosts, by the hosts' numbers. Together they are one flow.
    Programs(u32, u32),
}

/// The state of one direction of a TCP connection at one end.
#[derive(Clone, Debug, Default)]
struct TcpConnection {
    /// The sequence number of the first byte of data; `None` before the SYN.
    first: Option<u32>,
    /// The position after the last byte that was sent, from the first byte.
    snd_nxt: u64,
    /// The position after the last acknowledged byte, from the first byte.
    snd_una: u64,
    received: Ranges,
    /// The end of a segment whose round trip is timed, and the time when it was sent (RFC 6298, Karn's algorithm).
    timed: Option<(u64, Time)>,
}

impl TcpConnection {
    /// The position of a sequence number from the first byte of data: of all positions with these lowest 32 bits, the
    /// one nearest to `near`.
    fn position(&self, sequence: u32, near: u64) -> u64 {
        let low = sequence.wrapping_sub(self.first.unwrap_or(sequence));
        let ahead = low.wrapping_sub(near as u32).cast_signed();
        near.saturating_add_signed(i64::from(ahead))
    }

    fn on_sent(&mut self, now: Time, head: &FrameHead, counters: &mut EndpointCounters) {
        if head.syn {
            self.first = Some(head.sequence.wrapping_add(1));
        }
        if head.payload == 0 {
            return;
        }
        let start = self.position(head.sequence, self.snd_nxt);
        let end = start + u64::from(head.payload);
        counters.sent += 1;
        if start < self.snd_nxt {
            counters.retransmits += 1;
            self.timed = None;
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        self.snd_nxt = self.snd_nxt.max(end);
    }

    /// Processes an acknowledgement. Returns the round-trip time if it acknowledges the timed segment.
    fn on_ack(&mut self, now: Time, acknowledged: u32) -> Option<Span> {
        self.first?;
        let end = self.position(acknowledged, self.snd_una);
        // A FIN takes a sequence number after the data.
        self.snd_una = self.snd_una.max(end.min(self.snd_nxt));
        let (_, sent) = self.timed.take_if(|(end, _)| self.snd_una >= *end)?;
        Some(now.saturating_since(sent))
    }

    fn on_data(&mut self, head: &FrameHead, counters: &mut EndpointCounters) {
        if head.syn {
            self.first = Some(head.sequence.wrapping_add(1));
        }
        if head.payload == 0 || self.first.is_none() {
            return;
        }
        let near = self.received.last().map_or(0, |range| range.end);
        let start = self.position(head.sequence, near);
        let before = self.received.count();
        self.received.insert(start..start + u64::from(head.payload));
        let new = self.received.count() - before;
        counters.received += new;
        counters.duplicates += u64::from(new == 0);
    }
}

/// Counts the packets of a flow between real hosts at one end of the flow.
#[derive(Clone, Debug)]
pub struct FlowMonitor {
    pub packets: MonitoredPackets,
    is_sender: bool,
    /// Payload bytes of the flow; `None` if it has no end.
    size: Option<u64>,
    /// Payload bytes that are finished here: acknowledged (TCP sender), sent (UDP sender) or received.
    finished: u64,
    pub counters: EndpointCounters,
    /// The round-trip time that the last packet has shown.
    pub rtt: Option<Span>,
    /// The TCP connections of the flow, by number.
    connections: BTreeMap<u32, TcpConnection>,
}

impl FlowMonitor {
    /// Creates the monitors of a flow at the sender and at the receiver.
    pub fn for_flow(flow: &HostFlow) -> [Self; 2] {
        let packets = match flow.protocol {
            FlowProtocol::Tcp { .. } => MonitoredPackets::Tcp(flow.sockets()),
            FlowProtocol::Udp(_) => MonitoredPackets::Udp(flow.sockets()),
            FlowProtocol::Quic => MonitoredPackets::Quic(flow.sockets()),
        };
        Self::both(packets, flow.size)
    }

    /// Creates the monitors of the packets that programs in host `from` send to programs in host `to`.
    pub fn for_programs(from: u32, to: u32) -> [Self; 2] {
        Self::both(MonitoredPackets::Programs(from, to), None)
    }

    fn both(packets: MonitoredPackets, size: Option<u64>) -> [Self; 2] {
        [true, false].map(|is_sender| Self {
            packets,
            is_sender,
            size,
            finished: 0,
            counters: EndpointCounters::default(),
            rtt: None,
            connections: BTreeMap::new(),
        })
    }

    /// Counts a packet that the host at this end sends.
    pub fn on_sent(&mut self, now: Time, head: &FrameHead) {
        if !self.is_sender {
            return;
        }
        let counters = &mut self.counters;
        match self.packets {
            MonitoredPackets::Udp(_) => {
                counters.sent += 1;
                self.finished += u64::from(head.payload);
            }
            MonitoredPackets::Quic(_) => {
                let is_unscheduled = head.class == Some(Class::Unscheduled);
                counters.sent += u64::from(is_unscheduled || head.class == Some(Class::Data));
                counters.unscheduled += u64::from(is_unscheduled);
            }
            _ if head.connection == DATAGRAMS => counters.sent += u64::from(head.payload > 0),
            _ => {
                let connection = self.connections.entry(head.connection).or_default();
                connection.on_sent(now, head, counters);
            }
        }
    }

    /// Counts a packet that arrives at this end.
    pub fn on_arrival(&mut self, now: Time, head: &FrameHead) {
        self.rtt = None;
        match self.packets {
            MonitoredPackets::Quic(_) => return,
            MonitoredPackets::Tcp(_) | MonitoredPackets::Programs(..) if head.connection != DATAGRAMS => {
                let connection = self.connections.entry(head.connection).or_default();
                if !self.is_sender {
                    connection.on_data(head, &mut self.counters);
                } else if let Some(acknowledged) = head.acknowledged {
                    self.rtt = connection.on_ack(now, acknowledged);
                    self.finished = connection.snd_una;
                }
            }
            _ if self.is_sender => return,
            _ => self.counters.received += u64::from(head.payload),
        }
        if !self.is_sender {
            self.finished = self.counters.received;
        }
    }

    /// Takes over the progress that the hosts of a QUIC flow report.
    pub fn on_progress(&mut self, progress: Progress) {
        let Progress { received, lost, emulated, credits } = progress;
        self.finished = received;
        if self.is_sender {
            self.counters.retransmits = lost;
            self.counters.metered = emulated;
            self.counters.credits = credits;
        } else {
            self.counters.received = received;
        }
    }

    /// Whether the whole flow is acknowledged (TCP sender), sent (UDP sender) or received.
    pub fn is_complete(&self) -> bool {
        self.size.is_some_and(|size| self.finished >= size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_flow::UdpOptions;
    use shallop_core::BitsPerSec;
    use shallop_testing::dialogue::{self, Scope, number};

    /// The sender and the receiver of the dialogues.
    struct Monitors([FlowMonitor; 2]);

    fn of_flow(protocol: &str, size: u64) -> [FlowMonitor; 2] {
        let rate = BitsPerSec::gbps(1);
        let protocol = match protocol {
            "tcp" => FlowProtocol::Tcp { controller: 0 },
            "udp" => FlowProtocol::Udp(UdpOptions { rate, payload: 1_460, ect: false }),
            _ => FlowProtocol::Quic,
        };
        let size = Some(size);
        let flow = HostFlow { number: 3, start: 0, size, from: 0, to: 1, source_port: 10_000, protocol };
        FlowMonitor::for_flow(&flow)
    }

    /// The time and the fields of a frame.
    fn frame(words: &[&str]) -> (Time, FrameHead) {
        let (mut at, mut head) = (Time::ZERO, FrameHead::default());
        for (key, value) in words.iter().filter_map(|word| word.split_once('=')) {
            let whole = || number(value).unwrap();
            match key {
                "at" => at = Time::after_start(Span::from_us((whole() * 1e6).round() as u64)),
                "sequence" => head.sequence = whole() as u32,
                "acknowledged" => head.acknowledged = Some(whole() as u32),
                "payload" => head.payload = whole() as u16,
                "syn" => head.syn = value == "yes",
                "connection" => head.connection = number(value).map_or(DATAGRAMS, |number| number as u32),
                _ => head.class = Class::ALL.into_iter().find(|of| of.name() == value),
            }
        }
        (at, head)
    }

    impl dialogue::World for Monitors {
        fn act(&mut self, words: &[&str], _: &Scope) {
            let [sender, receiver] = &mut self.0;
            let (at, head) = frame(words);
            match *words {
                ["flow", protocol, size] => self.0 = of_flow(protocol, number(size).unwrap() as u64),
                ["programs"] => self.0 = FlowMonitor::for_programs(0, 1),
                ["passes", ..] => {
                    sender.on_sent(at, &head);
                    receiver.on_arrival(at, &head);
                }
                ["sender", "sends", ..] => sender.on_sent(at, &head),
                ["receiver", "sends", ..] => receiver.on_sent(at, &head),
                ["sender", "gets", ..] => sender.on_arrival(at, &head),
                ["receiver", "gets", ..] => receiver.on_arrival(at, &head),
                ["report", bytes] => {
                    let credits = Credits { granted: 3, used: 2, wasted: 1 };
                    let got = number(bytes).unwrap() as u64;
                    let progress = Progress { received: got, credits, ..Progress::default() };
                    self.0.iter_mut().for_each(|of| of.on_progress(progress));
                }
                _ => panic!("not understood: {words:?}"),
            }
        }

        fn value(&mut self, name: &str) -> Option<String> {
            let (host, name) = name.split_once('.')?;
            let of = &self.0[usize::from(host == "receiver")];
            Some(match name {
                "complete" => of.is_complete().to_string(),
                "rtt" => of.rtt.map_or("none".to_owned(), |rtt| rtt.as_secs_f64().to_string()),
                "nothing" => (of.counters == EndpointCounters::default()).to_string(),
                _ => format!("{:?}", of.counters),
            })
        }
    }

    #[test]
    fn monitors_count_as_the_dialogues_say() {
        dialogue::run(include_str!("../tests/flow_monitor.txt"), || Monitors(FlowMonitor::for_programs(0, 1)));
    }
}
