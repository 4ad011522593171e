//! The wire behind a port: the packets in flight. Only the first packet to arrive has a deadline. A wire may lose,
//! duplicate and reorder packets and vary its delay; its delay may change at given times.

use crate::impairment::{Fate, Impairment};
use crate::ring::Ring;
use shallop_core::{BitsPerSec, Packet, Span, Stream, Time};
use std::collections::BTreeMap;

/// A change of a link's rate or delay during the run, or a pause in which it starts no packet.
#[derive(Clone, Copy, Debug)]
pub struct LinkChange {
    pub at: Time,
    /// New rate; `None` if the rate stays.
    pub rate: Option<BitsPerSec>,
    /// New propagation delay; `None` if the delay stays.
    pub delay: Option<Span>,
    /// Packets that start from `at` until this time start at this time.
    pub hold: Time,
}

/// A packet in flight. Aligned to a cache line, since a long wire holds tens of thousands of packets, each of which is
/// next read when it arrives.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct InFlight<C> {
    arrival: Time,
    packet: Packet<C>,
}

/// Impairment of a wire, with the reordered packets in flight.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Impaired<C> {
    impairment: Impairment,
    /// Reordered packets in flight, by time of arrival, then by order of sending.
    late: BTreeMap<(Time, u64), Packet<C>>,
    /// Number of packets reordered so far.
    count: u64,
    /// Reordered packet that arrived last, held here so that a reference to it can be returned.
    removed: Option<Packet<C>>,
}

impl<C> Impaired<C> {
    /// Time at which the first reordered packet arrives; [`Time::LAST`] if there is none.
    fn next(&self) -> Time {
        self.late.first_key_value().map_or(Time::LAST, |((arrival, _), _)| *arrival)
    }
}

/// A wire. Fields that each packet uses come first, so that they are in one cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Wire<C> {
    /// Time at which the first packet in flight arrives; [`Time::LAST`] if there is none.
    next: Time,
    ring: Ring<InFlight<C>>,
    /// Whether packets may have different delays, because of jitter, reordering or a change of the delay.
    varies: bool,
    /// Whether reordered packets are in flight.
    has_late: bool,
    /// Whether packets may be lost or duplicated.
    has_fates: bool,
    delay: Span,
    /// Latest arrival time of a packet that is not reordered. Later packets do not arrive before this time.
    latest: Time,
    impairment: Option<Box<Impaired<C>>>,
}

impl<C: Copy> Wire<C> {
    pub fn new(delay: Span, impairment: Option<Impairment>) -> Self {
        let has_fates = impairment.as_ref().is_some_and(Impairment::has_fates);
        let impaired = |impairment| Impaired { impairment, late: BTreeMap::new(), count: 0, removed: None };
        let impairment = impairment.map(|impairment| Box::new(impaired(impairment)));
        let (varies, has_late) = (impairment.is_some(), false);
        let (next, latest, ring) = (Time::LAST, Time::ZERO, Ring::default());
        Self { next, ring, varies, has_late, has_fates, delay, latest, impairment }
    }

    /// Puts a packet on the wire whose last bit leaves the port at `sent`.
    #[inline]
    pub fn push(&mut self, sent: Time, packet: &Packet<C>) {
        let mut arrival = sent + self.delay;
        if self.varies {
            match self.vary(arrival, packet) {
                Some(varied) => arrival = varied,
                None => return,
            }
        }
        self.put(arrival, packet);
    }

    /// Puts a packet on the wire that arrives at this time, not before the packet ahead.
    #[inline]
    pub(crate) fn put(&mut self, arrival: Time, packet: &Packet<C>) {
        if self.ring.is_empty() {
            self.next = self.next.min(arrival);
        }
        let in_flight = self.ring.push(|| InFlight { arrival, packet: *packet });
        in_flight.arrival = arrival;
        in_flight.packet = *packet;
    }

    /// Adds jitter to the time of an arrival, which never precedes the arrival of the packet ahead. Returns `None` if
    /// the packet is reordered; it is then in flight among the reordered packets.
    #[cold]
    fn vary(&mut self, arrival: Time, packet: &Packet<C>) -> Option<Time> {
        let Some(impaired) = &mut self.impairment else {
            self.latest = self.latest.max(arrival);
            return Some(self.latest);
        };
        let jitter = impaired.impairment.jitter.scale(impaired.impairment.stream.unit());
        let arrival = self.latest.max(arrival + jitter);
        let Some(late) = impaired.impairment.draw_reordering() else {
            self.latest = arrival;
            return Some(arrival);
        };
        impaired.count += 1;
        let arrival = arrival.saturating_add(late);
        impaired.late.insert((arrival, impaired.count), *packet);
        (self.has_late, self.next) = (true, self.next.min(arrival));
        None
    }

    /// Time at which the first packet in flight arrives; [`Time::LAST`] if there is none.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Removes the first packet if it has arrived by `now`. The slot of the packet is overwritten by the next push.
    #[inline]
    pub fn pop_arrived(&mut self, now: Time) -> Option<&mut Packet<C>> {
        if self.next > now {
            return None;
        }
        if self.has_late {
            return self.pop_first();
        }
        self.next = self.ring.get(1).map_or(Time::LAST, |second| second.arrival);
        self.ring.pop().map(|first| &mut first.packet)
    }

    /// Removes the packet that arrives first, whether reordered or not.
    #[cold]
    fn pop_first(&mut self) -> Option<&mut Packet<C>> {
        let impaired = self.impairment.as_mut()?;
        let arrival = |nth| self.ring.get(nth).map_or(Time::LAST, |packet| packet.arrival);
        if arrival(0) <= impaired.next() {
            self.next = arrival(1).min(impaired.next());
            return self.ring.pop().map(|first| &mut first.packet);
        }
        impaired.removed = impaired.late.pop_first().map(|(_, packet)| packet);
        self.has_late = !impaired.late.is_empty();
        self.next = arrival(0).min(impaired.next());
        impaired.removed.as_mut()
    }

    /// Draws whether a packet that has crossed the wire at `now` is delivered, lost or duplicated.
    #[inline]
    pub fn draw_fate(&mut self, now: Time) -> Fate {
        if self.has_fates { self.draw_impaired_fate(now) } else { Fate::Arrives }
    }

    #[cold]
    fn draw_impaired_fate(&mut self, now: Time) -> Fate {
        let Some(impaired) = &mut self.impairment else { return Fate::Arrives };
        let delay = self.delay.min(now.since_start());
        impaired.impairment.draw_fate(now - delay, now)
    }

    /// Whether the wire does nothing to packets but to delay them, with or without jitter.
    pub(crate) fn adds_only_jitter(&self) -> bool {
        let is_jitter = |impaired: &Impaired<C>| !self.has_fates && impaired.impairment.reordering <= 0.0;
        self.impairment.as_ref().map_or(!self.varies, |impaired| is_jitter(impaired))
    }

    /// The latest arrival time so far, the delay, and the largest jitter with its random stream.
    pub(crate) fn forecast(&self) -> (Time, Span, Option<(Span, &Stream)>) {
        let impairment = self.impairment.as_ref().map(|impaired| &impaired.impairment);
        (self.latest, self.delay, impairment.map(|it| (it.jitter, &it.stream)))
    }

    /// Takes over the state after packets that did not use the wire.
    pub(crate) fn take_over(&mut self, latest: Time, random: Option<&Stream>) {
        if let (Some(impaired), Some(random)) = (&mut self.impairment, random) {
            impaired.impairment.stream.clone_from(random);
            self.latest = latest;
        }
    }

    /// Removes all packets in flight, none of them reordered, in order of their arrivals.
    pub(crate) fn take_all(&mut self, mut take: impl FnMut(Time, &Packet<C>)) {
        while let Some(InFlight { arrival, packet }) = self.ring.pop() {
            take(*arrival, packet);
        }
        self.next = Time::LAST;
    }

    /// Number of packets in flight.
    pub fn len(&self) -> usize {
        self.ring.len() + self.impairment.as_ref().map_or(0, |impaired| impaired.late.len())
    }

    /// Whether no packet is in flight, apart from reordered ones.
    #[inline]
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
