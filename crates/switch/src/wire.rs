//! The wire behind a port: a ring of packets on their way, in order, of which only the first has a deadline. May be
//! hostile: it can lose packets, vary its delay (never their order) and change rate and delay on a schedule.

use std::collections::VecDeque;

use shallop_core::{BitsPerSec, Slot, Span, Stream, Time};

/// Random trouble on a wire.
#[derive(Clone, Debug)]
pub struct Impairment {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Each packet takes up to this much longer, drawn uniformly.
    pub jitter: Span,
    /// Where the draws come from.
    pub stream: Stream,
}

/// What a link becomes at some point in time.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    /// From when on.
    pub at: Time,
    /// The new rate, if it changes.
    pub rate: Option<BitsPerSec>,
    /// The new delay, if it changes.
    pub delay: Option<Span>,
}

/// A packet at the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It arrived.
    Whole(Slot),
    /// It was lost on the way.
    Lost(Slot),
}

/// A wire.
#[derive(Clone, Debug)]
pub struct Wire {
    delay: Span,
    ring: VecDeque<(Time, Slot)>,
    /// Arrival of the latest packet: jitter and shorter delays must not overtake it.
    latest: Time,
    impairment: Option<Box<Impairment>>,
}

impl Wire {
    /// An empty wire.
    #[must_use]
    pub fn new(delay: Span, impairment: Option<Impairment>) -> Self {
        let impairment = impairment.map(Box::new);
        Self { delay, ring: VecDeque::new(), latest: Time::ZERO, impairment }
    }

    /// Puts a packet on the wire whose last bit leaves the port at `sent`.
    pub fn put(&mut self, sent: Time, slot: Slot) {
        let mut arrival = sent + self.delay;
        if let Some(trouble) = &mut self.impairment {
            arrival += trouble.jitter.scale(trouble.stream.unit());
        }
        self.latest = self.latest.max(arrival);
        self.ring.push_back((self.latest, slot));
    }

    /// When the first packet arrives.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.ring.front().map(|&(arrival, _)| arrival)
    }

    /// Takes the first packet if it has arrived by `now`.
    pub fn arrive(&mut self, now: Time) -> Option<Arrival> {
        let &(arrival, slot) = self.ring.front()?;
        if arrival > now {
            return None;
        }
        self.ring.pop_front();
        let lost = self
            .impairment
            .as_mut()
            .is_some_and(|trouble| trouble.loss > 0.0 && trouble.stream.chance(trouble.loss));
        Some(if lost { Arrival::Lost(slot) } else { Arrival::Whole(slot) })
    }

    /// How many packets are on their way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// True when nothing is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Packets put on from now on take this long.
    pub fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }
}
