//! The ends of a flow whose hosts are kernels, as the simulator counts them: they see every packet of the flow, and
//! decide nothing. Sequence numbers are those on the wire, counted from the connection's first.

use shallop_core::{Class, Ecn, Span, Time};
use shallop_proto::clean::AsTcp;
use shallop_proto::ranges::Ranges;
use shallop_proto::{Endpoint, EndpointCounters, Out, tcp, wire};

use crate::datagrams::DatagramEnd;
use crate::frame::Segment;
use crate::pair::PairEnd;
use crate::quic::{Progress, QuicEnd};

/// The header of a kernel's packet: the fields that its ends count, and where the whole frame is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// The number of the frame among those in the network.
    pub slot: u32,
    /// Its connection, among those of programs.
    pub connection: u32,
    /// The sequence number of its first byte.
    pub sequence: u32,
    /// The next byte that its sender awaits, if it says so.
    pub acknowledged: Option<u32>,
    /// Bytes of payload.
    pub payload: u16,
    /// Whether it opens the connection.
    pub syn: bool,
    /// The class that it says, if it says one.
    pub class: Option<Class>,
}

impl FrameHead {
    /// The header of this segment of a connection, whose frame is kept there.
    #[must_use]
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

/// The packet of a real host with this header, ECN codepoint and length of its IP packet. `legacy` says whether it is
/// in the classes of transports without credits, beside others with credits, unless it says its own.
#[must_use]
pub fn outgoing<H>(head: FrameHead, ecn: Ecn, ip_bytes: u16, legacy: bool) -> Out<Head<H>> {
    let class = if head.payload > 0 { Class::Data } else { Class::Ack };
    let class = head.class.unwrap_or(if legacy { class.legacy() } else { class });
    let (body, size) = (0..u64::from(head.payload), wire::frame(u64::from(ip_bytes)));
    Out { head: Head::Frame(head), body, size, class, ecn }
}

/// A header of a simulated endpoint or of a kernel.
#[derive(Clone, Copy, Debug)]
pub enum Head<H> {
    /// Of a simulated endpoint.
    Simulated(H),
    /// Of a kernel.
    Frame(FrameHead),
}

impl<H: AsTcp> AsTcp for Head<H> {
    fn as_tcp_mut(&mut self) -> Option<&mut tcp::Head> {
        match self {
            Self::Simulated(head) => head.as_tcp_mut(),
            Self::Frame(_) => None,
        }
    }
}

/// One end of a flow between kernels.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    /// The number of the flow among the orders of its host's kernel.
    pub order: u32,
    is_sender: bool,
    /// Payload bytes of the flow; `None` without end.
    size: Option<u64>,
    counters: EndpointCounters,
    /// The sequence number before the first byte of the flow's data, once the connection is opened.
    first: Option<u32>,
    /// The end of what was sent, acknowledged (at the sender) or received in order (at the receiver).
    sent: u64,
    acknowledged: u64,
    received: Ranges,
    /// The end of a segment whose round trip is being timed, and when it was sent (RFC 6298, Karn's rule).
    timed: Option<(u64, Time)>,
    rtt: Option<Span>,
}

impl KernelEnd {
    /// The two ends of a flow.
    #[must_use]
    pub fn pair(order: u32, size: Option<u64>) -> [Self; 2] {
        let end = |is_sender| Self {
            order,
            is_sender,
            size,
            counters: EndpointCounters::default(),
            first: None,
            sent: 0,
            acknowledged: 0,
            received: Ranges::default(),
            timed: None,
            rtt: None,
        };
        [end(true), end(false)]
    }

    /// The position in the flow's data of a sequence number, near `near`.
    fn position(&self, sequence: u32, near: u64) -> u64 {
        let first = self.first.unwrap_or(sequence);
        let low = sequence.wrapping_sub(first);
        // The position with these lowest 32 bits that is nearest.
        let ahead = low.wrapping_sub(near as u32).cast_signed();
        near.saturating_add_signed(i64::from(ahead))
    }

    /// Counts a packet that this end sends.
    pub fn on_send(&mut self, now: Time, head: &FrameHead) {
        if !self.is_sender {
            return;
        }
        if head.syn {
            self.first = Some(head.sequence.wrapping_add(1));
        }
        if head.payload == 0 {
            return;
        }
        let start = self.position(head.sequence, self.sent);
        let end = start + u64::from(head.payload);
        self.counters.sent += 1;
        if start < self.sent {
            self.counters.retransmits += 1;
            self.timed = None;
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        self.sent = self.sent.max(end);
    }

    fn on_ack(&mut self, now: Time, acknowledged: u32) {
        let end = self.position(acknowledged, self.acknowledged);
        // A FIN takes a sequence number after the data.
        self.acknowledged = self.acknowledged.max(end.min(self.sent));
        if let Some((awaited, sent)) = self.timed
            && self.acknowledged >= awaited
        {
            self.rtt = Some(now.saturating_since(sent));
            self.timed = None;
        }
    }

    fn on_data(&mut self, head: &FrameHead) {
        let near = self.received.last().map_or(0, |range| range.end);
        let start = self.position(head.sequence, near);
        let before = self.received.count();
        self.received.insert(start..start + u64::from(head.payload));
        let new = self.received.count() - before;
        self.counters.received += new;
        self.counters.duplicates += u64::from(new == 0);
    }
}

impl KernelEnd {
    /// Counts a packet that arrives.
    pub fn on_arrival(&mut self, now: Time, head: &FrameHead) {
        self.rtt = None;
        if self.is_sender {
            if let (Some(acknowledged), Some(_)) = (head.acknowledged, self.first) {
                self.on_ack(now, acknowledged);
            }
            return;
        }
        if head.syn {
            self.first = Some(head.sequence.wrapping_add(1));
        }
        if head.payload > 0 && self.first.is_some() {
            self.on_data(head);
        }
    }

    /// What it has counted.
    #[must_use]
    pub const fn counters(&self) -> EndpointCounters {
        self.counters
    }

    /// The round trip that the last packet has shown.
    #[must_use]
    pub const fn rtt(&self) -> Option<Span> {
        self.rtt
    }

    /// As [`Endpoint::is_complete`].
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let done = if self.is_sender { self.acknowledged } else { self.received.count() };
        self.size.is_some_and(|size| done >= size)
    }
}

/// One end of a flow, simulated or of a kernel.
#[derive(Debug)]
pub enum AnyHostEnd<E> {
    /// Simulated.
    Simulated(E),
    /// Of a kernel.
    Kernel(Box<KernelEnd>),
    /// Of two hosts whose programs talk to each other.
    Pair(Box<PairEnd>),
    /// Of a flow of datagrams.
    Datagrams(DatagramEnd),
    /// Of a flow of QUIC.
    Quic(QuicEnd),
}

impl<E> AnyHostEnd<E> {
    /// Counts a packet that its real host sends.
    pub fn on_sent(&mut self, now: Time, head: &FrameHead) {
        match self {
            Self::Kernel(end) => end.on_send(now, head),
            Self::Pair(end) => end.on_send(now, head),
            Self::Datagrams(end) => end.on_send(head),
            Self::Quic(end) => end.on_send(head.class),
            Self::Simulated(_) => {}
        }
    }

    /// Its hosts tell how far the flow is. Only of flows of QUIC its packets do not.
    pub fn on_news(&mut self, progress: Progress) {
        if let Self::Quic(end) = self {
            end.on_news(progress);
        }
    }
}

/// The packet with its header as one of either.
fn simulated<H>(out: Out<H>) -> Out<Head<H>> {
    let Out { head, body, size, class, ecn } = out;
    Out { head: Head::Simulated(head), body, size, class, ecn }
}

impl<E: Endpoint> Endpoint for AnyHostEnd<E> {
    type Head = Head<E::Head>;

    fn on_packet(&mut self, now: Time, head: &Self::Head, ecn: Ecn) {
        match (self, head) {
            (Self::Simulated(end), Head::Simulated(head)) => end.on_packet(now, head, ecn),
            (Self::Kernel(end), Head::Frame(head)) => end.on_arrival(now, head),
            (Self::Pair(end), Head::Frame(head)) => end.on_arrival(now, head),
            (Self::Datagrams(end), Head::Frame(head)) => end.on_arrival(head),
            (Self::Quic(_), Head::Frame(_)) => {}
            _ => debug_assert!(false, "both ends of a flow are simulated or neither"),
        }
    }

    fn on_timer(&mut self, now: Time) {
        if let Self::Simulated(end) = self {
            end.on_timer(now);
        }
    }

    fn poll_metered(&mut self, now: Time) -> Option<Out<Self::Head>> {
        match self {
            Self::Simulated(end) => end.poll_metered(now).map(simulated),
            _ => None,
        }
    }

    fn ready(&self, now: Time) -> bool {
        matches!(self, Self::Simulated(end) if end.ready(now))
    }

    fn is_low_priority(&self) -> bool {
        matches!(self, Self::Simulated(end) if end.is_low_priority())
    }

    fn poll(&mut self, now: Time) -> Option<Out<Self::Head>> {
        match self {
            Self::Simulated(end) => end.poll(now).map(simulated),
            _ => None,
        }
    }

    fn wakeup(&self) -> Option<Time> {
        match self {
            Self::Simulated(end) => end.wakeup(),
            _ => None,
        }
    }

    fn is_complete(&self) -> bool {
        match self {
            Self::Simulated(end) => end.is_complete(),
            Self::Kernel(end) => end.is_complete(),
            Self::Pair(_) => false,
            Self::Datagrams(end) => end.is_complete(),
            Self::Quic(end) => end.is_complete(),
        }
    }

    fn rtt_sample(&self) -> Option<Span> {
        match self {
            Self::Simulated(end) => end.rtt_sample(),
            Self::Kernel(end) => end.rtt,
            Self::Pair(end) => end.rtt(),
            Self::Datagrams(_) | Self::Quic(_) => None,
        }
    }

    fn counters(&self) -> EndpointCounters {
        match self {
            Self::Simulated(end) => end.counters(),
            Self::Kernel(end) => end.counters,
            Self::Pair(end) => end.counters(),
            Self::Datagrams(end) => end.counters(),
            Self::Quic(end) => end.counters(),
        }
    }

    fn continue_connection(&mut self, before: &Self) {
        if let (Self::Simulated(end), Self::Simulated(before)) = (self, before) {
            end.continue_connection(before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(sequence: u32, payload: u16) -> FrameHead {
        FrameHead {
            slot: 0,
            connection: 0,
            sequence,
            acknowledged: None,
            payload,
            syn: false,
            class: None,
        }
    }

    fn syn(sequence: u32) -> FrameHead {
        FrameHead { syn: true, ..data(sequence, 0) }
    }

    fn ack(acknowledged: u32) -> FrameHead {
        FrameHead { acknowledged: Some(acknowledged), ..data(0, 0) }
    }

    fn at(us: u64) -> Time {
        Time::after_start(Span::from_us(us))
    }

    #[test]
    fn what_is_sent_twice_is_a_retransmission_across_the_wrap() {
        let [mut sender, mut receiver] = KernelEnd::pair(0, Some(3_000));
        let first = u32::MAX - 999;
        for head in [syn(first - 1), data(first, 1_000), data(0, 1_000), data(first, 1_000)] {
            sender.on_send(at(0), &head);
            receiver.on_arrival(at(1), &head);
        }
        assert_eq!((sender.counters.sent, sender.counters.retransmits), (3, 1));
        assert_eq!((receiver.counters.received, receiver.counters.duplicates), (2_000, 1));
        assert!(!receiver.is_complete());
        receiver.on_arrival(at(2), &data(1_000, 1_000));
        assert!(receiver.is_complete());
    }

    #[test]
    fn a_round_trip_is_from_data_to_its_acknowledgement_and_not_timed_twice() {
        let [mut sender, _] = KernelEnd::pair(0, Some(2_000));
        sender.on_send(at(0), &syn(99));
        sender.on_send(at(10), &data(100, 1_000));
        sender.on_send(at(20), &data(1_100, 1_000));
        sender.on_arrival(at(50), &ack(1_100));
        assert_eq!(sender.rtt, Some(Span::from_us(40)));
        sender.on_send(at(60), &data(1_100, 1_000));
        // The acknowledgement of data, and of the FIN after it.
        sender.on_arrival(at(90), &ack(2_101));
        assert_eq!((sender.rtt, sender.is_complete()), (None, true));
    }
}
