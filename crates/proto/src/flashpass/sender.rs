//! The sending end: the credit engine says when, this says what. Data travels in order on one path, so what was sent
//! before the newest packet acknowledged and is not acknowledged itself is lost; it is sent again with new credits.

use std::collections::VecDeque;

use shallop_control::Rate;
use shallop_core::{Class, Ecn, Span, Stream, Time};

use super::head::{Ack, Head};
use super::pass::{Pass, PassConfig};
use crate::arrived::Arrived;
use crate::endpoint::{Endpoint, Out};
use crate::report::{Credits, Report};
use crate::wire;

/// What a sender is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The credit engine.
    pub pass: PassConfig,
    /// Payload of a full data packet.
    pub payload: u16,
    /// Bytes to send; `None` without end.
    pub size: Option<u64>,
    /// If nothing is acknowledged for this long, everything on its way is taken for lost.
    pub timeout: Span,
}

/// A data packet on its way.
#[derive(Clone, Copy, Debug)]
struct Flight {
    offset: u64,
    length: u16,
    lost: bool,
}

/// The sending end of a flow.
#[derive(Debug)]
pub struct Sender<R> {
    config: SenderConfig,
    pass: Pass<R>,
    started: bool,
    /// Credits whose time has come, each good for a packet as soon as the host's link is free.
    open: u64,
    next: u64,
    acked: Arrived,
    /// Packets sent, the earliest first; the first one's number is `first`.
    flights: VecDeque<Flight>,
    first: u32,
    /// Payload lost, to be sent again, earliest first.
    lost: VecDeque<(u64, u16)>,
    timeout_at: Option<Time>,
    rtt: Option<Span>,
    wasted: u64,
    report: Report,
}

impl<R: Rate> Sender<R> {
    /// A sender that starts with its first timer.
    #[must_use]
    pub fn new(config: SenderConfig, law: R, chance: Stream) -> Self {
        Self {
            config,
            pass: Pass::new(config.pass, law, chance),
            started: false,
            open: 0,
            next: 0,
            acked: Arrived::default(),
            flights: VecDeque::new(),
            first: 0,
            lost: VecDeque::new(),
            timeout_at: None,
            rtt: None,
            wasted: 0,
            report: Report::default(),
        }
    }

    /// The credit engine, for those who watch it.
    #[must_use]
    pub fn pass(&self) -> &Pass<R> {
        &self.pass
    }

    /// Tells the credit engine how many packets want to be sent.
    fn want(&mut self, now: Time) {
        let unsent = self.config.size.map(|size| {
            let bytes = size.saturating_sub(self.next);
            bytes.div_ceil(u64::from(self.config.payload)) + self.lost.len() as u64
        });
        let wanted = unsent.map(|packets| packets.saturating_sub(self.open));
        self.pass.want(now, wanted);
    }

    /// Opens the credits whose time has come.
    fn open_due(&mut self, now: Time) {
        while self.pass.take(now) {
            self.open += 1;
        }
        if !self.has_data() {
            self.wasted += std::mem::take(&mut self.open);
        }
    }

    fn has_data(&self) -> bool {
        !self.lost.is_empty() || self.config.size.is_none_or(|size| self.next < size)
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let before = self.acked.next();
        // Nothing beyond what was sent can have arrived: a head that says so is not this flow's.
        let block = ack.block();
        if ack.upto() > self.next || block.end > self.next {
            return;
        }
        let new = self.acked.add(0..ack.upto()).0 + self.acked.add(block).0;
        let lost = self.settle(ack.newest());
        if new > 0 {
            self.timeout_at = (!self.flights.is_empty()).then(|| now + self.config.timeout);
        }
        if lost || (!self.lost.is_empty() && self.acked.next() > before) {
            self.lost.retain(|&(offset, length)| {
                !self.acked.covers(&(offset..offset + u64::from(length)))
            });
            self.want(now);
        }
    }

    /// Settles all packets sent up to the one of this number; true if some are lost.
    fn settle(&mut self, newest: u32) -> bool {
        let count = newest.wrapping_sub(self.first).wrapping_add(1) as usize;
        if count > self.flights.len() {
            return false;
        }
        let mut some = false;
        for flight in self.flights.drain(..count) {
            let end = flight.offset + u64::from(flight.length);
            if !flight.lost && !self.acked.covers(&(flight.offset..end)) {
                self.lost.push_back((flight.offset, flight.length));
                some = true;
            }
        }
        self.first = self.first.wrapping_add(count as u32);
        some
    }

    /// Takes everything on its way for lost.
    fn on_timeout(&mut self, now: Time) {
        self.report.timeouts += 1;
        for flight in &mut self.flights {
            let end = flight.offset + u64::from(flight.length);
            if !flight.lost && !self.acked.covers(&(flight.offset..end)) {
                self.lost.push_back((flight.offset, flight.length));
            }
            flight.lost = true;
        }
        self.timeout_at = None;
        self.want(now);
    }
}

impl<R: Rate> Endpoint for Sender<R> {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        self.rtt = None;
        match head {
            Head::Credit { times, ack } => {
                for time in times.iter().filter(|&time| time <= now) {
                    self.pass.on_credit(now, time);
                    self.rtt = Some(now.saturating_since(time));
                }
                self.on_ack(now, ack);
            }
            Head::Ack(ack) => self.on_ack(now, ack),
            // Meant for a receiver.
            Head::Emulation { .. } | Head::Data { .. } => {}
        }
        self.open_due(now);
    }

    fn on_timer(&mut self, now: Time) {
        if !self.started {
            self.started = true;
            self.want(now);
        }
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.on_timeout(now);
        }
        self.open_due(now);
    }

    fn poll_metered(&mut self, now: Time) -> Option<Out<Head>> {
        let emulation = self.pass.emulate(now)?;
        let slack = self.pass.rtt().map(|rtt| self.config.pass.wait.saturating_sub(rtt));
        // A quarter of the slack covers queueing and the granularity of timers on the way back.
        let hold = slack.map_or(Span::ZERO, |slack| slack - slack / 4);
        let head = Head::Emulation { time: emulation.time, hold };
        let ecn = if emulation.spare { Ecn::NotEct } else { Ecn::Ect };
        Some(Out { head, body: 0..0, size: head.size(), class: Class::Emulation, ecn })
    }

    fn ready(&self, _now: Time) -> bool {
        self.open > 0
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if self.open == 0 {
            return None;
        }
        self.open -= 1;
        let repeat = self.lost.pop_front();
        let (offset, length) = repeat.unwrap_or_else(|| {
            let payload = u64::from(self.config.payload);
            let left = self.config.size.map_or(payload, |size| size.saturating_sub(self.next));
            let offset = self.next;
            self.next += left.min(payload);
            (offset, left.min(payload) as u16)
        });
        let end = offset + u64::from(length);
        let last = self.config.size == Some(end);
        let number = self.first.wrapping_add(self.flights.len() as u32);
        self.flights.push_back(Flight { offset, length, lost: false });
        self.report.sent += 1;
        self.report.retransmits += u64::from(repeat.is_some());
        if self.timeout_at.is_none() {
            self.timeout_at = Some(now + self.config.timeout);
        }
        if !self.has_data() {
            self.wasted += std::mem::take(&mut self.open);
        }
        let head = Head::Data { offset, length, last, number };
        let size = wire::data_frame(u64::from(length));
        Some(Out { head, body: offset..end, size, class: Class::Data, ecn: Ecn::Ect })
    }

    fn wakeup(&self) -> Option<Time> {
        match (self.pass.wakeup(), self.timeout_at) {
            (Some(pass), Some(timeout)) => Some(pass.min(timeout)),
            (pass, timeout) => pass.or(timeout),
        }
    }

    fn is_complete(&self) -> bool {
        self.config.size.is_some_and(|size| self.acked.next() >= size)
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.rtt
    }

    fn report(&self) -> Report {
        let Credits { granted, used, wasted } = self.pass.credits();
        let credits =
            Credits { granted, used: used - self.wasted - self.open, wasted: wasted + self.wasted };
        Report { metered: self.pass.emulated(), credits, ..self.report }
    }
}
