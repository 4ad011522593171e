//! The end that sends data and receives credits.
//! State: where it is in the stream and in the life of the connection, the credits it has not spent yet, one deadline.
//! Units: bytes of payload. Source: PROTOCOLS 7.5.
//!
//! Idle, requested, receiving credits, stopping, done. It is done when the receiver has said that every byte came;
//! until then exactly one timer runs, so whatever packet is lost, something follows. The public code's wait before it
//! closes is a time here, not a timer: credits that come within two round trips of the end were on their way already,
//! and any later one makes it send the stop again (the public code means to, but never does).
//!
//! With Aeolus, data leaves without credits from the request to the first answer. On credits it sends, in this order,
//! what is lost of that, new data, and what of it nothing was heard of (`crate::aeolus`). When all of that is settled
//! it begins its second pass, and from then on a hole is a loss wherever it is.

use std::collections::VecDeque;
use std::ops::Range;

use shallop_core::{Bytes, Class, Ecn, Span, Time};

use super::config::{Config, StopPolicy};
use super::head::{ENDLESS, Head, control};
use crate::aeolus::{Piece, Start};
use crate::endpoint::{Endpoint, Out};
use crate::report::Report;
use crate::wire;

/// More credits than this are not kept while the host's link is busy.
const MOST_UNSPENT: usize = 1 << 16;
/// No timer is shorter than this, whatever round trip was measured.
const SHORTEST: Span = Span::from_us(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was asked for yet.
    Idle,
    /// Credits were asked for and none has come since.
    Requested,
    /// Credits come.
    Receiving,
    /// No more credits are wanted: everything was sent, or what is on its way will do.
    Stopping,
    /// Every byte is known to have come.
    Done,
}

/// A control packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Say {
    Request,
    Stop { again: bool },
}

/// The end that sends data and receives credits.
#[derive(Clone, Debug)]
pub struct Sender {
    state: State,
    policy: StopPolicy,
    payload: u64,
    retransmit_timeout: Span,
    stop_timeout: Span,
    /// Where the stream ends, if it does.
    end: Option<u64>,
    /// The most frames of its demand that it sees.
    visible: u64,
    /// What was sent before any credit.
    start: Start,
    /// The next byte to send on a credit, and the first that was never sent.
    next: u64,
    fresh: u64,
    /// How often it went back; once more where what was sent without a credit has been repaired.
    pass: u32,
    /// Credits that have released no data yet: number and sending time.
    unspent: VecDeque<(u64, Time)>,
    say: Option<Say>,
    deadline: Option<Time>,
    /// When the first request was sent that no credit has answered yet.
    asked_at: Option<Time>,
    rtt: Option<Span>,
    /// When the latest credit came.
    heard_at: Time,
    /// Since when credits are counted for an early stop, and how many came.
    round_at: Time,
    round_credits: u64,
    /// How often the stop was repeated.
    repeats: u32,
    /// Credits that come until then were on their way when the transfer ended.
    quiet_at: Time,
    sample: Option<Span>,
    report: Report,
}

impl Sender {
    /// The sending end of a flow of `size` bytes of payload, or without end.
    #[must_use]
    pub fn new(config: &Config, size: Option<u64>) -> Self {
        let payload = config.payload.get().clamp(1, wire::MAX_PAYLOAD);
        let visible = |buffer: Bytes| buffer.get().div_ceil(payload).max(1);
        Self {
            state: State::Idle,
            policy: config.stop,
            payload,
            visible: config.send_buffer.map_or(u64::MAX, visible),
            start: Start::new(config.start, payload, size),
            retransmit_timeout: config.retransmit_timeout,
            stop_timeout: config.stop_timeout,
            end: size,
            next: 0,
            fresh: 0,
            pass: 0,
            unspent: VecDeque::new(),
            say: None,
            deadline: None,
            asked_at: None,
            rtt: None,
            heard_at: Time::ZERO,
            round_at: Time::ZERO,
            round_credits: 0,
            repeats: 0,
            quiet_at: Time::ZERO,
            sample: None,
            report: Report::default(),
        }
    }

    /// Bytes from the next one to the end.
    fn remaining(&self) -> u64 {
        self.end.unwrap_or(u64::MAX).saturating_sub(self.next)
    }

    /// Frames that are to be sent on credits: what is missing of what was sent without, and what is new.
    fn frames(&self) -> u64 {
        self.remaining().div_ceil(self.payload).saturating_add(self.start.missing())
    }

    /// Frames that still want a credit, as far as it sees them.
    fn wanted(&self) -> u64 {
        self.frames().min(self.visible).saturating_sub(self.unspent.len() as u64)
    }

    /// Whether any frame still wants a credit; cheaper than to count them.
    fn wants_credit(&self) -> bool {
        let (unspent, missing) = (self.unspent.len() as u64, self.start.missing());
        unspent < missing || (unspent - missing) * self.payload < self.remaining()
    }

    /// Whether everything was sent that has to be sent on credits.
    fn all_sent(&self) -> bool {
        self.remaining() == 0 && self.start.missing() == 0
    }

    /// Gives up credits for which there are no frames any more, and stops if there is nothing left to send.
    fn settle(&mut self) {
        let frames = self.frames();
        let unspent = self.unspent.len() as u64;
        if unspent > frames {
            self.report.credits.wasted += unspent - frames;
            self.unspent.truncate(frames as usize);
        }
        if matches!(self.state, State::Requested | State::Receiving) && self.all_sent() {
            self.stop();
        }
    }

    /// Time after which whatever was on its way has come.
    fn two_round_trips(&self) -> Span {
        self.rtt.map_or(self.stop_timeout, |rtt| rtt * 2).max(SHORTEST)
    }

    /// How long to wait for another credit before asking for more. A receiver that grants no more than it was asked for
    /// may have stopped; any other one goes on.
    fn patience(&self) -> Span {
        match self.policy {
            StopPolicy::Demand => self.two_round_trips(),
            StopPolicy::LastData | StopPolicy::Early => {
                self.two_round_trips().max(self.retransmit_timeout)
            }
        }
    }

    /// Asks for credits.
    fn request(&mut self) {
        self.state = State::Requested;
        (self.say, self.deadline, self.asked_at) = (Some(Say::Request), None, None);
    }

    /// Wants no more credits.
    fn stop(&mut self) {
        self.state = State::Stopping;
        (self.say, self.deadline, self.repeats) = (Some(Say::Stop { again: false }), None, 0);
    }

    fn on_credit(&mut self, now: Time, credit: (u64, Time), asked: Time, left: u32) {
        self.report.credits.granted += 1;
        if self.state == State::Requested {
            self.begin(now, asked);
        }
        let open = matches!(self.state, State::Receiving | State::Stopping);
        if !open || !self.wants_credit() || self.unspent.len() == MOST_UNSPENT {
            return self.waste(now);
        }
        self.unspent.push_back(credit);
        self.heard_at = now;
        if self.state != State::Receiving {
            return;
        }
        match self.policy {
            StopPolicy::Early => self.stop_early(now),
            StopPolicy::Demand if left == 0 && self.wants_credit() => self.request(),
            StopPolicy::LastData | StopPolicy::Demand => {}
        }
    }

    /// The first credit after a request came.
    fn begin(&mut self, now: Time, asked: Time) {
        self.state = State::Receiving;
        self.say = None;
        // A credit of an earlier grant would give too long a time.
        if self.asked_at.is_some_and(|first| (first..=now).contains(&asked)) {
            self.rtt = Some(now - asked);
            self.sample = self.rtt;
        }
        (self.round_at, self.round_credits) = (now, 0);
        self.deadline = Some(now.saturating_add(self.patience()));
    }

    /// Once a round trip: as many credits as came in it are on their way. If they will do, no more are wanted.
    fn stop_early(&mut self, now: Time) {
        self.round_credits += 1;
        if now.saturating_since(self.round_at) < self.rtt.unwrap_or(self.stop_timeout) {
            return;
        }
        let wanted = self.wanted();
        if wanted > 0 && self.round_credits >= wanted {
            self.stop();
        }
        (self.round_at, self.round_credits) = (now, 0);
    }

    /// A credit came that is of no use.
    fn waste(&mut self, now: Time) {
        self.report.credits.wasted += 1;
        if self.state == State::Done && now > self.quiet_at {
            self.say = Some(Say::Stop { again: true });
            self.quiet_at = now.saturating_add(self.two_round_trips());
        }
    }

    /// Data that was sent without a credit has arrived, or the probe that followed it.
    fn on_received(&mut self, offset: u64, length: u16) {
        let active = !matches!(self.state, State::Idle | State::Done);
        let end = offset.saturating_add(u64::from(length));
        if active && end <= self.start.end() {
            self.start.on_arrived(offset..end);
            self.start.on_passed(end);
            self.settle();
        }
    }

    /// Data was lost: goes back to the first byte that is missing. Once for each pass, as reports are repeated. If that
    /// is a repair of what was sent without a credit, only such repairs are sent again.
    fn on_nack(&mut self, expected: u64, pass: u32) {
        let active = !matches!(self.state, State::Idle | State::Done);
        if !active || pass != self.pass || expected >= self.next {
            return;
        }
        self.pass = self.pass.wrapping_add(1);
        if expected < self.start.end() {
            self.start.repeat_from(expected);
        } else {
            self.start.on_arrived(0..expected);
            self.next = expected;
        }
        self.settle();
        if self.state == State::Stopping {
            self.request();
        }
    }

    /// Every byte came.
    fn on_done(&mut self, now: Time, end: u64) {
        let active = !matches!(self.state, State::Idle | State::Done);
        if !active || self.end != Some(end) || self.fresh < end {
            return;
        }
        self.state = State::Done;
        self.next = end;
        (self.say, self.deadline) = (None, None);
        self.quiet_at = now.saturating_add(self.two_round_trips());
        self.report.credits.wasted += self.unspent.len() as u64;
        self.unspent = VecDeque::new();
    }

    /// The deadline has come.
    fn on_deadline(&mut self, now: Time) {
        match self.state {
            State::Requested => {
                self.report.timeouts += 1;
                (self.say, self.deadline) = (Some(Say::Request), None);
            }
            State::Receiving => {
                // Credits only leave their time behind; the deadline follows them here.
                let since = if self.unspent.is_empty() { self.heard_at } else { now };
                let due = since.saturating_add(self.patience());
                if due > now {
                    self.deadline = Some(due);
                } else {
                    self.report.timeouts += 1;
                    self.request();
                }
            }
            // An early stop was too early.
            State::Stopping if self.wants_credit() => self.request(),
            // The credits are there, but the host's link has not been free for their data.
            State::Stopping if !self.all_sent() => {
                self.deadline = Some(now.saturating_add(self.two_round_trips()));
            }
            State::Stopping => {
                self.report.timeouts += 1;
                self.repeats += 1;
                (self.say, self.deadline) = (Some(Say::Stop { again: true }), None);
            }
            State::Idle | State::Done => self.deadline = None,
        }
    }

    fn say_request(&mut self, now: Time) -> Head {
        self.asked_at.get_or_insert(now);
        self.deadline = Some(now.saturating_add(self.retransmit_timeout));
        let demand = u32::try_from(self.wanted()).unwrap_or(ENDLESS);
        Head::Request { demand, end: self.end, sent: now }
    }

    /// The stop is repeated after two round trips, then ever more slowly.
    fn say_stop(&mut self, now: Time, again: bool) -> Head {
        if self.state == State::Stopping {
            let first = self.two_round_trips();
            let longest = first.max(self.retransmit_timeout);
            let wait = (first * (1 << self.repeats.min(8))).min(longest);
            self.deadline = Some(now.saturating_add(wait));
        }
        Head::Stop { end: self.end.unwrap_or(u64::MAX), pass: self.pass, again }
    }

    /// What to send next on a credit: repairs, new data, repairs that may not be needed.
    fn next_frame(&mut self) -> Option<Range<u64>> {
        if self.pass == 0 && self.start.end() > 0 && self.start.missing() == 0 {
            // What comes from here on has every repair before it, so the receiver may report what is missing.
            self.pass = 1;
        }
        if let Some(repair) = self.start.repair() {
            return Some(repair);
        }
        if self.remaining() == 0 {
            return self.start.anticipate();
        }
        let offset = self.next;
        self.next += self.remaining().min(self.payload);
        Some(offset..self.next)
    }

    /// The next frame, for the credit that has waited longest.
    fn data(&mut self, now: Time) -> Option<Out<Head>> {
        let (credit, credit_sent) = self.unspent.pop_front()?;
        let body = self.next_frame();
        debug_assert!(body.is_some(), "no more credits are kept than frames remain");
        let body = body?;
        let offset = body.start;
        self.report.sent += 1;
        self.report.retransmits += u64::from(offset < self.fresh);
        self.report.credits.used += 1;
        self.fresh = self.fresh.max(body.end);
        if self.all_sent() {
            if self.state == State::Stopping {
                // The stop was early, and right.
                self.deadline = Some(now.saturating_add(self.two_round_trips()));
            } else {
                self.stop();
            }
        }
        let (length, pass) = ((body.end - offset) as u16, self.pass);
        Some(Out {
            head: Head::Data { offset, length, pass, credit, credit_sent },
            body,
            size: wire::data_frame(u64::from(length)),
            class: Class::Data,
            ecn: Ecn::Ect,
        })
    }
}

impl Sender {
    /// What leaves without a credit.
    fn unscheduled(&mut self, now: Time) -> Option<Out<Head>> {
        let body = match self.start.poll(now)? {
            Piece::Probe(upto) => return Some(control(Head::Probe { upto, end: self.end })),
            Piece::Payload(body) => body,
        };
        (self.next, self.fresh) = (body.end, body.end);
        self.report.sent += 1;
        self.report.unscheduled += 1;
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
        self.sample = None;
        self.start.stop();
        match *head {
            Head::Credit { sequence, sent, asked, left } => {
                self.on_credit(now, (sequence, sent), asked, left);
            }
            Head::Nack { expected, pass } => self.on_nack(expected, pass),
            Head::Done { end } => self.on_done(now, end),
            Head::Received { offset, length } => self.on_received(offset, length),
            Head::Request { .. }
            | Head::Data { .. }
            | Head::Stop { .. }
            | Head::Unscheduled { .. }
            | Head::Probe { .. } => {}
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.sample = None;
        self.start.on_timer(now);
        if self.state == State::Idle {
            self.start.begin();
            self.request();
        } else if self.deadline.is_some_and(|at| at <= now) {
            self.on_deadline(now);
        }
    }

    fn ready(&self, _now: Time) -> bool {
        self.say.is_some() || self.start.ready() || !self.unspent.is_empty()
    }

    fn may_wait(&self) -> bool {
        self.say.is_none() && self.start.ready()
    }

    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        match self.say.take() {
            Some(Say::Request) => Some(control(self.say_request(now))),
            Some(Say::Stop { again }) => Some(control(self.say_stop(now, again))),
            None => self.unscheduled(now).or_else(|| self.data(now)),
        }
    }

    fn wakeup(&self) -> Option<Time> {
        match (self.deadline, self.start.wakeup()) {
            (Some(deadline), Some(burst)) => Some(deadline.min(burst)),
            (deadline, burst) => deadline.or(burst),
        }
    }

    fn is_complete(&self) -> bool {
        self.state == State::Done
    }

    fn rtt_sample(&self) -> Option<Span> {
        self.sample
    }

    fn report(&self) -> Report {
        self.report
    }
}
