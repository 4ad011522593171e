//! The sender of data, which receives credits. State: the position in the stream, the connection state, unused credits,
//! and one timer. Units: bytes of payload. Source: the paper and the public code, both named in `mod.rs`.
//!
//! The sender is done when the receiver has confirmed every byte. Until then one timer runs, so that the loss of any
//! packet is recovered. The public code waits before it closes; here no timer is needed for that. Credits that arrive
//! within two round trips of the end were already in flight, and a later credit makes the sender send its stop again
//! (the public code intends to, but never does).
//!
//! With Aeolus, the sender sends unscheduled data from its request to the first answer. On credits it then sends lost
//! unscheduled data first, then new data, then unscheduled data that is not acknowledged (`crate::aeolus`). When no
//! unscheduled data is outstanding it begins generation 1, in which the receiver reports all gaps.

use super::config::{Config, StopPolicy};
use super::head::{Head, UNLIMITED, control};
use crate::aeolus::{UnscheduledBurst, UnscheduledPacket};
use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out};
use crate::wire;
use shallop_core::{Bytes, Class, Ecn, Span, Time};
use std::{collections::VecDeque, ops::Range};

/// The most credits that are stored while the host's link is busy; further credits are wasted.
const MAX_UNUSED_CREDITS: usize = 1 << 16;
/// The minimum of the timeout that is computed from the measured round trip.
const MIN_TIMEOUT: Span = Span::from_us(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The sender has requested credits, and none has arrived since.
    Requested,
    Receiving,
    /// The sender has told the receiver to stop: all data was sent, or the credits in flight are enough for the rest.
    Stopping,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    Request,
    Stop { reply_requested: bool },
}

/// A credit that has released no data yet.
#[derive(Clone, Copy, Debug)]
struct UnusedCredit {
    number: u64,
    sent: Time,
    /// When data may leave on it.
    due: Time,
}

#[derive(Clone, Debug)]
pub struct Sender {
    state: State,
    /// The constant time from a credit to its data; `None` if data leaves at once.
    wait: Option<Span>,
    policy: StopPolicy,
    payload: u64,
    retransmit_timeout: Span,
    stop_timeout: Span,
    /// End of the stream in bytes; `None` for a stream without end.
    end: Option<u64>,
    /// Size of the send buffer in frames, which limits the demand that the sender knows.
    send_buffer: u64,
    unscheduled: UnscheduledBurst,
    snd_nxt: u64,
    snd_max: u64,
    /// The number of times that the sender went back N, plus one when no unscheduled data is outstanding any more.
    generation: u32,
    unused_credits: VecDeque<UnusedCredit>,
    pending: Option<Pending>,
    timer: Option<Time>,
    /// The time of the last packet, timer or poll. A credit that is due by then waits for the link and needs no timer.
    seen_time: Time,
    /// When the first request was sent that no credit has answered; `None` if there is no such request.
    request_sent: Option<Time>,
    rtt: Option<Span>,
    last_credit: Time,
    /// Stop policy `Early`: when the current round trip began.
    round_start: Time,
    round_credits: u64,
    /// The number of times that the stop was sent again.
    stop_retransmits: u32,
    /// Credits that arrive before this time were in flight when the transfer ended.
    drained_at: Time,
    rtt_sample: Option<Span>,
    counters: EndpointCounters,
}

impl Sender {
    /// Makes a sender of `size` bytes of payload; `None` is a stream without end.
    pub fn new(config: &Config, size: Option<u64>) -> Self {
        let payload = config.payload.get().clamp(1, wire::MAX_PAYLOAD);
        let frames = |buffer: Bytes| buffer.get().div_ceil(payload).max(1);
        Self {
            state: State::Idle,
            wait: config.wait,
            policy: config.stop,
            payload,
            send_buffer: config.send_buffer.map_or(u64::MAX, frames),
            unscheduled: UnscheduledBurst::new(config.unscheduled, payload, size),
            retransmit_timeout: config.retransmit_timeout,
            stop_timeout: config.stop_timeout,
            end: size,
            snd_nxt: 0,
            snd_max: 0,
            generation: 0,
            unused_credits: VecDeque::new(),
            pending: None,
            timer: None,
            seen_time: Time::ZERO,
            request_sent: None,
            rtt: None,
            last_credit: Time::ZERO,
            round_start: Time::ZERO,
            round_credits: 0,
            stop_retransmits: 0,
            drained_at: Time::ZERO,
            rtt_sample: None,
            counters: EndpointCounters::default(),
        }
    }

    fn remaining(&self) -> u64 {
        self.end.unwrap_or(u64::MAX).saturating_sub(self.snd_nxt)
    }

    /// The number of frames to send on credits: outstanding unscheduled frames, and frames from `snd_nxt` on.
    fn frames(&self) -> u64 {
        self.remaining().div_ceil(self.payload).saturating_add(self.unscheduled.outstanding())
    }

    /// The number of frames for which the sender needs another credit, as far as it knows its demand.
    fn demand(&self) -> u64 {
        self.frames().min(self.send_buffer).saturating_sub(self.unused_credits.len() as u64)
    }

    /// Whether the sender needs another credit; cheaper than [`Sender::demand`].
    fn needs_credits(&self) -> bool {
        let unused = self.unused_credits.len() as u64;
        let outstanding = self.unscheduled.outstanding();
        unused < outstanding || (unused - outstanding) * self.payload < self.remaining()
    }

    /// Whether no frame remains to be sent on a credit.
    fn all_sent(&self) -> bool {
        self.remaining() == 0 && self.unscheduled.outstanding() == 0
    }

    /// Discards credits that exceed the remaining frames, and sends a stop if nothing remains to be sent.
    fn discard_surplus_credits(&mut self) {
        let frames = self.frames();
        let unused = self.unused_credits.len() as u64;
        if unused > frames {
            self.counters.credits.wasted += unused - frames;
            self.unused_credits.truncate(frames as usize);
        }
        if matches!(self.state, State::Requested | State::Receiving) && self.all_sent() {
            self.stop();
        }
    }

    /// Two round trips, after which all packets in flight have arrived; the stop timeout if none was measured.
    fn two_round_trips(&self) -> Span {
        self.rtt.map_or(self.stop_timeout, |rtt| rtt * 2).max(MIN_TIMEOUT)
    }

    /// How long the sender waits for a credit before it requests again. Only with the stop policy `Demand` does a
    /// receiver stop by itself.
    fn credit_timeout(&self) -> Span {
        match self.policy {
            StopPolicy::Demand => self.two_round_trips(),
            StopPolicy::LastData | StopPolicy::Early => self.two_round_trips().max(self.retransmit_timeout),
        }
    }

    fn request(&mut self) {
        self.state = State::Requested;
        (self.pending, self.timer, self.request_sent) = (Some(Pending::Request), None, None);
    }

    fn stop(&mut self) {
        self.state = State::Stopping;
        self.pending = Some(Pending::Stop { reply_requested: false });
        (self.timer, self.stop_retransmits) = (None, 0);
    }

    fn on_credit(&mut self, now: Time, credit: (u64, Time), request_sent: Time, remaining: u32) {
        self.counters.credits.granted += 1;
        if self.state == State::Requested {
            self.on_first_credit(now, request_sent);
        }
        let open = matches!(self.state, State::Receiving | State::Stopping);
        if !open || !self.needs_credits() || self.unused_credits.len() == MAX_UNUSED_CREDITS {
            return self.on_useless_credit(now);
        }
        let (number, sent) = credit;
        let hold = self.wait.zip(self.rtt).map_or(Span::ZERO, |(wait, rtt)| wait.saturating_sub(rtt));
        self.unused_credits.push_back(UnusedCredit { number, sent, due: now.saturating_add(hold) });
        self.last_credit = now;
        if self.state != State::Receiving {
            return;
        }
        match self.policy {
            StopPolicy::Early => self.stop_early(now),
            StopPolicy::Demand if remaining == 0 && self.needs_credits() => self.request(),
            StopPolicy::LastData | StopPolicy::Demand => {}
        }
    }

    fn on_first_credit(&mut self, now: Time, request_sent: Time) {
        self.state = State::Receiving;
        self.pending = None;
        // A credit for an earlier request would give too long a round trip.
        if self.request_sent.is_some_and(|first| (first..=now).contains(&request_sent)) {
            self.rtt = Some(now - request_sent);
            self.rtt_sample = self.rtt;
        }
        (self.round_start, self.round_credits) = (now, 0);
        self.timer = Some(now.saturating_add(self.credit_timeout()));
    }

    /// Stop policy `Early`: once in a round trip, sends a stop if the credits in flight suffice. They are estimated by
    /// the number of credits in the last round trip.
    fn stop_early(&mut self, now: Time) {
        self.round_credits += 1;
        if now.saturating_since(self.round_start) < self.rtt.unwrap_or(self.stop_timeout) {
            return;
        }
        let demand = self.demand();
        if demand > 0 && self.round_credits >= demand {
            self.stop();
        }
        (self.round_start, self.round_credits) = (now, 0);
    }

    /// Processes a credit for which there is no data to send.
    fn on_useless_credit(&mut self, now: Time) {
        self.counters.credits.wasted += 1;
        if self.state == State::Done && now > self.drained_at {
            self.pending = Some(Pending::Stop { reply_requested: true });
            self.drained_at = now.saturating_add(self.two_round_trips());
        }
    }

    /// Processes an acknowledgement of unscheduled data, or of the probe behind it (length zero).
    fn on_unscheduled_ack(&mut self, offset: u64, length: u16) {
        let active = !matches!(self.state, State::Idle | State::Done);
        let end = offset.saturating_add(u64::from(length));
        if active && end <= self.unscheduled.end() {
            self.unscheduled.on_acked(offset..end);
            self.unscheduled.on_later_arrival(end);
            self.discard_surplus_credits();
        }
    }

    /// Processes a NACK: goes back to the first missing byte, once for each generation, as NACKs are repeated. If that
    /// byte is unscheduled, only unscheduled data is retransmitted.
    fn on_nack(&mut self, expected: u64, generation: u32) {
        let active = !matches!(self.state, State::Idle | State::Done);
        if !active || generation != self.generation || expected >= self.snd_nxt {
            return;
        }
        self.generation = self.generation.wrapping_add(1);
        if expected < self.unscheduled.end() {
            self.unscheduled.go_back_to(expected);
        } else {
            self.unscheduled.on_acked(0..expected);
            self.snd_nxt = expected;
        }
        self.discard_surplus_credits();
        if self.state == State::Stopping {
            self.request();
        }
    }

    fn on_complete(&mut self, now: Time, end: u64) {
        let active = !matches!(self.state, State::Idle | State::Done);
        if !active || self.end != Some(end) || self.snd_max < end {
            return;
        }
        self.state = State::Done;
        self.snd_nxt = end;
        (self.pending, self.timer) = (None, None);
        self.drained_at = now.saturating_add(self.two_round_trips());
        self.counters.credits.wasted += self.unused_credits.len() as u64;
        self.unused_credits = VecDeque::new();
    }

    fn on_expiry(&mut self, now: Time) {
        match self.state {
            State::Requested => {
                self.counters.timeouts += 1;
                (self.pending, self.timer) = (Some(Pending::Request), None);
            }
            State::Receiving => {
                // Credits do not restart the timer. It is corrected here, when it expires.
                let since = if self.unused_credits.is_empty() { self.last_credit } else { now };
                let due = since.saturating_add(self.credit_timeout());
                if due > now {
                    self.timer = Some(due);
                } else {
                    self.counters.timeouts += 1;
                    self.request();
                }
            }
            // The early stop was too early.
            State::Stopping if self.needs_credits() => self.request(),
            // The host's link was busy, so data for arrived credits is not sent yet.
            State::Stopping if !self.all_sent() => {
                self.timer = Some(now.saturating_add(self.two_round_trips()));
            }
            State::Stopping => {
                self.counters.timeouts += 1;
                self.stop_retransmits += 1;
                (self.pending, self.timer) = (Some(Pending::Stop { reply_requested: true }), None);
            }
            State::Idle | State::Done => self.timer = None,
        }
    }

    fn request_head(&mut self, now: Time) -> Head {
        self.request_sent.get_or_insert(now);
        self.timer = Some(now.saturating_add(self.retransmit_timeout));
        let demand = u32::try_from(self.demand()).unwrap_or(UNLIMITED);
        Head::Request { demand, end: self.end, sent: now }
    }

    /// Makes a stop. It is sent again after two round trips, and then with exponential backoff.
    fn stop_head(&mut self, now: Time, reply_requested: bool) -> Head {
        if self.state == State::Stopping {
            let first = self.two_round_trips();
            let longest = first.max(self.retransmit_timeout);
            let wait = (first * (1 << self.stop_retransmits.min(8))).min(longest);
            self.timer = Some(now.saturating_add(wait));
        }
        Head::Stop { end: self.end.unwrap_or(u64::MAX), generation: self.generation, reply_requested }
    }

    /// Chooses the bytes to send on a credit: lost unscheduled data first, then new data, then outstanding unscheduled
    /// data.
    fn next_frame(&mut self) -> Option<Range<u64>> {
        if self.generation == 0 && self.unscheduled.end() > 0 && self.unscheduled.outstanding() == 0 {
            // All unscheduled data has been sent again, so the receiver may report every gap from here on.
            self.generation = 1;
        }
        if let Some(lost) = self.unscheduled.take_lost() {
            return Some(lost);
        }
        if self.remaining() == 0 {
            return self.unscheduled.take_outstanding();
        }
        let offset = self.snd_nxt;
        self.snd_nxt += self.remaining().min(self.payload);
        Some(offset..self.snd_nxt)
    }

    /// Sends a data frame on the oldest unused credit, if there is one and data to send.
    fn poll_data(&mut self, now: Time) -> Option<Out<Head>> {
        if self.unused_credits.front()?.due > now {
            return None;
        }
        let UnusedCredit { number: credit, sent: credit_sent, .. } = self.unused_credits.pop_front()?;
        let body = self.next_frame();
        debug_assert!(body.is_some(), "surplus credits are discarded");
        let body = body?;
        let offset = body.start;
        self.counters.sent += 1;
        self.counters.retransmits += u64::from(offset < self.snd_max);
        self.counters.credits.used += 1;
        self.snd_max = self.snd_max.max(body.end);
        if self.all_sent() {
            if self.state == State::Stopping {
                // The early stop was right.
                self.timer = Some(now.saturating_add(self.two_round_trips()));
            } else {
                self.stop();
            }
        }
        let (length, generation) = ((body.end - offset) as u16, self.generation);
        Some(Out {
            head: Head::Data { offset, length, generation, credit, credit_sent },
            body,
            size: wire::data_frame(u64::from(length)),
            class: Class::Data,
            ecn: Ecn::Ect,
        })
    }
}

impl Sender {
    fn poll_unscheduled(&mut self, now: Time) -> Option<Out<Head>> {
        let body = match self.unscheduled.poll(now)? {
            UnscheduledPacket::Probe(upto) => {
                return Some(control(Head::Probe { upto, end: self.end }));
            }
            UnscheduledPacket::Payload(body) => body,
        };
        (self.snd_nxt, self.snd_max) = (body.end, body.end);
        self.counters.sent += 1;
        self.counters.unscheduled += 1;
        let (offset, length) = (body.start, (body.end - body.start) as u16);
        Some(Out {
            head: Head::Unscheduled { offset, length, last: self.end == Some(body.end) },
            body,
            size: wire::data_frame(u64::from(length)),
            class: Class::Unscheduled,
            ecn: Ecn::NotEct,
        })
    }
}

impl Endpoint for Sender {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        (self.rtt_sample, self.seen_time) = (None, now);
        self.unscheduled.stop();
        match *head {
            Head::Credit { sequence, sent, request_sent, remaining } => {
                self.on_credit(now, (sequence, sent), request_sent, remaining);
            }
            Head::Nack { expected, generation } => self.on_nack(expected, generation),
            Head::Complete { end } => self.on_complete(now, end),
            Head::UnscheduledAck { offset, length } => self.on_unscheduled_ack(offset, length),
            // Addressed to a receiver.
            Head::Request { .. }
            | Head::Data { .. }
            | Head::Stop { .. }
            | Head::Unscheduled { .. }
            | Head::Probe { .. } => {}
        }
    }

    fn on_timer(&mut self, now: Time) {
        (self.rtt_sample, self.seen_time) = (None, now);
        self.unscheduled.on_timer(now);
        if self.state == State::Idle {
            self.unscheduled.start(now);
            self.request();
        } else if self.timer.is_some_and(|at| at <= now) {
            self.on_expiry(now);
        }
    }

    fn ready(&self, now: Time) -> bool {
        let is_due = self.unused_credits.front().is_some_and(|credit| credit.due <= now);
        self.pending.is_some() || self.unscheduled.ready() || is_due
    }

    fn is_low_priority(&self) -> bool {
        self.pending.is_none() && self.unscheduled.ready()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        self.seen_time = now;
        match self.pending.take() {
            Some(Pending::Request) => Some(control(self.request_head(now))),
            Some(Pending::Stop { reply_requested }) => Some(control(self.stop_head(now, reply_requested))),
            None => self.poll_unscheduled(now).or_else(|| self.poll_data(now)),
        }
    }

    fn wakeup(&self) -> Option<Time> {
        let due = self.unused_credits.front().map(|credit| credit.due).filter(|due| *due > self.seen_time);
        [self.timer, self.unscheduled.wakeup(), due].into_iter().flatten().min()
    }

    fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.rtt_sample
    }

    fn counters(&self) -> EndpointCounters {
        self.counters
    }

    fn continue_connection(&mut self, before: &Self) {
        self.unscheduled.continue_connection(before.seen_time);
    }
}
