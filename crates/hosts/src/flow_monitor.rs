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

    fn data(sequence: u32, payload: u16) -> FrameHead {
        FrameHead { sequence, payload, ..FrameHead::default() }
    }

    fn syn(sequence: u32) -> FrameHead {
        FrameHead { syn: true, ..data(sequence, 0) }
    }

    fn ack(acknowledged: u32) -> FrameHead {
        FrameHead { acknowledged: Some(acknowledged), ..FrameHead::default() }
    }

    fn at(us: u64) -> Time {
        Time::after_start(Span::from_us(us))
    }

    fn monitors(protocol: FlowProtocol, size: u64) -> [FlowMonitor; 2] {
        let size = Some(size);
        let flow = HostFlow { number: 3, start: 0, size, from: 0, to: 1, source_port: 10_000, protocol };
        FlowMonitor::for_flow(&flow)
    }

    const TCP: FlowProtocol = FlowProtocol::Tcp { controller: 0 };

    #[test]
    fn data_sent_twice_is_a_retransmission_across_the_wrap_of_sequence_numbers() {
        let [mut sender, mut receiver] = monitors(TCP, 3_000);
        let first = u32::MAX - 999;
        for head in [syn(first - 1), data(first, 1_000), data(0, 1_000), data(first, 1_000)] {
            sender.on_sent(at(0), &head);
            receiver.on_arrival(at(1), &head);
        }
        assert_eq!((sender.counters.sent, sender.counters.retransmits), (3, 1));
        assert_eq!((receiver.counters.received, receiver.counters.duplicates), (2_000, 1));
        assert!(!receiver.is_complete());
        receiver.on_arrival(at(2), &data(1_000, 1_000));
        assert!(receiver.is_complete());
    }

    #[test]
    fn a_round_trip_lasts_from_data_to_its_acknowledgement_and_retransmissions_are_not_timed() {
        let [mut sender, _] = monitors(TCP, 2_000);
        sender.on_sent(at(0), &syn(99));
        sender.on_sent(at(10), &data(100, 1_000));
        sender.on_sent(at(20), &data(1_100, 1_000));
        sender.on_arrival(at(50), &ack(1_100));
        assert_eq!(sender.rtt, Some(Span::from_us(40)));
        sender.on_sent(at(60), &data(1_100, 1_000));
        // The acknowledgement of the data and of the FIN after it.
        sender.on_arrival(at(90), &ack(2_101));
        assert_eq!((sender.rtt, sender.is_complete()), (None, true));
    }

    #[test]
    fn connections_of_programs_are_counted_apart_and_added_up() {
        let [mut sender, mut receiver] = FlowMonitor::for_programs(0, 1);
        for (connection, head) in [
            (7, syn(0)),
            (8, syn(500)),
            (7, data(1, 1_000)),
            (8, data(501, 200)),
            (7, data(1, 1_000)),
            (DATAGRAMS, data(0, 300)),
        ] {
            let head = FrameHead { connection, ..head };
            sender.on_sent(at(0), &head);
            receiver.on_arrival(at(0), &head);
        }
        assert_eq!((sender.counters.sent, sender.counters.retransmits), (4, 1));
        assert_eq!((receiver.counters.received, receiver.counters.duplicates), (1_500, 1));
        assert!(!receiver.is_complete());
    }

    #[test]
    fn packets_of_the_receiving_host_are_not_counted_as_data_of_the_flow() {
        let [mut sender, mut receiver] = FlowMonitor::for_programs(0, 1);
        for (connection, head) in [(7, syn(0)), (7, data(1, 1_000)), (DATAGRAMS, data(0, 9))] {
            let head = FrameHead { connection, ..head };
            receiver.on_sent(Time::ZERO, &head);
            sender.on_arrival(Time::ZERO, &head);
        }
        assert_eq!(sender.counters, EndpointCounters::default());
        assert_eq!(receiver.counters, EndpointCounters::default());
    }

    #[test]
    fn a_udp_flow_is_complete_when_all_payload_was_received() {
        let options = UdpOptions { rate: BitsPerSec::gbps(1), payload: 1_460, ect: false };
        let [mut sender, mut receiver] = monitors(FlowProtocol::Udp(options), 2_000);
        sender.on_sent(at(0), &data(0, 1_460));
        receiver.on_arrival(at(1), &data(0, 1_460));
        // The second datagram is lost.
        sender.on_sent(at(2), &data(0, 540));
        assert!(sender.is_complete() && !receiver.is_complete());
        assert_eq!((sender.counters.sent, sender.counters.received), (2, 0));
        assert_eq!((receiver.counters.sent, receiver.counters.received), (0, 1_460));
    }

    #[test]
    fn a_quic_flow_is_complete_when_its_receiver_reports_it_and_packets_count_by_class() {
        let [mut sender, mut receiver] = monitors(FlowProtocol::Quic, 2_000);
        for class in [Class::Data, Class::Emulation, Class::Unscheduled, Class::Ack] {
            let head = FrameHead { class: Some(class), ..FrameHead::default() };
            sender.on_sent(at(0), &head);
            receiver.on_sent(at(0), &head);
        }
        let credits = Credits { granted: 3, used: 2, wasted: 1 };
        let progress = Progress { received: 1_999, credits, ..Progress::default() };
        sender.on_progress(progress);
        receiver.on_progress(progress);
        assert!(!receiver.is_complete());
        let counted = sender.counters;
        assert_eq!((counted.sent, counted.unscheduled, counted.credits.used), (2, 1, 2));
        assert_eq!((receiver.counters.sent, receiver.counters.received), (0, 1_999));
        let progress = Progress { received: 2_000, ..progress };
        sender.on_progress(progress);
        receiver.on_progress(progress);
        assert!(sender.is_complete() && receiver.is_complete());
    }
}
