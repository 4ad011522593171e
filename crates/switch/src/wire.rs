//! The wire behind a port: a ring of packets on their way, in order, of which only the first has a deadline. May be
//! hostile: it can lose packets, vary its delay (never their order) and change rate and delay on a schedule.

use shallop_core::{BitsPerSec, Packet, Span, Stream, Time};

use crate::ring::Ring;

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

/// A packet under way. Long wires hold tens of thousands, each touched again only when it arrives: each has a cache
/// line to itself.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Crossing<C> {
    arrival: Time,
    packet: Packet<C>,
}

/// A wire.
#[derive(Clone, Debug)]
pub struct Wire<C> {
    /// When the first packet arrives; [`Time::LAST`] if there is none.
    next: Time,
    delay: Span,
    /// Packets do not all take the same time.
    varies: bool,
    /// Arrival of the latest packet: jitter and shorter delays must not overtake it.
    latest: Time,
    ring: Ring<Crossing<C>>,
    impairment: Option<Box<Impairment>>,
}

impl<C: Copy> Wire<C> {
    /// An empty wire.
    #[must_use]
    pub fn new(delay: Span, impairment: Option<Impairment>) -> Self {
        let impairment = impairment.map(Box::new);
        let varies = impairment.is_some();
        let (next, latest, ring) = (Time::LAST, Time::ZERO, Ring::default());
        Self { next, delay, varies, latest, ring, impairment }
    }

    /// Puts a packet on the wire whose last bit leaves the port at `sent`.
    #[inline]
    pub fn put(&mut self, sent: Time, packet: &Packet<C>) {
        let mut arrival = sent + self.delay;
        if self.varies {
            arrival = self.vary(arrival);
        }
        if self.ring.is_empty() {
            self.next = arrival;
        }
        let crossing = self.ring.push(|| Crossing { arrival, packet: *packet });
        crossing.arrival = arrival;
        crossing.packet = *packet;
    }

    /// The arrival with jitter, and not before that of the packet in front.
    #[cold]
    fn vary(&mut self, arrival: Time) -> Time {
        let late = self
            .impairment
            .as_mut()
            .map_or(Span::ZERO, |trouble| trouble.jitter.scale(trouble.stream.unit()));
        self.latest = self.latest.max(arrival + late);
        self.latest
    }

    /// When the first packet arrives; [`Time::LAST`] if there is none.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Takes the first packet if it has arrived by `now`. It stays where it is until the next one is put on the wire.
    #[inline]
    pub fn arrive(&mut self, now: Time) -> Option<&mut Packet<C>> {
        if self.next > now {
            return None;
        }
        self.next = self.ring.get(1).map_or(Time::LAST, |second| second.arrival);
        self.ring.pop().map(|crossing| &mut crossing.packet)
    }

    /// Whether the packet that arrives was lost on its way: a draw for each.
    #[inline]
    pub fn loses(&mut self) -> bool {
        self.impairment
            .as_mut()
            .is_some_and(|trouble| trouble.loss > 0.0 && trouble.stream.chance(trouble.loss))
    }

    /// How many packets are on their way.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// True when nothing is on its way.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Packets put on from now on take this long.
    pub fn set_delay(&mut self, delay: Span) {
        let last = self.ring.len().checked_sub(1).and_then(|last| self.ring.get(last));
        self.latest = last.map_or(self.latest, |last| last.arrival);
        (self.delay, self.varies) = (delay, true);
    }
}
