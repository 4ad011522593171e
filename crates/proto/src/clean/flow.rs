//! A flow as CLEAN knows it: the law's state, how far it has let the sender go, and how much passes in a round trip.
//! Units: bytes of the stream; packets for what passes.
//!
//! The edge it grants, the first byte that may not be sent, never moves back: a smaller window takes effect as
//! acknowledgements catch up (RFC 9293, 3.8.6; RFC 7323, 2.4). A head can say it only in units of 2^scale from its own
//! acknowledgement, so what is said is up to a unit less, as a receiver's own window is. Rounding up instead would move
//! the edge on with every acknowledgement of less than a unit, and no window could ever shrink.

use shallop_control::clean::{Clean, MOST_WINDOW, Passed, SEGMENT};
use shallop_core::{Span, Time};

use super::Config;
use crate::tcp::head::MAX_SCALE;
use crate::tcp::{Flags, Head};

/// A silence is longer than so many round trips.
const SILENCE: u64 = 2;

/// What is known of the round trip from here to the sender and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trip {
    /// Nothing; it is not to be learned any more.
    Unknown,
    /// The receiver agreed to begin at this time, and no data came since.
    Greeted(Time),
    /// How long it took the first data to come.
    Known(Span),
}

/// A flow.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    law: Clean,
    /// The first byte that the sender may not send, by what it was told or has sent.
    edge: u64,
    /// The largest payload seen; zero before any.
    segment: u16,
    trip: Trip,
    /// When data passed last.
    latest: Time,
    /// What passed since `began`, and in the round trip before.
    passed: (u32, u32),
    began: Time,
    /// When anything passed last.
    pub(super) seen: Time,
}

impl Flow {
    /// A flow whose next byte has this number, modulo 2^32.
    #[must_use]
    pub fn new(config: &Config, now: Time, next: u32) -> Self {
        Self {
            law: Clean::new(&config.law, next),
            edge: 0,
            segment: 0,
            trip: Trip::Unknown,
            latest: now,
            passed: (0, 0),
            began: now,
            seen: now,
        }
    }

    /// Begins anew after a long silence. What the sender was allowed it still is.
    pub fn restart(&mut self, config: &Config, now: Time, next: u32) {
        *self = Self { edge: self.edge, segment: self.segment, ..Self::new(config, now, next) };
    }

    /// The law.
    #[must_use]
    pub const fn law(&self) -> &Clean {
        &self.law
    }

    /// The first byte that the sender may not send.
    #[must_use]
    pub const fn edge(&self) -> u64 {
        self.edge
    }

    fn segment(&self, config: &Config) -> u16 {
        if self.segment == 0 { config.segment } else { self.segment }
    }

    /// Data passes on to the receiver.
    pub fn on_data(&mut self, config: &Config, now: Time, head: &Head, marked: bool) {
        self.seen = now;
        self.segment = self.segment.max(head.len);
        // Who has sent this was allowed to: by an earlier window, before the flow was known here.
        self.edge = self.edge.max(head.seq.saturating_add(u64::from(head.len)));
        if let Trip::Greeted(at) = self.trip {
            self.trip = Trip::Known(now.saturating_since(at));
            self.began = now;
        }
        let segment = self.segment(config);
        let most = if config.validate { self.most(config, now) } else { MOST_WINDOW };
        self.latest = now;
        let (seq, allowed) = (head.seq as u32, self.edge as u32);
        let passed = Passed { now, seq, marked, allowed, segment, most };
        self.law.on_data(&config.law, &passed);
    }

    /// Where growth ends: twice what passed in this round trip and the one before, which is four windows at most and
    /// two at least, and what a flow begins with.
    fn most(&mut self, config: &Config, now: Time) -> u64 {
        let Trip::Known(trip) = self.trip else { return MOST_WINDOW };
        let silence = now.saturating_since(self.latest);
        if silence > trip * SILENCE {
            self.law.on_silence(silence);
        }
        let since = now.saturating_since(self.began);
        if since >= trip {
            let over = since >= trip * 2;
            self.passed = (0, if over { 0 } else { self.passed.0 });
            self.began = now;
        }
        self.passed.0 = self.passed.0.saturating_add(1);
        let passed = u64::from(self.passed.0) + u64::from(self.passed.1);
        (2 * passed + u64::from(config.law.initial)) * SEGMENT
    }

    /// An acknowledgement passes on to the sender: its window is lowered to what the law allows. Gives whether it was.
    pub fn on_ack(&mut self, config: &Config, now: Time, head: &mut Head) -> bool {
        self.seen = now;
        if head.flags.has(Flags::SYN) {
            // A second one: the data may be the answer to either.
            let first = self.segment == 0 && self.trip == Trip::Unknown && self.edge == 0;
            self.trip = if first { Trip::Greeted(now) } else { Trip::Unknown };
        }
        let scale = head.scale.min(MAX_SCALE);
        let window = self.law.bytes(self.segment(config)).get();
        // In whole units: a window of less than one would close it.
        let window = window.div_ceil(1 << scale) << scale;
        let edge = self.edge.max(head.ack.saturating_add(window));
        let units = u16::try_from((edge - head.ack) >> scale).unwrap_or(u16::MAX);
        let lowers = units < head.window;
        if lowers {
            head.window = units;
        }
        self.edge = self.edge.max(head.edge());
        lowers
    }
}
