//! The receiver of `FlashPass`: returns a credit for every emulation packet, alone or with others in one packet, and
//! acknowledges data in credits. It sends separate acknowledgements only while no credits can carry them. State: the
//! data that has arrived, and the credits and acknowledgements to send. Units: bytes of the stream. Source:
//! flashpass-icnp21, III and IV.

use super::head::{Ack, Head, MAX_TIMESTAMPS, NO_PACKET, Timestamps};
use super::unscheduled_acks::UnscheduledAcks;
use crate::endpoint::{Endpoint, Out};
use crate::{arrived::Arrived, counters::EndpointCounters};
use shallop_core::{Class, Ecn, Span, Time};
use std::{collections::VecDeque, ops::Range};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// The number of timestamps in one credit packet, 1 to [`MAX_TIMESTAMPS`]. With 1, every credit is returned at
    /// once.
    pub batch: u8,
    /// The number of data packets, without a credit in between, after which a separate acknowledgement is sent.
    pub ack_every: u32,
    /// How long a data packet may be unacknowledged until a separate acknowledgement is sent.
    pub ack_delay: Span,
    /// How long unscheduled data may be unacknowledged; zero to acknowledge each of its packets separately.
    pub unscheduled_ack_delay: Span,
}

impl Default for ReceiverConfig {
    fn default() -> Self {
        let delay = Span::from_ms(1);
        Self { batch: 1, ack_every: 32, ack_delay: delay, unscheduled_ack_delay: delay }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Receiver {
    config: ReceiverConfig,
    arrived: Arrived,
    /// Length of the stream in bytes; `None` until its last packet has arrived.
    size: Option<u64>,
    received: u64,
    duplicates: u64,
    /// Number of the data packet that arrived last, or [`NO_PACKET`](super::head::NO_PACKET).
    newest: u32,
    /// The contiguous bytes around the data packet that arrived last.
    block: Range<u64>,
    /// The credit packet that is being filled, and the time at which it is sent at the latest.
    open_credit: Option<(Timestamps, Time)>,
    /// Credit packets that are full and wait for the host's link.
    credits: VecDeque<Timestamps>,
    /// Data packets that arrived since the last acknowledgement.
    unacked: u32,
    /// When data that has arrived must be acknowledged at the latest; `None` if all is acknowledged.
    ack_deadline: Option<Time>,
    /// Whether an acknowledgement must be sent as soon as the link is free.
    ack_now: bool,
    /// Acknowledgements that must be sent before one of the current state.
    earlier_acks: VecDeque<Ack>,
    unscheduled: UnscheduledAcks,
}

impl Receiver {
    pub fn new(config: ReceiverConfig) -> Self {
        Self { config, newest: NO_PACKET, ..Self::default() }
    }

    fn on_emulation(&mut self, now: Time, time: Time, max_credit_delay: Span) {
        let batch = usize::from(self.config.batch.clamp(1, MAX_TIMESTAMPS as u8));
        let due = if batch == 1 { now } else { now.saturating_add(max_credit_delay) };
        let Some((timestamps, deadline)) = &mut self.open_credit else {
            self.open_credit = Some((Timestamps::one(time), due));
            return self.complete_credit(now, batch);
        };
        if timestamps.add(time) {
            *deadline = due.min(*deadline);
        } else {
            self.credits.push_back(*timestamps);
            self.open_credit = Some((Timestamps::one(time), due));
        }
        self.complete_credit(now, batch);
    }

    /// Moves the credit packet that is being filled to the queue, if it has `batch` timestamps or its deadline has
    /// come.
    fn complete_credit(&mut self, now: Time, batch: usize) {
        let complete = |(timestamps, deadline): &(Timestamps, Time)| timestamps.count() >= batch || *deadline <= now;
        if let Some((timestamps, _)) = self.open_credit.take_if(|credit| complete(credit)) {
            self.credits.push_back(timestamps);
        }
    }

    fn on_data(&mut self, now: Time, body: Range<u64>, last: bool, number: u32) {
        if last {
            self.size = Some(body.end);
        }
        let before = Ack::new(self.arrived.next(), self.newest, self.block.clone());
        let in_sequence = number == self.newest.wrapping_add(1);
        let (new, block) = self.arrived.add(body);
        self.received += new;
        self.duplicates += u64::from(new == 0);
        let is_reported = |bytes: &Range<u64>| {
            bytes.end <= self.arrived.next() || block.start <= bytes.start && bytes.end <= block.end
        };
        if self.unacked > 0 && !is_reported(&self.block) {
            // An acknowledgement has room for one block. The previous block gets an acknowledgement of its own, or else
            // the sender would take it for lost.
            self.earlier_acks.push_back(before);
        }
        (self.newest, self.block) = (number, block);
        self.unacked += 1;
        let at_once = !in_sequence || self.unacked >= self.config.ack_every || self.is_complete();
        self.ack_now |= at_once;
        if self.ack_deadline.is_none() && !self.ack_now {
            self.ack_deadline = Some(now + self.config.ack_delay);
        }
    }

    fn on_unscheduled(&mut self, now: Time, offset: u64, length: u16, last: bool) {
        let Some(end) = offset.checked_add(u64::from(length)) else { return };
        if last {
            self.size = Some(end);
        }
        let (new, _) = self.arrived.add(offset..end);
        self.received += new;
        self.duplicates += u64::from(new == 0);
        self.unscheduled.on_frame(offset, length, now + self.config.unscheduled_ack_delay);
        self.unscheduled.on_timer(now);
        self.ack_if_complete();
    }

    fn on_probe(&mut self, upto: u64, last: bool) {
        if last {
            self.size = Some(upto);
        }
        self.unscheduled.on_probe(upto);
        self.ack_if_complete();
    }

    /// If all data has arrived, replaces all acknowledgements of unscheduled data by one cumulative acknowledgement.
    fn ack_if_complete(&mut self) {
        if self.is_complete() {
            self.ack_now = true;
            self.unscheduled.clear();
        }
    }

    /// Returns the next acknowledgement to send, and records that its data is acknowledged.
    fn take_ack(&mut self) -> Ack {
        if let Some(earlier) = self.earlier_acks.pop_front() {
            return earlier;
        }
        (self.unacked, self.ack_deadline, self.ack_now) = (0, None, false);
        Ack::new(self.arrived.next(), self.newest, self.block.clone())
    }
}

impl Endpoint for Receiver {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, _ecn: Ecn) {
        match *head {
            Head::Emulation { time, max_credit_delay } => {
                self.on_emulation(now, time, max_credit_delay);
            }
            Head::Data { offset, length, last, number } => {
                if let Some(end) = offset.checked_add(u64::from(length)).filter(|_| length > 0) {
                    self.on_data(now, offset..end, last, number);
                }
            }
            Head::Unscheduled { offset, length, last } if length > 0 => {
                self.on_unscheduled(now, offset, length, last);
            }
            Head::Probe { upto, last } => self.on_probe(upto, last),
            // Addressed to a sender, or empty.
            Head::Unscheduled { .. } | Head::UnscheduledAck(_) | Head::Credit { .. } | Head::Ack(_) => {}
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.ack_deadline.is_some_and(|at| at <= now) {
            (self.ack_deadline, self.ack_now) = (None, true);
        }
        self.unscheduled.on_timer(now);
        self.complete_credit(now, MAX_TIMESTAMPS);
    }

    fn ready(&self, _now: Time) -> bool {
        self.ack_now || !self.earlier_acks.is_empty() || !self.credits.is_empty() || self.unscheduled.is_ready()
    }

    fn poll(&mut self, _now: Time) -> Option<Out<Head>> {
        let ack_due = self.ack_now || !self.earlier_acks.is_empty();
        let (head, class) = match self.credits.pop_front() {
            Some(timestamps) => (Head::Credit { timestamps, ack: self.take_ack() }, Class::Credit),
            None if ack_due => (Head::Ack(self.take_ack()), Class::Ack),
            None => (Head::UnscheduledAck(self.unscheduled.take()?), Class::Ack),
        };
        Some(Out { head, body: 0..0, size: head.size(), class, ecn: Ecn::Ect })
    }

    fn wakeup(&self) -> Option<Time> {
        let credit = self.open_credit.map(|(_, deadline)| deadline);
        [credit, self.ack_deadline, self.unscheduled.wakeup()].into_iter().flatten().min()
    }

    fn is_complete(&self) -> bool {
        self.size.is_some_and(|size| self.arrived.next() >= size)
    }

    fn counters(&self) -> EndpointCounters {
        let (received, duplicates) = (self.received, self.duplicates);
        EndpointCounters { received, duplicates, ..EndpointCounters::default() }
    }
}
