//! The receiver of data, which sends credits. State: the credit pacer, the data that has arrived, and losses detected
//! in the sender's current generation. Units: bytes of payload. Source: the paper and the public code, both named in
//! `mod.rs`.
//!
//! The states of the public code (closed, sending credits, closed again) follow from whether the pacer has a credit
//! due. Late data is accepted in any state, so the public code's wait before it closes is not needed.
//!
//! Loss recovery is go-back-N. The sender numbers its generations, and the receiver sends one NACK for each, so that
//! late and duplicate packets do not make the sender go back again. The receiver detects a loss when enough later data
//! of the same generation has arrived, or when the sender has sent everything and requests a reply while no data
//! arrives. Unscheduled data is acknowledged packet by packet and retransmitted selectively: in generation 0 the
//! receiver reports no gaps in it.

use super::head::{Head, control, small};
use super::{config::Config, credit_pacer::CreditPacer};
use crate::endpoint::{Endpoint, Out};
use crate::flow_state::{FlowState, payload_rate};
use crate::{arrived::Arrived, counters::EndpointCounters, metered_run::MeteredRun};
use shallop_control::Rate;
use shallop_core::{Class, Ecn, Span, Stream, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Nack,
    Complete,
}

#[derive(Clone, Debug)]
pub struct Receiver<R> {
    pacer: CreditPacer<R>,
    /// Payload of a full data frame, in bytes.
    payload: u64,
    retransmit_timeout: Span,
    reordering: u32,
    arrived: Arrived,
    /// End of the stream in bytes; `None` until a packet states it.
    end: Option<u64>,
    generation: u32,
    /// Data packets of the current generation that arrived after the first missing byte.
    out_of_order: u32,
    /// Whether a NACK was sent in the current generation.
    nacked: bool,
    /// When the NACK of the current generation is sent again; `None` if none is outstanding.
    nack_timeout: Option<Time>,
    last_data: Time,
    /// Offset of the end of the unscheduled data that has arrived.
    unscheduled_end: u64,
    /// Unscheduled packets to acknowledge: offset and length of each; the length of a probe is zero.
    unscheduled_acks: VecDeque<(u64, u16)>,
    pending: Option<Pending>,
    rtt_sample: Option<Span>,
    counters: EndpointCounters,
}

impl<R: Rate> Receiver<R> {
    /// Makes a receiver. `rule` controls the credit rate; `random` supplies the jitter and the sizes of credits.
    pub fn new(config: &Config, rule: R, random: Stream) -> Self {
        Self {
            pacer: CreditPacer::new(config, rule, random),
            payload: config.payload.get().max(1),
            retransmit_timeout: config.retransmit_timeout,
            reordering: config.reordering,
            arrived: Arrived::default(),
            end: None,
            generation: 0,
            out_of_order: 0,
            nacked: false,
            nack_timeout: None,
            last_data: Time::ZERO,
            unscheduled_end: 0,
            unscheduled_acks: VecDeque::new(),
            pending: None,
            rtt_sample: None,
            counters: EndpointCounters::default(),
        }
    }

    /// The feedback rule that controls the credit rate, for measurements.
    pub fn rule(&self) -> &R {
        &self.pacer.rule
    }

    /// Sets the end of the stream, which requests, stops, probes and the last unscheduled packet state. An end before
    /// data that has arrived is malformed and ignored.
    fn set_end(&mut self, end: Option<u64>) {
        if self.end.is_none() {
            self.end = end.filter(|&end| end >= self.arrived.end());
        }
    }

    fn update_generation(&mut self, generation: u32) {
        if generation > self.generation {
            self.generation = generation;
            self.reset_loss_detection();
        }
    }

    fn reset_loss_detection(&mut self) {
        (self.out_of_order, self.nacked, self.nack_timeout) = (0, false, None);
        self.pending = self.pending.filter(|&pending| pending != Pending::Nack);
    }

    fn on_request(&mut self, now: Time, demand: u32, end: Option<u64>, sent: Time) {
        self.set_end(end);
        if self.is_complete() {
            self.pending = Some(Pending::Complete);
        } else {
            self.pacer.on_request(now, demand, sent);
        }
    }

    fn on_stop(&mut self, now: Time, end: u64, generation: u32, reply_requested: bool) {
        self.pacer.stop();
        self.set_end(Some(end));
        self.update_generation(generation);
        if !reply_requested {
            return;
        }
        let idle = now.saturating_since(self.last_data);
        if self.is_complete() {
            self.pending = Some(Pending::Complete);
        } else if idle >= self.pacer.rtt.unwrap_or(Span::ZERO) {
            self.send_nack();
        }
    }

    /// Stores the payload from `offset` to `stop`. Returns whether it contained the first missing byte.
    fn on_payload(&mut self, now: Time, offset: u64, stop: u64) -> bool {
        let expected = self.arrived.next();
        let (new, _) = self.arrived.add(offset..stop);
        self.counters.received += new;
        self.counters.duplicates += u64::from(new == 0);
        self.last_data = now;
        let advanced = self.arrived.next() > expected;
        if advanced && !self.arrived.has_gap() {
            self.reset_loss_detection();
            if self.is_complete() {
                self.pacer.stop();
                self.unscheduled_acks = VecDeque::new();
                self.pending = Some(Pending::Complete);
            }
        }
        advanced
    }

    /// Processes data that was sent on a credit: the bytes from `offset` to `stop`.
    fn on_data(&mut self, now: Time, offset: u64, stop: u64, generation: u32) {
        let expected = self.arrived.next();
        self.update_generation(generation);
        let advanced = self.on_payload(now, offset, stop);
        if advanced || !self.arrived.has_gap() {
            self.out_of_order = 0;
        } else if generation == self.generation && offset > expected {
            let is_unscheduled = generation == 0 && expected < self.unscheduled_end;
            self.out_of_order += u32::from(!is_unscheduled);
            if self.out_of_order > self.reordering && !self.nacked {
                self.send_nack();
            }
        }
    }

    /// Processes unscheduled data, or the probe behind it, whose length is zero.
    fn on_unscheduled(&mut self, now: Time, offset: u64, length: u16) {
        let Some(stop) = offset.checked_add(u64::from(length)) else { return };
        if self.end.is_some_and(|end| stop > end) {
            return;
        }
        self.unscheduled_end = self.unscheduled_end.max(stop);
        if length > 0 {
            self.on_payload(now, offset, stop);
        }
        if self.is_complete() {
            self.pending = Some(Pending::Complete);
        } else {
            self.unscheduled_acks.push_back((offset, length));
        }
    }

    fn send_nack(&mut self) {
        self.nacked = true;
        self.pending = Some(Pending::Nack);
    }
}

impl<R: Rate> Endpoint for Receiver<R> {
    type Head = Head;
    const SENDS_METERED: bool = true;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        self.rtt_sample = None;
        match *head {
            Head::Data { offset, length, generation, credit, credit_sent } => {
                let Some(stop) = offset.checked_add(u64::from(length)) else { return };
                if length == 0 || self.end.is_some_and(|end| stop > end) {
                    return;
                }
                self.rtt_sample = self.pacer.on_return(now, credit, credit_sent);
                if self.rtt_sample.is_some() {
                    self.on_data(now, offset, stop, generation);
                }
            }
            Head::Request { demand, end, sent } => self.on_request(now, demand, end, sent),
            Head::Stop { end, generation, reply_requested } => {
                self.on_stop(now, end, generation, reply_requested);
            }
            Head::Unscheduled { offset, length, last } if length > 0 => {
                let stop = offset.checked_add(u64::from(length)).filter(|_| last);
                self.set_end(stop);
                self.on_unscheduled(now, offset, length);
            }
            Head::Probe { upto, end } => {
                self.set_end(end);
                self.on_unscheduled(now, upto, 0);
            }
            // Addressed to a sender, or empty.
            Head::Unscheduled { .. }
            | Head::Credit { .. }
            | Head::Nack { .. }
            | Head::Complete { .. }
            | Head::UnscheduledAck { .. } => {}
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.rtt_sample = None;
        if self.nack_timeout.is_some_and(|at| at <= now) {
            self.nack_timeout = None;
            self.send_nack();
        }
    }

    fn poll_metered(&mut self, now: Time) -> Option<Out<Head>> {
        self.pacer.poll(now)
    }

    fn metered_run(&self) -> Option<MeteredRun> {
        let run = self.pacer.run(self.nack_timeout.unwrap_or(Time::LAST));
        run.filter(|run| !self.ready(run.at))
    }

    fn metered_packet(&self, at: Time, number: u64, size: u16) -> Option<Out<Head>> {
        Some(self.pacer.credit(at, number, size))
    }

    fn end_run(&mut self, run: &MeteredRun) -> u64 {
        let sent = self.pacer.end_run(run);
        self.rtt_sample = self.rtt_sample.filter(|_| sent == 0);
        sent
    }

    fn ready(&self, _now: Time) -> bool {
        self.pending.is_some() || !self.unscheduled_acks.is_empty()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        let expected = self.arrived.next();
        let Some(pending) = self.pending.take() else {
            let (offset, length) = self.unscheduled_acks.pop_front()?;
            return Some(small(Head::UnscheduledAck { offset, length }, Class::Ack));
        };
        Some(control(match pending {
            Pending::Complete => Head::Complete { end: expected },
            Pending::Nack => {
                self.nack_timeout = Some(now.saturating_add(self.retransmit_timeout));
                Head::Nack { expected, generation: self.generation }
            }
        }))
    }

    fn wakeup(&self) -> Option<Time> {
        match (self.pacer.due, self.nack_timeout) {
            (Some(credit), Some(nack)) => Some(credit.min(nack)),
            (credit, nack) => credit.or(nack),
        }
    }

    fn is_complete(&self) -> bool {
        self.end == Some(self.arrived.next())
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.rtt_sample
    }

    fn counters(&self) -> EndpointCounters {
        EndpointCounters { metered: self.pacer.sent(), ..self.counters }
    }

    fn flow_state(&self) -> Option<FlowState> {
        let pacing = self.pacer.gap().and_then(|gap| payload_rate(self.payload, gap));
        let delivered = (self.arrived.next() + self.arrived.out_of_order()).div_ceil(self.payload);
        let (srtt, delivered) = (self.pacer.rtt, Some(delivered));
        let state = FlowState { pacing, srtt, delivered, ..FlowState::default() };
        (!self.is_complete()).then_some(state)
    }
}
