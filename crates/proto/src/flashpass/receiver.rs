//! The receiving end: returns a credit for every emulation packet, at once or several together, and says with it what
//! data has arrived. Acknowledgements travel alone only when no credit comes to carry them.

use std::collections::VecDeque;
use std::ops::Range;

use shallop_core::{Class, Ecn, Span, Time};

use super::gather::Gather;
use super::head::{Ack, Head, MOST_TIMES, NO_PACKET, Times};
use crate::arrived::Arrived;
use crate::endpoint::{Endpoint, Out};
use crate::report::Report;

/// What a receiver is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Timestamps in one credit packet, 1 to [`MOST_TIMES`]: with 1 every credit is returned at once.
    pub batch: u8,
    /// An acknowledgement travels alone if this much data has come since the last one, in packets.
    pub ack_every: u32,
    /// Or if the first unacknowledged packet has waited this long.
    pub ack_delay: Span,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        Self { batch: 1, ack_every: 32, ack_delay: Span::from_ms(1) }
    }
}

/// The receiving end of a flow.
#[derive(Clone, Debug)]
pub struct Receiver {
    config: ReceiverConfig,
    arrived: Arrived,
    /// Length of the stream, once its last packet has come.
    size: Option<u64>,
    received: u64,
    duplicates: u64,
    newest: u32,
    /// The bytes around the newest packet.
    around: Range<u64>,
    /// Credits gathered, and when they must leave.
    gathered: Option<(Times, Time)>,
    /// Credits that leave as soon as the host's link is free.
    credits: VecDeque<Times>,
    /// Data packets not acknowledged yet, when they must be, and whether that time has come.
    unacked: u32,
    ack_at: Option<Time>,
    ack_now: bool,
    /// Acknowledgements that must leave before the next one.
    acks: VecDeque<Ack>,
    /// What came without a credit and is not acknowledged yet.
    unscheduled: Gather,
}

impl Receiver {
    /// A receiver that has nothing yet.
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            config,
            arrived: Arrived::default(),
            size: None,
            received: 0,
            duplicates: 0,
            newest: NO_PACKET,
            around: 0..0,
            gathered: None,
            credits: VecDeque::new(),
            unacked: 0,
            ack_at: None,
            ack_now: false,
            acks: VecDeque::new(),
            unscheduled: Gather::default(),
        }
    }

    fn on_emulation(&mut self, now: Time, time: Time, hold: Span) {
        let most = usize::from(self.config.batch.clamp(1, MOST_TIMES as u8));
        let due = if most == 1 { now } else { now.saturating_add(hold) };
        let Some((times, until)) = &mut self.gathered else {
            self.gathered = Some((Times::one(time), due));
            return self.release_credits(now, most);
        };
        if times.add(time) {
            *until = due.min(*until);
        } else {
            self.credits.push_back(*times);
            self.gathered = Some((Times::one(time), due));
        }
        self.release_credits(now, most);
    }

    /// Lets the credits gathered leave if they are enough for a packet or their time has come.
    fn release_credits(&mut self, now: Time, most: usize) {
        let leaves = |(times, until): &(Times, Time)| times.count() >= most || *until <= now;
        if let Some((times, _)) = self.gathered.take_if(|gathered| leaves(gathered)) {
            self.credits.push_back(times);
        }
    }

    fn on_data(&mut self, now: Time, body: Range<u64>, last: bool, number: u32) {
        if last {
            self.size = Some(body.end);
        }
        let before = Ack::new(self.arrived.next(), self.newest, self.around.clone());
        let follows = number == self.newest.wrapping_add(1);
        let (new, around) = self.arrived.add(body);
        self.received += new;
        self.duplicates += u64::from(new == 0);
        let told = |bytes: &Range<u64>| {
            bytes.end <= self.arrived.next()
                || around.start <= bytes.start && bytes.end <= around.end
        };
        if self.unacked > 0 && !told(&self.around) {
            // An acknowledgement tells of one block: what came before this one needs its own, or passes for lost.
            self.acks.push_back(before);
        }
        (self.newest, self.around) = (number, around);
        self.unacked += 1;
        let at_once = !follows || self.unacked >= self.config.ack_every || self.is_complete();
        self.ack_now |= at_once;
        if self.ack_at.is_none() && !self.ack_now {
            self.ack_at = Some(now + self.config.ack_delay);
        }
    }

    /// Data came without a credit.
    fn on_unscheduled(&mut self, now: Time, offset: u64, length: u16, last: bool) {
        let Some(end) = offset.checked_add(u64::from(length)) else { return };
        if last {
            self.size = Some(end);
        }
        let (new, _) = self.arrived.add(offset..end);
        self.received += new;
        self.duplicates += u64::from(new == 0);
        self.unscheduled.add(offset, length, now + self.config.ack_delay);
        self.finish_if_complete();
    }

    /// The probe came, behind everything that was sent without a credit.
    fn on_probe(&mut self, upto: u64, last: bool) {
        if last {
            self.size = Some(upto);
        }
        self.unscheduled.end(upto);
        self.finish_if_complete();
    }

    /// When everything has come one acknowledgement says so.
    fn finish_if_complete(&mut self) {
        if self.is_complete() {
            self.ack_now = true;
            self.unscheduled.clear();
        }
    }

    /// What has arrived. The last one leaves nothing unacknowledged.
    fn ack(&mut self) -> Ack {
        if let Some(earlier) = self.acks.pop_front() {
            return earlier;
        }
        (self.unacked, self.ack_at, self.ack_now) = (0, None, false);
        Ack::new(self.arrived.next(), self.newest, self.around.clone())
    }
}

impl Endpoint for Receiver {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        match *head {
            Head::Emulation { time, hold } => self.on_emulation(now, time, hold),
            Head::Data { offset, length, last, number } => {
                if let Some(end) = offset.checked_add(u64::from(length)).filter(|_| length > 0) {
                    self.on_data(now, offset..end, last, number);
                }
            }
            Head::Unscheduled { offset, length, last } if length > 0 => {
                self.on_unscheduled(now, offset, length, last);
            }
            Head::Probe { upto, last } => self.on_probe(upto, last),
            // Meant for a sender, or empty.
            Head::Unscheduled { .. } | Head::Received(_) | Head::Credit { .. } | Head::Ack(_) => {}
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.ack_at.is_some_and(|at| at <= now) {
            (self.ack_at, self.ack_now) = (None, true);
        }
        self.unscheduled.on_timer(now);
        self.release_credits(now, MOST_TIMES);
    }

    fn ready(&self, _now: Time) -> bool {
        self.ack_now
            || !self.acks.is_empty()
            || !self.credits.is_empty()
            || self.unscheduled.is_ready()
    }

    fn poll(&mut self, _now: Time) -> Option<Out<Head>> {
        let times = self.credits.pop_front();
        let (head, class) = match times {
            Some(times) => (Head::Credit { times, ack: self.ack() }, Class::Credit),
            None if self.ack_now || !self.acks.is_empty() => (Head::Ack(self.ack()), Class::Ack),
            None => (Head::Received(self.unscheduled.take()?), Class::Ack),
        };
        Some(Out { head, body: 0..0, size: head.size(), class, ecn: Ecn::Ect })
    }

    fn wakeup(&self) -> Option<Time> {
        let credits = self.gathered.map(|(_, until)| until);
        [credits, self.ack_at, self.unscheduled.wakeup()].into_iter().flatten().min()
    }

    fn is_complete(&self) -> bool {
        self.size.is_some_and(|size| self.arrived.next() >= size)
    }

    fn report(&self) -> Report {
        Report { received: self.received, duplicates: self.duplicates, ..Report::default() }
    }
}
