//! A Pair: two endpoints connected in memory by a path that delays, loses and reorders packets. All packets are
//! captured, so that tests can check that every byte arrived and was counted once.

pub mod flashpass;
pub mod tcp;

use proptest::prelude::*;
use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Pace, Seed, Span, Stream, Time};
use shallop_proto::{Endpoint, Nic, Out, settle};
use std::{cmp::Reverse, collections::BTreeMap, ops::Range};

/// One-way delay of [`Path::fast`], without transmission time.
pub const DELAY: Span = Span::from_us(500);
/// Transmission time of a full frame of 1538 B at 10 Gb/s.
pub const FRAME: Span = Span::from_ps(1_230_400);
/// The gap between credits or emulation packets of 84 B that release full frames at 10 Gb/s.
pub const GAP: Span = Span::from_ps(1_297_600);
/// Full frames in the bandwidth-delay product of [`Path::fast`], rounded up.
pub const BDP: u64 = 813;
/// Payload of a full segment or frame.
pub const PAYLOAD: u64 = 1460;

pub fn ms(ms: u64) -> Time {
    Time::after_start(Span::from_ms(ms))
}

pub fn us(us: u64) -> Time {
    Time::after_start(Span::from_us(us))
}

/// A rule for [`Pair::with_drops`] that drops packets of some kind, by their number counted from 0.
pub fn lose<H>(
    kind: impl Fn(&CapturedPacket<H>) -> bool + 'static, numbers: impl Fn(usize) -> bool + 'static,
) -> impl FnMut(&CapturedPacket<H>) -> bool + 'static {
    let mut number = 0;
    move |packet| {
        let hit = kind(packet);
        number += usize::from(hit);
        hit && numbers(number - 1)
    }
}

/// A rule for [`Pair::with_drops`] that drops the unscheduled frames with these numbers.
pub fn lose_unscheduled<H>(
    numbers: impl Fn(u64) -> bool + 'static,
) -> impl FnMut(&CapturedPacket<H>) -> bool + 'static {
    move |packet| packet.class == Class::Unscheduled && numbers(packet.frame())
}

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

    /// 10 Gb/s and half a millisecond each way, without losses.
    pub fn fast() -> Self {
        Self { rate: BitsPerSec::gbps(10), delay: DELAY, ..Self::clean() }
    }

    /// Random paths for property tests: `rates` in bit/s, `delay` and `late` in microseconds, and the probabilities of
    /// a loss, of a delay by up to `late`, and of a mark.
    pub fn random(
        rates: Vec<u64>, delay: impl Strategy<Value = u64>, loss: impl Strategy<Value = f64>,
        reorder: impl Strategy<Value = f64>, late: impl Strategy<Value = u64>, mark: impl Strategy<Value = f64>,
    ) -> impl Strategy<Value = Self> {
        let rate = prop::sample::select(rates).prop_map(BitsPerSec::at_least_one);
        let (delay, late) = (delay.prop_map(Span::from_us), late.prop_map(Span::from_us));
        (rate, delay, loss, reorder, late, mark).prop_map(|(rate, delay, loss, reorder, late, mark)| Self {
            rate,
            delay,
            loss,
            reorder,
            late,
            mark,
        })
    }
}

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
    /// Arrival time, also of lost packets.
    pub arrives: Time,
    pub ecn: Ecn,
}

impl<H> CapturedPacket<H> {
    /// The number of the frame that the packet carries.
    pub fn frame(&self) -> u64 {
        self.body.start / PAYLOAD
    }
}

struct Side<H> {
    /// Rate of the link; `None` if packets take no time.
    pace: Option<Pace>,
    free_at: Time,
    waiting: bool,
    out: Vec<(Time, Out<H>)>,
}

impl<H> Side<H> {
    fn new(rate: Option<BitsPerSec>) -> Self {
        Self { pace: rate.map(Pace::new), free_at: Time::ZERO, waiting: false, out: vec![] }
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

/// A link that is always free and records its packets with their times.
pub struct RecordingNic<H>(pub Vec<(Time, Out<H>)>);

impl<H> RecordingNic<H> {
    pub fn count(&self, class: Class) -> usize {
        self.0.iter().filter(|(_, out)| out.class == class).count()
    }
}

impl<H> Nic<H> for RecordingNic<H> {
    fn meter(&mut self, now: Time, out: Out<H>) {
        self.0.push((now, out));
    }
    fn is_free(&mut self, _now: Time) -> bool {
        true
    }
    fn send(&mut self, now: Time, out: Out<H>) {
        self.0.push((now, out));
    }
    fn wait(&mut self, _now: Time, _low_priority: bool) {}
}

/// Runs the timers of an endpoint from `now` to `until`. False if a deadline is not later than the time of its call.
pub fn sleep<E: Endpoint>(end: &mut E, mut now: Time, until: Time, nic: &mut RecordingNic<E::Head>) -> bool {
    let mut wakeup = settle(end, now, nic);
    while let Some(at) = wakeup.filter(|&at| at <= until) {
        if at <= now {
            return false;
        }
        now = at;
        end.on_timer(now);
        wakeup = settle(end, now, nic);
    }
    true
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

    pub fn with_drops(mut self, drops: impl FnMut(&CapturedPacket<E::Head>) -> bool + 'static) -> Self {
        self.drops = Some(Box::new(drops));
        self
    }

    pub fn with_middlebox(mut self, rewrite: impl FnMut(Time, Hook, &mut E::Head, &mut Ecn) + 'static) -> Self {
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

    /// Runs until both endpoints are complete, and on until there are no further events.
    pub fn finish(&mut self) {
        assert!(self.run(ms(60_000)), "not complete after a minute");
        assert!((0..20_000).any(|_| !self.run(ms(10_000_000))), "something goes on for ever");
    }

    /// The pair after [`Self::finish`].
    pub fn finished(mut self) -> Self {
        self.finish();
        self
    }

    /// The pair after both endpoints are complete, which must be before `end`.
    #[track_caller]
    pub fn complete_by(mut self, end: Time) -> Self {
        assert!(self.run(end), "not complete");
        self
    }

    /// The pair after [`Self::run`] up to `end`.
    pub fn after(mut self, end: Time) -> Self {
        self.run(end);
        self
    }

    /// Runs until the receiver has all data. Returns the time.
    pub fn run_until_received(&mut self) -> Span {
        while !self.ends[1].is_complete() {
            let next = self.now + Span::from_ns(100);
            assert!(next < ms(10_000), "never received");
            self.run(next);
        }
        self.now.since_start()
    }

    pub fn of_class(&self, class: Class) -> impl Iterator<Item = &CapturedPacket<E::Head>> {
        self.capture.iter().filter(move |packet| packet.class == class)
    }

    /// The numbers of the frames that packets of a class carried, in the order in which they were sent.
    pub fn frames(&self, class: Class) -> Vec<u64> {
        self.of_class(class).map(CapturedPacket::frame).collect()
    }

    /// The payload of all data packets that were not lost, merged into ranges.
    pub fn carried(&self) -> Vec<(u64, u64)> {
        let whole = |packet: &&CapturedPacket<E::Head>| packet.from == 0 && !packet.lost && !packet.body.is_empty();
        let mut bodies: Vec<_> = self.capture.iter().filter(whole).map(|packet| packet.body.clone()).collect();
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
        let mut packet = CapturedPacket { sent: start, from, head, body, class, size, lost: false, arrives, ecn };
        packet.lost = match &mut self.drops {
            Some(drops) => drops(&packet),
            None => self.random.chance(self.path.loss),
        };
        if ecn == Ecn::Ect && self.random.chance(self.path.mark) {
            ecn = Ecn::Ce;
        }
        packet.ecn = ecn;
        let mut arrival = start + Pace::new(self.path.rate).quote(Bytes::new(size.into())) + self.path.delay;
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
