//! The sender of `FlashPass`. The credit engine decides when to send, and this module decides what. Data packets travel
//! in order on one path, so a data packet is lost if a later one was acknowledged and it was not; it is sent again on a
//! new credit. State: the position in the stream, data packets in flight, and data to retransmit. Units: bytes of the
//! stream. Source: flashpass-icnp21, III and IV.
//!
//! With Aeolus, the sender first sends unscheduled data, until the first packet from the receiver or until the first
//! credit may be used, and retransmits losses on credits (`crate::aeolus`).

use super::credit_engine::{CreditEngine, CreditEngineConfig, Emulation};
use super::head::{Ack, AckBitmap, Head, TIMESTAMP_STEP};
use crate::aeolus::{self, UnscheduledBurst, UnscheduledPacket};
use crate::arrived::Arrived;
use crate::counters::{Credits, EndpointCounters};
use crate::endpoint::{Endpoint, Out};
use crate::flow_state::{FlowState, payload_rate};
use crate::{metered_run::MeteredRun, wire};
use shallop_control::Rate;
use shallop_core::{Bytes, Class, Ecn, Span, Stream, Time};
use std::{collections::VecDeque, ops::Range};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    pub engine: CreditEngineConfig,
    /// Payload bytes of a full data packet.
    pub payload: u16,
    pub size: Option<u64>,
    /// The time without an acknowledgement of new data after which all data in flight counts as lost.
    pub timeout: Span,
    /// Limits of the unscheduled burst; `None` without Aeolus.
    pub unscheduled: Option<aeolus::Config>,
    /// Whether the unscheduled burst lasts until the first credit may be used, instead of ending with the first packet
    /// from the receiver.
    pub burst_until_first_data: bool,
    /// Size of the send buffer, which limits the demand that the sender knows; `None` if it knows all remaining data.
    pub send_buffer: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
struct InFlight {
    offset: u64,
    length: u16,
    lost: bool,
}

#[derive(Debug)]
pub struct Sender<R> {
    config: SenderConfig,
    pub engine: CreditEngine<R>,
    started: bool,
    unscheduled: UnscheduledBurst,
    /// Credits whose departure time has come. Each releases a data packet as soon as the host's link is free.
    due_credits: u64,
    snd_nxt: u64,
    acked: Arrived,
    /// Data packets in flight, in the order in which they were sent.
    in_flight: VecDeque<InFlight>,
    /// Number of the first packet in `in_flight`.
    first_number: u32,
    /// Payload to retransmit: offset and length of each lost packet.
    retransmissions: VecDeque<(u64, u16)>,
    timeout_at: Option<Time>,
    rtt_sample: Option<Span>,
    /// When the last packet or timer came.
    last_active: Time,
    /// Credits whose departure time came when no data was left to send.
    wasted_credits: u64,
    counters: EndpointCounters,
}

impl<R: Rate> Sender<R> {
    pub fn new(config: SenderConfig, law: R, random: Stream) -> Self {
        let payload = u64::from(config.payload);
        Self {
            config,
            engine: CreditEngine::new(config.engine, law, random),
            started: false,
            unscheduled: UnscheduledBurst::new(config.unscheduled, payload, config.size),
            due_credits: 0,
            snd_nxt: 0,
            acked: Arrived::default(),
            in_flight: VecDeque::new(),
            first_number: 0,
            retransmissions: VecDeque::new(),
            timeout_at: None,
            rtt_sample: None,
            last_active: Time::ZERO,
            wasted_credits: 0,
            counters: EndpointCounters::default(),
        }
    }

    /// Tells the credit engine how many data packets are to be sent.
    fn update_demand(&mut self, now: Time) {
        let payload = u64::from(self.config.payload);
        let unsent = self.config.size.map(|size| {
            let new = size.saturating_sub(self.snd_nxt).div_ceil(payload);
            new + self.retransmissions.len() as u64 + self.unscheduled.outstanding()
        });
        let buffered = self.config.send_buffer.map(|buffer| buffer.get().div_ceil(payload));
        let demand = match (unsent, buffered) {
            (Some(unsent), Some(buffered)) => Some(unsent.min(buffered)),
            (unsent, buffered) => unsent.or(buffered),
        };
        let demand = demand.map(|packets| packets.saturating_sub(self.due_credits));
        self.engine.set_demand(now, demand);
    }

    /// Collects the credits whose departure time has come.
    fn take_due_credits(&mut self, now: Time) {
        let before = self.due_credits;
        while self.engine.take_departure(now) {
            self.due_credits += 1;
        }
        if self.due_credits > before {
            self.unscheduled.stop();
        }
        if !self.has_data() {
            self.wasted_credits += std::mem::take(&mut self.due_credits);
        }
    }

    fn emulation_packet(&self, emulation: Emulation) -> Out<Head> {
        let slack = self.engine.rtt().map(|rtt| self.config.engine.wait.saturating_sub(rtt));
        // A quarter of the slack covers queueing and the granularity of timers on the return path.
        let max_credit_delay = slack.map_or(Span::ZERO, |slack| slack - slack / 4);
        let head = Head::Emulation { time: emulation.time, max_credit_delay };
        let ecn = if emulation.tagged { Ecn::NotEct } else { Ecn::Ect };
        Out { head, body: 0..0, size: head.size(), class: Class::Emulation, ecn }
    }

    fn has_data(&self) -> bool {
        !self.retransmissions.is_empty()
            || self.config.size.is_none_or(|size| self.snd_nxt < size)
            || self.unscheduled.outstanding() > 0
    }

    /// Chooses what to send on a credit: lost data, then new data, then unscheduled data that is not acknowledged.
    /// Returns its offset, its length, and whether it was sent before.
    fn next_frame(&mut self) -> Option<(u64, u16, bool)> {
        if let Some((offset, length)) = self.retransmissions.pop_front() {
            return Some((offset, length, true));
        }
        let again = |body: Range<u64>| (body.start, (body.end - body.start) as u16, true);
        if let Some(lost) = self.unscheduled.take_lost() {
            return Some(again(lost));
        }
        let payload = u64::from(self.config.payload);
        let left = self.config.size.map_or(payload, |size| size.saturating_sub(self.snd_nxt));
        if left == 0 {
            return self.unscheduled.take_outstanding().map(again);
        }
        let offset = self.snd_nxt;
        self.snd_nxt += left.min(payload);
        Some((offset, left.min(payload) as u16, false))
    }

    fn poll_unscheduled(&mut self, now: Time) -> Option<Out<Head>> {
        let is_end = |at: u64| self.config.size == Some(at);
        let (head, body, class, ecn) = match self.unscheduled.poll(now)? {
            UnscheduledPacket::Probe(upto) => {
                let head = Head::Probe { upto, last: is_end(upto) };
                (head, 0..0, Class::Control, Ecn::Ect)
            }
            UnscheduledPacket::Payload(body) => {
                let (offset, length) = (body.start, (body.end - body.start) as u16);
                let head = Head::Unscheduled { offset, length, last: is_end(body.end) };
                self.snd_nxt = body.end;
                self.counters.sent += 1;
                self.counters.unscheduled += 1;
                (head, body, Class::Unscheduled, Ecn::NotEct)
            }
        };
        Some(Out { head, body, size: head.size(), class, ecn })
    }

    /// Processes an acknowledgement of unscheduled data, or of the probe behind it.
    fn on_unscheduled_ack(&mut self, now: Time, bitmap: &AckBitmap) {
        let (payload, end) = (u64::from(self.config.payload), self.unscheduled.end());
        let upto = bitmap.upto(payload, u64::MAX);
        // A bitmap for data that was never sent belongs to another flow.
        if bitmap.start() > end || upto.saturating_sub(payload) > end {
            return;
        }
        for frame in bitmap.frames(payload, end).filter(|frame| !frame.is_empty()) {
            self.acked.add(frame.clone());
            self.unscheduled.on_acked(frame);
        }
        self.unscheduled.on_later_arrival(upto);
        self.cancel_retransmissions();
        self.update_demand(now);
    }

    /// Removes from the data to retransmit what was acknowledged in the meantime.
    fn cancel_retransmissions(&mut self) {
        let acked = &self.acked;
        self.retransmissions.retain(|&(offset, length)| !acked.covers(&(offset..offset + u64::from(length))));
    }

    fn on_ack(&mut self, now: Time, ack: &Ack) {
        let before = self.acked.next();
        // An acknowledgement of data that was never sent belongs to another flow.
        let block = ack.block();
        if ack.cumulative() > self.snd_nxt || block.end > self.snd_nxt {
            return;
        }
        let outstanding = self.unscheduled.outstanding();
        self.unscheduled.on_acked(0..ack.cumulative());
        self.unscheduled.on_acked(block.clone());
        let new = self.acked.add(0..ack.cumulative()).0 + self.acked.add(block).0;
        let lost = self.detect_losses(ack.newest());
        if new > 0 {
            self.timeout_at = (!self.in_flight.is_empty()).then(|| now + self.config.timeout);
        }
        let fewer = self.unscheduled.outstanding() < outstanding;
        let advanced = self.acked.next() > before;
        if lost || fewer || (!self.retransmissions.is_empty() && advanced) {
            self.cancel_retransmissions();
            self.update_demand(now);
        }
    }

    /// Removes from `in_flight` all packets up to the number `newest`; those that are not acknowledged are lost and
    /// will be retransmitted. Returns whether there are any.
    fn detect_losses(&mut self, newest: u32) -> bool {
        let count = newest.wrapping_sub(self.first_number).wrapping_add(1) as usize;
        if count > self.in_flight.len() {
            return false;
        }
        let mut any = false;
        for packet in self.in_flight.drain(..count) {
            let end = packet.offset + u64::from(packet.length);
            if !packet.lost && !self.acked.covers(&(packet.offset..end)) {
                self.retransmissions.push_back((packet.offset, packet.length));
                any = true;
            }
        }
        self.first_number = self.first_number.wrapping_add(count as u32);
        any
    }

    /// The timeout has passed without an acknowledgement of new data: counts all data in flight as lost.
    fn on_timeout(&mut self, now: Time) {
        self.counters.timeouts += 1;
        for packet in &mut self.in_flight {
            let end = packet.offset + u64::from(packet.length);
            if !packet.lost && !self.acked.covers(&(packet.offset..end)) {
                self.retransmissions.push_back((packet.offset, packet.length));
            }
            packet.lost = true;
        }
        self.timeout_at = None;
        self.update_demand(now);
    }
}

impl<R: Rate> Endpoint for Sender<R> {
    type Head = Head;
    const SENDS_METERED: bool = true;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        (self.rtt_sample, self.last_active) = (None, now);
        if !self.config.burst_until_first_data {
            self.unscheduled.stop();
        }
        match head {
            Head::Credit { timestamps, ack } => {
                for time in timestamps.iter().filter(|&time| time <= now) {
                    self.engine.on_credit(now, time);
                    self.rtt_sample = Some(now.saturating_since(time));
                }
                self.on_ack(now, ack);
            }
            Head::Ack(ack) => self.on_ack(now, ack),
            Head::UnscheduledAck(bitmap) => self.on_unscheduled_ack(now, bitmap),
            // Addressed to a receiver.
            Head::Emulation { .. } | Head::Data { .. } | Head::Unscheduled { .. } | Head::Probe { .. } => {}
        }
        self.take_due_credits(now);
    }

    fn on_timer(&mut self, now: Time) {
        (self.rtt_sample, self.last_active) = (None, now);
        self.unscheduled.on_timer(now);
        if !self.started {
            self.started = true;
            self.unscheduled.start(now);
            self.update_demand(now);
        }
        if self.timeout_at.is_some_and(|at| at <= now) {
            self.on_timeout(now);
        }
        self.take_due_credits(now);
    }

    fn poll_metered(&mut self, now: Time) -> Option<Out<Head>> {
        let emulation = self.engine.emulate(now)?;
        Some(self.emulation_packet(emulation))
    }

    fn metered_run(&self) -> Option<MeteredRun> {
        let others = [self.engine.next_departure(), self.timeout_at, self.unscheduled.wakeup()];
        let until = others.into_iter().flatten().min().unwrap_or(Time::LAST);
        let run = self.engine.run(until).filter(|_| self.started);
        run.filter(|run| !self.ready(run.at))
    }

    fn metered_packet(&self, at: Time, _number: u64, _size: u16) -> Option<Out<Head>> {
        Some(self.emulation_packet(Emulation { time: at, tagged: false }))
    }

    fn end_run(&mut self, run: &MeteredRun) -> u64 {
        let sent = self.engine.end_run(run);
        if sent > 0 {
            (self.rtt_sample, self.last_active) = (None, run.last);
        }
        sent
    }

    fn ready(&self, _now: Time) -> bool {
        self.due_credits > 0 || self.unscheduled.ready()
    }

    fn is_low_priority(&self) -> bool {
        self.unscheduled.ready()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        if let Some(out) = self.poll_unscheduled(now) {
            return Some(out);
        }
        self.due_credits = self.due_credits.checked_sub(1)?;
        let frame = self.next_frame();
        debug_assert!(frame.is_some(), "due credits are discarded when there is no data");
        let (offset, length, again) = frame?;
        let end = offset + u64::from(length);
        let last = self.config.size == Some(end);
        let number = self.first_number.wrapping_add(self.in_flight.len() as u32);
        self.in_flight.push_back(InFlight { offset, length, lost: false });
        self.counters.sent += 1;
        self.counters.retransmits += u64::from(again);
        if self.timeout_at.is_none() {
            self.timeout_at = Some(now + self.config.timeout);
        }
        if !self.has_data() {
            self.wasted_credits += std::mem::take(&mut self.due_credits);
        }
        if self.config.send_buffer.is_some() {
            // Effective from the next step: emulation packets of this instant were polled before.
            self.update_demand(now + TIMESTAMP_STEP);
        }
        let head = Head::Data { offset, length, last, number };
        let size = wire::data_frame(u64::from(length));
        Some(Out { head, body: offset..end, size, class: Class::Data, ecn: Ecn::Ect })
    }

    fn wakeup(&self) -> Option<Time> {
        let timers = [self.engine.wakeup(), self.timeout_at, self.unscheduled.wakeup()];
        timers.into_iter().flatten().min()
    }

    fn is_complete(&self) -> bool {
        self.config.size.is_some_and(|size| self.acked.next() >= size)
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.rtt_sample
    }

    fn counters(&self) -> EndpointCounters {
        let Credits { granted, used, wasted } = self.engine.credits();
        let used = used - self.wasted_credits - self.due_credits;
        let credits = Credits { granted, used, wasted: wasted + self.wasted_credits };
        EndpointCounters { metered: self.engine.emulated(), credits, ..self.counters }
    }

    fn flow_state(&self) -> Option<FlowState> {
        let payload = u64::from(self.config.payload);
        let emulates = self.engine.next_emulation().is_some();
        let pacing = emulates.then(|| payload_rate(payload, self.engine.gap())).flatten();
        let delivered = (self.acked.next() + self.acked.out_of_order()).div_ceil(payload);
        let state = FlowState { pacing, delivered: Some(delivered), ..FlowState::default() };
        (self.started && !self.is_complete()).then_some(state)
    }

    fn continue_connection(&mut self, before: &Self) {
        self.unscheduled.continue_connection(before.last_active);
    }
}
