//! The receiving end: what has arrived, and when to say so. Data is handed on as soon as it is in order, so the window
//! closes only by what is held out of order. State: the first byte missing, the ranges beyond, acknowledgements owed.
//! Units: bytes. Sources: RFC 9293, 3.8.6; RFC 5681, 4.2 (delayed acknowledgements); RFC 2018 (blocks); RFC 8257, 3.2.

use std::collections::VecDeque;
use std::ops::Range;

use shallop_core::{Class, Ecn, Time};

use super::config::{Acks, Capable, Config, Detection};
use super::echo::Echo;
use super::head::{BLOCKS, Block, Flags, Head, scale_for};
use crate::arrived::Arrived;
use crate::endpoint::{Endpoint, Out};
use crate::report::Report;
use crate::wire;

/// Acknowledgements that may wait for the host's link, before later ones take the place of the last.
const OWED: usize = 64;

/// An acknowledgement that is to leave.
#[derive(Clone, Copy, Debug)]
struct Owed {
    ack: u64,
    /// Where the segment that caused it began.
    seq: u64,
    echo: bool,
    duplicate: bool,
}

/// The end that receives.
#[derive(Clone, Debug)]
pub struct Receiver {
    acks: Acks,
    /// Blocks are sent.
    selective: bool,
    ecn: Ecn,
    buffer: u64,
    scale: u8,
    /// The first byte after the message; `u64::MAX` if there is no end.
    end: u64,
    arrived: Arrived,
    /// The ranges beyond that grew last, the latest first; some may be in order by now.
    latest: [Range<u64>; BLOCKS],
    /// The first byte that was never allowed. It does not move back (RFC 7323, 2.4).
    edge: u64,
    pub(super) echo: Echo,
    owed: VecDeque<Owed>,
    greeting: bool,
    /// Segments in order that no acknowledgement told of yet.
    unacknowledged: u32,
    /// Segments still to be acknowledged at once.
    pub(super) quick: u32,
    /// Where the last segment began.
    seq: u64,
    /// When an acknowledgement that is held back must leave; [`Time::LAST`] if there is none.
    due: Time,
    /// The deadline the driver knows: `due`, or earlier, so that it need not change with every segment.
    armed: Time,
    received: u64,
    duplicates: u64,
}

impl Receiver {
    /// Receives a message of so many bytes, or of no known end.
    #[must_use]
    pub fn new(config: &Config, size: Option<u64>) -> Self {
        let buffer = config.kept_buffer();
        Self {
            acks: config.acks,
            selective: config.detection != Detection::DuplicateAcks,
            ecn: if config.marks.capable == Capable::Everything { Ecn::Ect } else { Ecn::NotEct },
            buffer,
            scale: scale_for(buffer),
            end: size.unwrap_or(u64::MAX),
            arrived: Arrived::default(),
            latest: [const { 0..0 }; BLOCKS],
            edge: buffer,
            echo: Echo::new(config.marks.echo),
            owed: VecDeque::new(),
            greeting: false,
            unacknowledged: 0,
            quick: config.acks.quick,
            seq: 0,
            due: Time::LAST,
            armed: Time::LAST,
            received: 0,
            duplicates: 0,
        }
    }

    /// The first byte that has not arrived.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.arrived.next()
    }

    fn on_data(&mut self, now: Time, head: &Head, ecn: Ecn) {
        let Some(stop) = head.seq.checked_add(u64::from(head.len)) else { return };
        if stop > self.end {
            return;
        }
        self.seq = head.seq;
        if self.echo.on_data(ecn, head.flags.has(Flags::CWR)) {
            if self.unacknowledged > 0 {
                self.owe(false);
            }
            self.echo.turn();
        }
        if stop > self.edge.max(self.next() + self.buffer) {
            return self.owe(false);
        }
        let (next, gaps) = (self.next(), self.arrived.has_hole());
        let new = self.take(head.seq..stop);
        self.received += new;
        self.duplicates += u64::from(new == 0);
        self.edge = self.edge.max(self.next() + self.buffer.saturating_sub(self.arrived.beyond()));
        self.unacknowledged += 1;
        let in_order = self.next() > next && !gaps;
        if self.quick > 0 && in_order {
            self.quick -= 1;
        } else if in_order && self.unacknowledged < self.acks.every && self.next() < self.end {
            return self.hold_back(now);
        }
        // The last byte is acknowledged at once, as the FIN that would come with it is.
        self.owe(new == 0);
    }

    /// Takes the bytes in. Gives how many were new.
    fn take(&mut self, body: Range<u64>) -> u64 {
        let (new, around) = self.arrived.add(body);
        if around.start > 0 && new > 0 {
            self.remember(around);
        }
        if self.is_complete() {
            // The memory of many holes would outlive its use.
            self.arrived.shrink();
        }
        new
    }

    /// This range is the one to tell of first; those that became part of it need not be told of.
    fn remember(&mut self, range: Range<u64>) {
        for old in &mut self.latest {
            if range.start <= old.start && old.end <= range.end {
                *old = 0..0;
            }
        }
        let place = self.latest.iter().position(Range::is_empty).unwrap_or(BLOCKS - 1);
        self.latest[..=place].rotate_right(1);
        self.latest[0] = range;
    }

    /// An acknowledgement of everything so far is to leave at once.
    fn owe(&mut self, duplicate: bool) {
        let owed = Owed { ack: self.next(), seq: self.seq, echo: self.echo.is_on(), duplicate };
        (self.unacknowledged, self.due) = (0, Time::LAST);
        let full = self.owed.len() >= OWED;
        match self.owed.back_mut() {
            // One that waits is brought up to date, unless the number of them says something.
            Some(last)
                if full
                    || (last.echo == owed.echo
                        && !last.duplicate
                        && (self.selective || last.ack < owed.ack)) =>
            {
                *last = owed;
            }
            _ => self.owed.push_back(owed),
        }
    }

    fn hold_back(&mut self, now: Time) {
        if self.due == Time::LAST {
            self.due = now.saturating_add(self.acks.timeout);
            self.armed = self.armed.min(self.due);
        }
    }

    fn acknowledgement(&self, owed: Owed, last: bool) -> Head {
        let mut head = Head {
            seq: owed.seq,
            ack: owed.ack,
            flags: Flags::ACK
                | Flags::ECE.when(owed.echo)
                | Flags::DUPLICATE.when(owed.duplicate && self.selective),
            scale: self.scale,
            ..Head::default()
        };
        head.offer(self.edge - owed.ack);
        // Blocks go with the last, so that an earlier one claims no more than it was owed for.
        if last && self.selective && self.arrived.has_hole() {
            self.fill(&mut head);
        }
        head
    }

    fn fill(&self, head: &mut Head) {
        let beyond = |range: &&Range<u64>| range.start > self.next() && !range.is_empty();
        for (block, range) in head.blocks.iter_mut().zip(self.latest.iter().filter(beyond)) {
            *block = Block::of(range, head.ack);
        }
    }

    fn greet(&mut self) -> Out<Head> {
        self.greeting = false;
        let flags = Flags::SYN | Flags::ACK;
        let mut head = Head { flags, scale: self.scale, ack: self.next(), ..Head::default() };
        head.offer(self.edge - self.next());
        let (body, size) = (0..0, wire::frame(wire::HEADERS));
        Out { head, body, size, class: Class::Control, ecn: self.ecn }
    }
}

impl Endpoint for Receiver {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, ecn: Ecn) {
        if head.flags.has(Flags::SYN) {
            self.greeting = true;
        } else if head.len > 0 {
            self.on_data(now, head, ecn);
        } else {
            // A probe of the window: it is answered, whatever it says.
            self.owe(false);
        }
    }

    fn on_timer(&mut self, now: Time) {
        if self.due <= now {
            self.owe(false);
        }
        self.armed = self.due;
    }

    fn ready(&self, _now: Time) -> bool {
        self.greeting || !self.owed.is_empty()
    }

    fn poll(&mut self, _now: Time) -> Option<Out<Head>> {
        if self.greeting {
            return Some(self.greet());
        }
        let owed = self.owed.pop_front()?;
        let head = self.acknowledgement(owed, self.owed.is_empty());
        let (body, size) = (0..0, wire::frame(wire::HEADERS));
        Some(Out { head, body, size, class: Class::Ack, ecn: self.ecn })
    }

    fn wakeup(&self) -> Option<Time> {
        (self.armed < Time::LAST).then_some(self.armed)
    }

    fn is_complete(&self) -> bool {
        self.next() >= self.end
    }

    fn report(&self) -> Report {
        Report { received: self.received, duplicates: self.duplicates, ..Report::default() }
    }

    fn follow(&mut self, before: &Self) {
        self.take_over(before);
    }
}
