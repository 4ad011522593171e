//! The wire behind a port: the packets in flight on it, in order. Only the first has a deadline. A wire may lose
//! packets at random, vary its delay without reordering, and change its delay at given times.

use shallop_core::{BitsPerSec, Packet, Span, Stream, Time};

use crate::ring::Ring;

/// Random loss and jitter of a wire.
#[derive(Clone, Debug)]
pub struct Impairment {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Largest extra delay of a packet, drawn uniformly from zero.
    pub jitter: Span,
    /// Source of the draws.
    pub stream: Stream,
}

/// A change of a link's rate or delay during the run.
#[derive(Clone, Copy, Debug)]
pub struct LinkChange {
    /// When it takes effect.
    pub at: Time,
    /// The new rate, if it changes.
    pub rate: Option<BitsPerSec>,
    /// The new delay, if it changes.
    pub delay: Option<Span>,
}

/// A packet in flight. A long wire holds tens of thousands, each of which is touched again only when it arrives: each
/// begins a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct InFlight<C> {
    arrival: Time,
    packet: Packet<C>,
}

/// A wire.
#[derive(Clone, Debug)]
pub struct Wire<C> {
    /// When the first packet arrives; [`Time::LAST`] if there is none.
    next: Time,
    delay: Span,
    /// Whether packets may have different delays.
    varies: bool,
    /// Arrival of the last packet, which no later packet may overtake.
    latest: Time,
    ring: Ring<InFlight<C>>,
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
    pub fn push(&mut self, sent: Time, packet: &Packet<C>) {
        let mut arrival = sent + self.delay;
        if self.varies {
            arrival = self.vary(arrival);
        }
        if self.ring.is_empty() {
            self.next = arrival;
        }
        let in_flight = self.ring.push(|| InFlight { arrival, packet: *packet });
        in_flight.arrival = arrival;
        in_flight.packet = *packet;
    }

    /// The arrival with jitter, and not before that of the packet ahead.
    #[cold]
    fn vary(&mut self, arrival: Time) -> Time {
        let late = self
            .impairment
            .as_mut()
            .map_or(Span::ZERO, |impairment| impairment.jitter.scale(impairment.stream.unit()));
        self.latest = self.latest.max(arrival + late);
        self.latest
    }

    /// When the first packet arrives; [`Time::LAST`] if there is none.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Removes the first packet if it has arrived by `now`. Its slot keeps it until the next push.
    #[inline]
    pub fn pop_arrived(&mut self, now: Time) -> Option<&mut Packet<C>> {
        if self.next > now {
            return None;
        }
        self.next = self.ring.get(1).map_or(Time::LAST, |second| second.arrival);
        self.ring.pop().map(|first| &mut first.packet)
    }

    /// Draws whether an arriving packet was lost on the wire.
    #[inline]
    pub fn draw_loss(&mut self) -> bool {
        self.impairment.as_mut().is_some_and(|impairment| {
            impairment.loss > 0.0 && impairment.stream.chance(impairment.loss)
        })
    }

    /// Packets in flight.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// True when no packet is in flight.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Sets the delay of packets that are put on the wire from now on.
    pub fn set_delay(&mut self, delay: Span) {
        let last = self.ring.len().checked_sub(1).and_then(|last| self.ring.get(last));
        self.latest = last.map_or(self.latest, |last| last.arrival);
        (self.delay, self.varies) = (delay, true);
    }
}
