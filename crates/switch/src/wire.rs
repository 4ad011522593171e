//! The wire behind a port: a ring of packets on their way, in order, of which only the first has a deadline. May be
//! hostile: it can lose packets, vary its delay (never their order) and change rate and delay on a schedule.

use std::collections::VecDeque;

use shallop_core::{BitsPerSec, Packet, Span, Stream, Time};

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
pub enum Arrival<C> {
    /// It arrived.
    Whole(Packet<C>),
    /// It was lost on the way.
    Lost(Packet<C>),
}

/// A ring gives memory back when it uses less than one part in so many.
const SPARSE: usize = 6;

/// A packet under way. Long wires hold tens of thousands, each touched again only when it arrives: with one cache line
/// each, reading the next arrival fetches all of the next packet.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Crossing<C> {
    arrival: Time,
    packet: Packet<C>,
}

/// A wire.
#[derive(Clone, Debug)]
pub struct Wire<C> {
    delay: Span,
    ring: VecDeque<Crossing<C>>,
    /// Arrival of the latest packet: jitter and shorter delays must not overtake it.
    latest: Time,
    impairment: Option<Box<Impairment>>,
}

impl<C> Wire<C> {
    /// An empty wire.
    #[must_use]
    pub fn new(delay: Span, impairment: Option<Impairment>) -> Self {
        let impairment = impairment.map(Box::new);
        Self { delay, ring: VecDeque::new(), latest: Time::ZERO, impairment }
    }

    /// Puts a packet on the wire whose last bit leaves the port at `sent`.
    pub fn put(&mut self, sent: Time, packet: Packet<C>) {
        let mut arrival = sent + self.delay;
        if let Some(trouble) = &mut self.impairment {
            arrival += trouble.jitter.scale(trouble.stream.unit());
        }
        self.latest = self.latest.max(arrival);
        if self.ring.capacity() > SPARSE * (self.ring.len() + SPARSE) {
            // After a burst: a ring walks through all of its memory, however little of it is in use.
            self.ring.shrink_to(self.ring.len() * 2);
        }
        self.ring.push_back(Crossing { arrival: self.latest, packet });
    }

    /// When the first packet arrives.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.ring.front().map(|first| first.arrival)
    }

    /// The `nth` packet from the front, with its arrival.
    #[must_use]
    pub fn peek(&self, nth: usize) -> Option<(Time, &Packet<C>)> {
        self.ring.get(nth).map(|crossing| (crossing.arrival, &crossing.packet))
    }

    /// Takes the first packet if it has arrived by `now`.
    pub fn arrive(&mut self, now: Time) -> Option<Arrival<C>> {
        if self.ring.front()?.arrival > now {
            return None;
        }
        let Crossing { packet, .. } = self.ring.pop_front()?;
        let lost = self
            .impairment
            .as_mut()
            .is_some_and(|trouble| trouble.loss > 0.0 && trouble.stream.chance(trouble.loss));
        Some(if lost { Arrival::Lost(packet) } else { Arrival::Whole(packet) })
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
