//! A Pair: two endpoints connected in memory by a path that delays, loses and reorders packets. All packets are
//! captured, so that tests can check that every byte arrived and was counted once.

pub mod flashpass;
pub mod shared_bottleneck;
pub mod tcp;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Pace, Seed, Span, Stream, Time};
use shallop_proto::{Endpoint, Nic, Out, settle};

/// The path between two endpoints, the same in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub rate: BitsPerSec,
    pub delay: Span,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet is delayed by up to `late`.
    pub reorder: f64,
    pub late: Span,
    /// Probability that an ECN-capable packet is marked.
    pub mark: f64,
}

impl Path {
    pub fn clean() -> Self {
        Self {
            rate: BitsPerSec::gbps(1),
            delay: Span::from_ms(5),
            loss: 0.0,
            reorder: 0.0,
            late: Span::ZERO,
            mark: 0.0,
        }
    }

    /// A path from numbers of a property test: bits per second, us, probability of loss, probability and maximum in us
    /// of an additional delay, probability of a mark.
    pub fn of(rate: u64, delay: u64, loss: f64, (reorder, late): (f64, u64), mark: f64) -> Self {
        Self {
            rate: BitsPerSec::at_least_one(rate),
            delay: Span::from_us(delay),
            loss,
            reorder,
            late: Span::from_us(late),
            mark,
        }
    }
}

/// A packet on the wire.
#[derive(Clone, Debug)]
pub struct CapturedPacket<H> {
    pub sent: Time,
    /// 0 for the sender of the flow, 1 for the receiver.
    pub from: usize,
    pub head: H,
    pub body: Range<u64>,
    pub class: Class,
    pub size: u16,
    pub lost: bool,
    /// The arrival time, also of lost packets.
    pub arrives: Time,
    /// The ECN codepoint on arrival.
    pub ecn: Ecn,
}

/// The link of an endpoint.
struct Side<H> {
    /// The rate of the link; without one, packets take no time.
    pace: Option<Pace>,
    free_at: Time,
    waiting: bool,
    out: Vec<(Time, Out<H>)>,
}

impl<H> Side<H> {
    fn new(rate: Option<BitsPerSec>) -> Self {
        Self { pace: rate.map(Pace::new), free_at: Time::ZERO, waiting: false, out: vec![] }
    }

    /// The transmission time of a packet of this size.
    fn takes(&self, size: u16) -> Span {
        self.pace.as_ref().map_or(Span::ZERO, |pace| pace.quote(Bytes::new(size.into())))
    }

    fn start(&mut self, now: Time, out: Out<H>) {
        let start = self.free_at.max(now);
        let size = Bytes::new(u64::from(out.size));
        self.free_at = start + self.pace.as_mut().map_or(Span::ZERO, |pace| pace.charge(size));
        self.out.push((start, out));
    }
}

impl<H> Nic<H> for Side<H> {
    fn meter(&mut self, now: Time, out: Out<H>) {
        self.start(now, out);
    }
    fn is_free(&mut self, now: Time) -> bool {
        self.free_at <= now
    }
    fn send(&mut self, now: Time, out: Out<H>) {
        self.start(now, out);
    }
    fn wait(&mut self, _now: Time, _low_priority: bool) {
        self.waiting = true;
    }
}

/// A rule for losses that replaces random losses: true drops the packet.
pub type DropRule<H> = Box<dyn FnMut(&CapturedPacket<H>) -> bool>;

/// The position of a packet when the rewrite hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// The packet leaves this endpoint.
    Egress(usize),
    /// The packet arrives at this endpoint.
    Ingress(usize),
}

/// A middlebox in the path, which may rewrite each packet as it leaves an endpoint and as it arrives at one.
pub type RewriteHook<H> = Box<dyn FnMut(Time, Hook, &mut H, &mut Ecn)>;

/// Maps the arrival time of a packet at the receiver to a later one.
pub type ExtraDelay = Box<dyn FnMut(Time) -> Time>;

/// Two connected endpoints.
pub struct Pair<E: Endpoint> {
    pub now: Time,
    pub ends: [E; 2],
    sides: [Side<E::Head>; 2],
    pub path: Path,
    random: Stream,
    drops: Option<DropRule<E::Head>>,
    rewrite: Option<RewriteHook<E::Head>>,
    extra_delay: Option<ExtraDelay>,
    /// Packets in flight, by arrival time and order of sending.
    in_flight: BTreeMap<(Time, u64), (usize, E::Head, Ecn)>,
    order: u64,
    pub capture: Vec<CapturedPacket<E::Head>>,
}

impl<E: Endpoint> Pair<E> {
    /// A pair of this sender and receiver.
    pub fn new(sender: E, receiver: E, path: Path, seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            ends: [sender, receiver],
            sides: [(); 2].map(|()| Side::new(Some(path.rate))),
            path,
            random: Seed::new(seed).stream("pair", 0),
            drops: None,
            rewrite: None,
            extra_delay: None,
            in_flight: BTreeMap::new(),
            order: 0,
            capture: vec![],
        }
    }

    /// Drops the packets that `drops` selects, and no others.
    pub fn with_drops(
        mut self,
        drops: impl FnMut(&CapturedPacket<E::Head>) -> bool + 'static,
    ) -> Self {
        self.drops = Some(Box::new(drops));
        self
    }

    /// Adds a middlebox to the path.
    pub fn with_middlebox(
        mut self,
        rewrite: impl FnMut(Time, Hook, &mut E::Head, &mut Ecn) + 'static,
    ) -> Self {
        self.rewrite = Some(Box::new(rewrite));
        self
    }

    /// Delays the packets of the sender.
    pub fn with_extra_delay(mut self, extra_delay: impl FnMut(Time) -> Time + 'static) -> Self {
        self.extra_delay = Some(Box::new(extra_delay));
        self
    }

    /// Runs until both endpoints are complete, there are no further events, or `end`. True if both are complete.
    pub fn run(&mut self, end: Time) -> bool {
        if self.now == Time::ZERO && self.order == 0 {
            self.ends[0].on_timer(Time::ZERO);
            self.send_from(0);
        }
        while let Some(now) = self.next().filter(|&at| at <= end) {
            assert!(now >= self.now, "time runs backwards");
            self.now = now;
            self.step();
            if self.ends.iter().all(Endpoint::is_complete) {
                return true;
            }
        }
        self.now = self.now.max(end);
        false
    }

    /// The payload of all data packets that were not lost, merged into ranges.
    pub fn carried(&self) -> Vec<(u64, u64)> {
        let whole = |packet: &&CapturedPacket<E::Head>| {
            packet.from == 0 && !packet.lost && !packet.body.is_empty()
        };
        let mut bodies: Vec<_> =
            self.capture.iter().filter(whole).map(|packet| packet.body.clone()).collect();
        bodies.sort_by_key(|body| (body.start, Reverse(body.end)));
        let mut merged: Vec<(u64, u64)> = vec![];
        for body in bodies {
            match merged.last_mut() {
                Some((_, end)) if body.start <= *end => *end = body.end.max(*end),
                _ => merged.push((body.start, body.end)),
            }
        }
        merged
    }

    fn next(&self) -> Option<Time> {
        let arrival = self.in_flight.keys().next().map(|&(at, _)| at);
        let timers = self.ends.iter().filter_map(Endpoint::wakeup).min();
        let free = self.sides.iter().filter(|s| s.waiting).map(|s| s.free_at).min();
        [arrival, timers, free].into_iter().flatten().min()
    }

    /// Processes the events of this instant: arrivals first, then timers, then endpoints that wait for their link.
    fn step(&mut self) {
        while let Some(entry) = self.in_flight.first_entry().filter(|e| e.key().0 <= self.now) {
            let (to, mut head, mut ecn) = entry.remove();
            if let Some(rewrite) = &mut self.rewrite {
                rewrite(self.now, Hook::Ingress(to), &mut head, &mut ecn);
            }
            self.ends[to].on_packet(self.now, &head, ecn);
            self.send_from(to);
        }
        for side in 0..2 {
            if self.ends[side].wakeup().is_some_and(|at| at <= self.now) {
                self.ends[side].on_timer(self.now);
                self.send_from(side);
            }
            if self.sides[side].waiting && self.sides[side].free_at <= self.now {
                self.sides[side].waiting = false;
                self.send_from(side);
            }
        }
    }

    fn send_from(&mut self, side: usize) {
        let wakeup = settle(&mut self.ends[side], self.now, &mut self.sides[side]);
        assert!(wakeup.is_none_or(|at| at >= self.now), "a deadline is in the past");
        for (start, out) in std::mem::take(&mut self.sides[side].out) {
            self.transmit(side, start, out);
        }
    }

    fn transmit(&mut self, from: usize, start: Time, out: Out<E::Head>) {
        let Out { mut head, body, size, class, mut ecn } = out;
        if let Some(rewrite) = &mut self.rewrite {
            rewrite(start, Hook::Egress(from), &mut head, &mut ecn);
        }
        let arrives = start;
        let mut packet = CapturedPacket {
            sent: start,
            from,
            head,
            body,
            class,
            size,
            lost: false,
            arrives,
            ecn,
        };
        packet.lost = match &mut self.drops {
            Some(drops) => drops(&packet),
            None => self.random.chance(self.path.loss),
        };
        if ecn == Ecn::Ect && self.random.chance(self.path.mark) {
            ecn = Ecn::Ce;
        }
        packet.ecn = ecn;
        let mut arrival =
            start + Pace::new(self.path.rate).quote(Bytes::new(size.into())) + self.path.delay;
        if self.random.chance(self.path.reorder) {
            arrival += self.path.late.scale(self.random.unit());
        }
        if let Some(extra_delay) = self.extra_delay.as_mut().filter(|_| from == 0) {
            arrival = extra_delay(arrival);
        }
        packet.arrives = arrival;
        if !packet.lost {
            self.order += 1;
            self.in_flight.insert((arrival, self.order), (1 - from, packet.head, ecn));
        }
        self.capture.push(packet);
    }
}
