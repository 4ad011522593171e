//! The sending end: the credit engine says when, this says what. Data travels in order on one path, so what was sent
//! before the newest packet acknowledged and is not acknowledged itself is lost; it is sent again with new credits.
//!
//! With Aeolus, data leaves without credits until the first answer, or until the first credit's time has come. What of
//! it is lost is sent again on credits (`crate::aeolus`).

use std::collections::VecDeque;
use std::ops::Range;

use shallop_control::Rate;
use shallop_core::{Bytes, Class, Ecn, Span, Stream, Time};

use super::head::{Ack, Head, Map, STEP};
use super::pass::{Pass, PassConfig};
use crate::aeolus::{self, Piece, Start};
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
    /// What is sent before the first credit (Aeolus); nothing if there is none.
    pub start: Option<aeolus::Config>,
    /// Whether that goes on until the first credit may be used, and not only until something is heard.
    pub burst_on: bool,
    /// The sender sees no more of its demand than this, which is its send buffer; all of it if there is none.
    pub send_buffer: Option<Bytes>,
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
    /// What was sent before any credit.
    start: Start,
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
            start: Start::new(config.start, u64::from(config.payload), config.size),
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
        let payload = u64::from(self.config.payload);
        let unsent = self.config.size.map(|size| {
            let fresh = size.saturating_sub(self.next).div_ceil(payload);
            fresh + self.lost.len() as u64 + self.start.missing()
        });
        let visible = self.config.send_buffer.map(|buffer| buffer.get().div_ceil(payload));
        let seen = match (unsent, visible) {
            (Some(unsent), Some(visible)) => Some(unsent.min(visible)),
            (unsent, visible) => unsent.or(visible),
        };
        self.pass.want(now, seen.map(|packets| packets.saturating_sub(self.open)));
    }

    /// Opens the credits whose time has come.
    fn open_due(&mut self, now: Time) {
        let before = self.open;
        while self.pass.take(now) {
            self.open += 1;
        }
        if self.open > before {
            self.start.stop();
        }
        if !self.has_data() {
            self.wasted += std::mem::take(&mut self.open);
        }
    }

    fn has_data(&self) -> bool {
        !self.lost.is_empty()
            || self.config.size.is_none_or(|size| self.next < size)
            || self.start.missing() > 0
    }

    /// What to send next on a credit, and whether it was sent before: what is lost, what is new, and what was sent
    /// without a credit and may be lost.
    fn next_frame(&mut self) -> Option<(u64, u16, bool)> {
        if let Some((offset, length)) = self.lost.pop_front() {
            return Some((offset, length, true));
        }
        let repeat = |body: Range<u64>| (body.start, (body.end - body.start) as u16, true);
        if let Some(repair) = self.start.repair() {
            return Some(repeat(repair));
        }
        let payload = u64::from(self.config.payload);
        let left = self.config.size.map_or(payload, |size| size.saturating_sub(self.next));
        if left == 0 {
            return self.start.anticipate().map(repeat);
        }
        let offset = self.next;
        self.next += left.min(payload);
        Some((offset, left.min(payload) as u16, false))
    }

    /// What leaves without a credit.
    fn unscheduled(&mut self, now: Time) -> Option<Out<Head>> {
        let ends = |at: u64| self.config.size == Some(at);
        let (head, body, class, ecn) = match self.start.poll(now)? {
            Piece::Probe(upto) => {
                let head = Head::Probe { upto, last: ends(upto) };
                (head, 0..0, Class::Control, Ecn::Ect)
            }
            Piece::Payload(body) => {
                let (offset, length) = (body.start, (body.end - body.start) as u16);
                let head = Head::Unscheduled { offset, length, last: ends(body.end) };
                self.next = body.end;
                self.report.sent += 1;
                self.report.unscheduled += 1;
                (head, body, Class::Unscheduled, Ecn::NotEct)
            }
        };
        Some(Out { head, body, size: head.size(), class, ecn })
    }

    /// Data that was sent without a credit has arrived, or the probe that followed it.
    fn on_received(&mut self, now: Time, map: &Map) {
        let (payload, end) = (u64::from(self.config.payload), self.start.end());
        let upto = map.upto(payload, u64::MAX);
        // What was never sent cannot have arrived: such a map is not this flow's.
        if map.start() > end || upto.saturating_sub(payload) > end {
            return;
        }
        for frame in map.frames(payload, end).filter(|frame| !frame.is_empty()) {
            self.acked.add(frame.clone());
            self.start.on_arrived(frame);
        }
        self.start.on_passed(upto);
        self.forget_arrived();
        self.want(now);
    }

    /// What was taken for lost and has arrived need not be sent again.
    fn forget_arrived(&mut self) {
        let acked = &self.acked;
        self.lost.retain(|&(offset, length)| !acked.covers(&(offset..offset + u64::from(length))));
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let before = self.acked.next();
        // Nothing beyond what was sent can have arrived: a head that says so is not this flow's.
        let block = ack.block();
        if ack.upto() > self.next || block.end > self.next {
            return;
        }
        let unscheduled = self.start.missing();
        self.start.on_arrived(0..ack.upto());
        self.start.on_arrived(block.clone());
        let new = self.acked.add(0..ack.upto()).0 + self.acked.add(block).0;
        let lost = self.settle(ack.newest());
        if new > 0 {
            self.timeout_at = (!self.flights.is_empty()).then(|| now + self.config.timeout);
        }
        let fewer = self.start.missing() < unscheduled;
        if lost || fewer || (!self.lost.is_empty() && self.acked.next() > before) {
            self.forget_arrived();
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
        if !self.config.burst_on {
            self.start.stop();
        }
        match head {
            Head::Credit { times, ack } => {
                for time in times.iter().filter(|&time| time <= now) {
                    self.pass.on_credit(now, time);
                    self.rtt = Some(now.saturating_since(time));
                }
                self.on_ack(now, ack);
            }
            Head::Ack(ack) => self.on_ack(now, ack),
            Head::Received(map) => self.on_received(now, map),
            // Meant for a receiver.
            Head::Emulation { .. }
            | Head::Data { .. }
            | Head::Unscheduled { .. }
            | Head::Probe { .. } => {}
        }
        self.open_due(now);
    }

    fn on_timer(&mut self, now: Time) {
        self.start.on_timer(now);
        if !self.started {
            self.started = true;
            self.start.begin();
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
        self.open > 0 || self.start.ready()
    }

    fn may_wait(&self) -> bool {
        self.start.ready()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if let Some(out) = self.unscheduled(now) {
            return Some(out);
        }
        self.open = self.open.checked_sub(1)?;
        let frame = self.next_frame();
        debug_assert!(frame.is_some(), "credits are not kept open when there is no data");
        let (offset, length, repeat) = frame?;
        let end = offset + u64::from(length);
        let last = self.config.size == Some(end);
        let number = self.first.wrapping_add(self.flights.len() as u32);
        self.flights.push_back(Flight { offset, length, lost: false });
        self.report.sent += 1;
        self.report.retransmits += u64::from(repeat);
        if self.timeout_at.is_none() {
            self.timeout_at = Some(now + self.config.timeout);
        }
        if !self.has_data() {
            self.wasted += std::mem::take(&mut self.open);
        }
        if self.config.send_buffer.is_some() {
            // A step later: the emulation packets of this instant have been asked for.
            self.want(now + STEP);
        }
        let head = Head::Data { offset, length, last, number };
        let size = wire::data_frame(u64::from(length));
        Some(Out { head, body: offset..end, size, class: Class::Data, ecn: Ecn::Ect })
    }

    fn wakeup(&self) -> Option<Time> {
        [self.pass.wakeup(), self.timeout_at, self.start.wakeup()].into_iter().flatten().min()
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
