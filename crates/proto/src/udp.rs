//! UDP at a constant bit rate: no window, no acknowledgements, no retransmissions. State: when the next packet is due.
//! Units: bytes of payload; rates on the wire.
//!
//! A packet that is due while the host's link is busy is sent as soon as the link is free, and the next packet one full
//! gap later: the sender does not catch up. A flow of a given size is complete at the receiver if no packet was lost.

use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out};
use crate::{flow_state::FlowState, wire};
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Pace, Time};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub len: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Rate of the flow on the wire, preambles and gaps included.
    pub rate: BitsPerSec,
    /// Whether packets are ECN-capable. The sender does not react to marks.
    pub ect: bool,
    pub payload: Bytes,
    /// Bytes of the headers in an IP packet.
    pub headers: u64,
}

#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    pace: Pace,
    size: Option<u64>,
    next: u64,
    due: Option<Time>,
    /// The time of the last call of `on_timer`. A packet that was due by then needs no timer.
    last_timer: Time,
    sent: u64,
}

impl Sender {
    pub fn new(config: &Config, size: Option<u64>) -> Self {
        let pace = Pace::new(config.rate);
        Self { config: *config, pace, size, next: 0, due: None, last_timer: Time::ZERO, sent: 0 }
    }

    fn left(&self) -> u64 {
        self.size.map_or(u64::MAX, |size| size - self.next)
    }
}

impl Endpoint for Sender {
    type Head = Head;

    fn on_packet(&mut self, _: Time, _: &Head, _: Ecn) {}

    fn on_timer(&mut self, now: Time) {
        self.due.get_or_insert(now);
        self.last_timer = now;
    }

    fn ready(&self, now: Time) -> bool {
        self.left() > 0 && self.due.is_some_and(|due| due <= now)
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        let due = self.due.filter(|_| self.ready(now))?;
        let len = self.config.payload.get().min(self.left());
        let body: Range<u64> = self.next..self.next + len;
        let size = wire::frame(len + self.config.headers);
        self.next = body.end;
        self.sent += 1;
        self.due = Some((due + self.pace.charge(Bytes::new(u64::from(size)))).max(now));
        let ecn = if self.config.ect { Ecn::Ect } else { Ecn::NotEct };
        Some(Out { head: Head { len: len as u16 }, body, size, class: Class::Data, ecn })
    }

    fn wakeup(&self) -> Option<Time> {
        self.due.filter(|&due| due > self.last_timer && self.left() > 0)
    }

    fn is_complete(&self) -> bool {
        self.left() == 0
    }

    fn counters(&self) -> EndpointCounters {
        EndpointCounters { sent: self.sent, ..EndpointCounters::default() }
    }

    fn flow_state(&self) -> Option<FlowState> {
        let Config { rate, payload, headers, .. } = self.config;
        let part = payload.get() as f64 / f64::from(wire::frame(payload.get() + headers));
        let state = FlowState { pacing: Some(rate.scale(part)), ..FlowState::default() };
        (self.due.is_some() && self.left() > 0).then_some(state)
    }
}

#[derive(Clone, Debug)]
pub struct Receiver {
    size: Option<u64>,
    received: u64,
}

impl Receiver {
    pub const fn new(size: Option<u64>) -> Self {
        Self { size, received: 0 }
    }
}

impl Endpoint for Receiver {
    type Head = Head;

    fn on_packet(&mut self, _: Time, head: &Head, _: Ecn) {
        self.received += u64::from(head.len);
    }

    fn is_complete(&self) -> bool {
        self.size == Some(self.received)
    }

    fn counters(&self) -> EndpointCounters {
        EndpointCounters { received: self.received, ..EndpointCounters::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallop_core::Span;

    fn sender(size: Option<u64>) -> Sender {
        let (rate, payload) = (BitsPerSec::gbps(1), Bytes::new(1460));
        let mut sender = Sender::new(&Config { rate, ect: true, payload, headers: wire::HEADERS }, size);
        sender.on_timer(Time::ZERO);
        sender
    }

    /// Transmission time of a full frame at 1 Gb/s.
    const GAP: Span = Span::from_ns(12_304);

    #[test]
    fn packets_leave_at_their_rate_to_the_last_byte() {
        let mut sender = sender(Some(3_000));
        let mut receiver = Receiver::new(Some(3_000));
        let mut now = Time::ZERO;
        let mut sent = vec![];
        loop {
            while let Some(out) = sender.poll(now) {
                sent.push((now.since_start(), out.body.clone(), out.size));
                receiver.on_packet(now, &out.head, out.ecn);
            }
            let Some(next) = sender.wakeup() else { break };
            now = next;
            sender.on_timer(now);
        }
        let expected = [(Span::ZERO, 0..1460, 1538), (GAP, 1460..2920, 1538), (GAP * 2, 2920..3000, 158)];
        assert_eq!(sent, expected);
        assert!(sender.is_complete() && receiver.is_complete());
        assert_eq!((sender.counters().sent, receiver.counters().received), (3, 3_000));
    }

    #[test]
    fn a_sender_does_not_catch_up_after_a_busy_link() {
        let mut sender = sender(None);
        assert!(sender.poll(Time::ZERO).is_some());
        let late = Time::ZERO + GAP * 10;
        sender.on_timer(Time::ZERO + GAP);
        assert!(sender.wakeup().is_none(), "it waits for the link and needs no timer");
        assert!(sender.poll(late).is_some());
        assert!(sender.poll(late).is_some(), "the one that is due now");
        assert!(sender.poll(late).is_none());
        assert_eq!(sender.wakeup(), Some(late + GAP));
    }

    #[test]
    fn the_receiver_of_a_flow_with_a_loss_is_never_complete() {
        let mut receiver = Receiver::new(Some(2_920));
        receiver.on_packet(Time::ZERO, &Head { len: 1460 }, Ecn::Ce);
        assert!(!receiver.is_complete() && !Receiver::new(None).is_complete());
    }
}
