//! The end that receives data and sends credits.
//! State: the credit engine, the bytes that have come, and what was noticed missing in the sender's current pass.
//! Units: bytes of payload. Source: PROTOCOLS 7.5.
//!
//! Closed, sending credits, closed again: whether the pacer has a credit due is the whole state. Late data is taken in
//! any state, so the public code's wait before it closes has no counterpart here.
//!
//! Repair goes back N. The sender numbers its passes over the stream, so each pass is sent back at most once, whatever
//! is repeated or late. Missing bytes are noticed when later ones of the same pass have overtaken them, or when the
//! sender, which has sent all, asks what is missing and no data is arriving any more. What was sent without a credit is
//! acknowledged packet by packet, and the sender repairs it: in its first pass, holes in it are not reported.

use std::collections::VecDeque;

use shallop_control::Rate;
use shallop_core::{Class, Ecn, Span, Stream, Time};

use super::config::Config;
use super::head::{Head, control, small};
use super::pacer::Pacer;
use crate::arrived::Arrived;
use crate::endpoint::{Endpoint, Out};
use crate::report::Report;

/// A control packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Say {
    Nack,
    Done,
}

/// The end that receives data and sends credits.
#[derive(Clone, Debug)]
pub struct Receiver<R> {
    pacer: Pacer<R>,
    retransmit_timeout: Span,
    reordering: u32,
    arrived: Arrived,
    /// Where the stream ends, once the sender has said so.
    end: Option<u64>,
    /// The sender's latest pass.
    pass: u32,
    /// How many packets of this pass have overtaken the first missing byte.
    overtaken: u32,
    /// The sender was told to go back from this pass.
    reported: bool,
    /// When it will be told again.
    repeat_at: Option<Time>,
    /// When the latest data came.
    data_at: Time,
    /// Data up to here was sent without a credit.
    unscheduled: u64,
    /// Such data that is not acknowledged yet: first byte and length, of which a probe has none.
    acks: VecDeque<(u64, u16)>,
    say: Option<Say>,
    sample: Option<Span>,
    report: Report,
}

impl<R: Rate> Receiver<R> {
    /// The receiving end of a flow whose credits `rule` steers. Jitter and credit sizes are drawn from `chance`.
    #[must_use]
    pub fn new(config: &Config, rule: R, chance: Stream) -> Self {
        Self {
            pacer: Pacer::new(config, rule, chance),
            retransmit_timeout: config.retransmit_timeout,
            reordering: config.reordering,
            arrived: Arrived::default(),
            end: None,
            pass: 0,
            overtaken: 0,
            reported: false,
            repeat_at: None,
            data_at: Time::ZERO,
            unscheduled: 0,
            acks: VecDeque::new(),
            say: None,
            sample: None,
            report: Report::default(),
        }
    }

    /// The rule that steers the credits, for measuring.
    #[must_use]
    pub fn rule(&self) -> &R {
        self.pacer.rule()
    }

    /// The end of the stream is told with every request and stop, and by what ends there and by the probe behind it of
    /// what was sent without a credit. One below what has come is malformed.
    fn learn_end(&mut self, end: Option<u64>) {
        if self.end.is_none() {
            self.end = end.filter(|&end| end >= self.arrived.end());
        }
    }

    fn learn_pass(&mut self, pass: u32) {
        if pass > self.pass {
            self.pass = pass;
            self.forget_missing();
        }
    }

    fn forget_missing(&mut self) {
        (self.overtaken, self.reported, self.repeat_at) = (0, false, None);
        self.say = self.say.filter(|&say| say != Say::Nack);
    }

    fn on_request(&mut self, now: Time, demand: u32, end: Option<u64>, asked: Time) {
        self.learn_end(end);
        if self.is_complete() {
            self.say = Some(Say::Done);
        } else {
            self.pacer.on_request(now, demand, asked);
        }
    }

    fn on_stop(&mut self, now: Time, end: u64, pass: u32, again: bool) {
        self.pacer.stop();
        self.learn_end(Some(end));
        self.learn_pass(pass);
        if !again {
            return;
        }
        let silence = now.saturating_since(self.data_at);
        if self.is_complete() {
            self.say = Some(Say::Done);
        } else if silence >= self.pacer.rtt().unwrap_or(Span::ZERO) {
            self.report_missing();
        }
    }

    /// Bytes came. Gives whether they filled the first hole.
    fn take(&mut self, now: Time, offset: u64, stop: u64) -> bool {
        let expected = self.arrived.next();
        let (fresh, _) = self.arrived.add(offset..stop);
        self.report.received += fresh;
        self.report.duplicates += u64::from(fresh == 0);
        self.data_at = now;
        let advanced = self.arrived.next() > expected;
        if advanced && !self.arrived.has_hole() {
            self.forget_missing();
            if self.is_complete() {
                self.pacer.stop();
                self.acks = VecDeque::new();
                self.say = Some(Say::Done);
            }
        }
        advanced
    }

    /// Data came on a credit: the bytes from `offset` to `stop`.
    fn on_data(&mut self, now: Time, offset: u64, stop: u64, pass: u32) {
        let expected = self.arrived.next();
        self.learn_pass(pass);
        let advanced = self.take(now, offset, stop);
        if advanced || !self.arrived.has_hole() {
            self.overtaken = 0;
        } else if pass == self.pass && offset > expected {
            let repaired_anyway = pass == 0 && expected < self.unscheduled;
            self.overtaken += u32::from(!repaired_anyway);
            if self.overtaken > self.reordering && !self.reported {
                self.report_missing();
            }
        }
    }

    /// Data came without a credit, or the probe behind it, which has no length.
    fn on_unscheduled(&mut self, now: Time, offset: u64, length: u16) {
        let Some(stop) = offset.checked_add(u64::from(length)) else { return };
        if self.end.is_some_and(|end| stop > end) {
            return;
        }
        self.unscheduled = self.unscheduled.max(stop);
        if length > 0 {
            self.take(now, offset, stop);
        }
        if self.is_complete() {
            self.say = Some(Say::Done);
        } else {
            self.acks.push_back((offset, length));
        }
    }

    fn report_missing(&mut self) {
        self.reported = true;
        self.say = Some(Say::Nack);
    }
}

impl<R: Rate> Endpoint for Receiver<R> {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        self.sample = None;
        match *head {
            Head::Data { offset, length, pass, credit, credit_sent } => {
                let Some(stop) = offset.checked_add(u64::from(length)) else { return };
                if length == 0 || self.end.is_some_and(|end| stop > end) {
                    return;
                }
                self.sample = self.pacer.on_return(now, credit, credit_sent);
                if self.sample.is_some() {
                    self.on_data(now, offset, stop, pass);
                }
            }
            Head::Request { demand, end, sent } => self.on_request(now, demand, end, sent),
            Head::Stop { end, pass, again } => self.on_stop(now, end, pass, again),
            Head::Unscheduled { offset, length, last } if length > 0 => {
                let stop = offset.checked_add(u64::from(length)).filter(|_| last);
                self.learn_end(stop);
                self.on_unscheduled(now, offset, length);
            }
            Head::Probe { upto, end } => {
                self.learn_end(end);
                self.on_unscheduled(now, upto, 0);
            }
            Head::Unscheduled { .. }
            | Head::Credit { .. }
            | Head::Nack { .. }
            | Head::Done { .. }
            | Head::Received { .. } => {}
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.sample = None;
        if self.repeat_at.is_some_and(|at| at <= now) {
            self.repeat_at = None;
            self.report_missing();
        }
    }

    fn poll_metered(&mut self, now: Time) -> Option<Out<Head>> {
        self.pacer.poll(now)
    }

    fn ready(&self, _now: Time) -> bool {
        self.say.is_some() || !self.acks.is_empty()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        let expected = self.arrived.next();
        let Some(say) = self.say.take() else {
            let (offset, length) = self.acks.pop_front()?;
            return Some(small(Head::Received { offset, length }, Class::Ack));
        };
        Some(control(match say {
            Say::Done => Head::Done { end: expected },
            Say::Nack => {
                self.repeat_at = Some(now.saturating_add(self.retransmit_timeout));
                Head::Nack { expected, pass: self.pass }
            }
        }))
    }

    fn wakeup(&self) -> Option<Time> {
        match (self.pacer.due(), self.repeat_at) {
            (Some(credit), Some(repeat)) => Some(credit.min(repeat)),
            (credit, repeat) => credit.or(repeat),
        }
    }

    fn is_complete(&self) -> bool {
        self.end == Some(self.arrived.next())
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.sample
    }

    fn report(&self) -> Report {
        Report { metered: self.pacer.sent(), ..self.report }
    }
}
