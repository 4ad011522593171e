//! A Pair: two ends joined in memory by wires that delay, lose and reorder. What the sender puts on the wire is
//! recorded, so that a test can say that every byte arrived and was counted once.

#![allow(dead_code, reason = "each test file uses its own part of the support")]

pub mod flashpass;
pub mod narrow;
pub mod tcp;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use shallop_core::{BitsPerSec, Bytes, Class, Ecn, Pace, Seed, Span, Stream, Time};
use shallop_proto::{Endpoint, Nic, Out, settle};

/// What joins the two ends; the same in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub rate: BitsPerSec,
    pub delay: Span,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet takes up to `late` longer than its turn.
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

    /// A path from numbers that a property test draws: bits a second, us, probability of loss, probability of being
    /// late and by how many us at most, probability of a mark.
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

/// A packet as the wire saw it.
#[derive(Clone, Debug)]
pub struct Seen<H> {
    pub sent: Time,
    /// 0 for the sending end of the flow, 1 for the receiving one.
    pub from: usize,
    pub head: H,
    pub body: Range<u64>,
    pub class: Class,
    pub size: u16,
    pub lost: bool,
    /// When it arrives, or would have.
    pub arrives: Time,
    /// As it arrives, or would have.
    pub ecn: Ecn,
}

/// One end with its link.
struct Side<H> {
    /// How fast the link is; if there is none, packets take no time.
    pace: Option<Pace>,
    free_at: Time,
    waiting: bool,
    out: Vec<(Time, Out<H>)>,
}

impl<H> Side<H> {
    fn new(rate: Option<BitsPerSec>) -> Self {
        Self { pace: rate.map(Pace::new), free_at: Time::ZERO, waiting: false, out: vec![] }
    }

    /// How long a packet of so many bytes takes to pass the link.
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
    fn wait(&mut self, _now: Time, _may_wait: bool) {
        self.waiting = true;
    }
}

/// Decides the fate of a packet on the wire instead of chance: true loses it.
pub type Fate<H> = Box<dyn FnMut(&Seen<H>) -> bool>;

/// Where a packet is when a box in the path sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// It leaves this end.
    Leaves(usize),
    /// It comes to this end.
    Comes(usize),
}

/// A box in the path: it sees every packet that leaves an end, and every one that comes to one, and may rewrite it.
pub type Via<H> = Box<dyn FnMut(Time, Point, &mut H, &mut Ecn)>;

/// Two ends joined.
pub struct Pair<E: Endpoint> {
    pub now: Time,
    pub ends: [E; 2],
    sides: [Side<E::Head>; 2],
    pub path: Path,
    chance: Stream,
    fate: Option<Fate<E::Head>>,
    via: Option<Via<E::Head>>,
    /// Packets on the wire, by arrival and the order they were sent in.
    flying: BTreeMap<(Time, u64), (usize, E::Head, Ecn)>,
    order: u64,
    pub seen: Vec<Seen<E::Head>>,
}

impl<E: Endpoint> Pair<E> {
    /// The first end sends, the second receives.
    pub fn new(sender: E, receiver: E, path: Path, seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            ends: [sender, receiver],
            sides: [(); 2].map(|()| Side::new(Some(path.rate))),
            path,
            chance: Seed::new(seed).stream("pair", 0),
            fate: None,
            via: None,
            flying: BTreeMap::new(),
            order: 0,
            seen: vec![],
        }
    }

    /// Loses exactly the packets that `fate` says, instead of by chance.
    pub fn with_fate(mut self, fate: impl FnMut(&Seen<E::Head>) -> bool + 'static) -> Self {
        self.fate = Some(Box::new(fate));
        self
    }

    /// Puts a box in the path.
    pub fn with_via(
        mut self,
        via: impl FnMut(Time, Point, &mut E::Head, &mut Ecn) + 'static,
    ) -> Self {
        self.via = Some(Box::new(via));
        self
    }

    /// Runs until both ends are complete, nothing is left to happen, or `end`. Gives whether both are complete.
    pub fn run(&mut self, end: Time) -> bool {
        if self.now == Time::ZERO && self.order == 0 {
            self.ends[0].on_timer(Time::ZERO);
            self.speak(0);
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

    /// What the data packets that were not lost carried, merged into ranges.
    pub fn carried(&self) -> Vec<(u64, u64)> {
        let whole = |seen: &&Seen<E::Head>| seen.from == 0 && !seen.lost && !seen.body.is_empty();
        let mut bodies: Vec<_> =
            self.seen.iter().filter(whole).map(|seen| seen.body.clone()).collect();
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
        let arrival = self.flying.keys().next().map(|&(at, _)| at);
        let timers = self.ends.iter().filter_map(Endpoint::wakeup).min();
        let free = self.sides.iter().filter(|s| s.waiting).map(|s| s.free_at).min();
        [arrival, timers, free].into_iter().flatten().min()
    }

    /// Everything due now: arrivals first, then timers, then whoever waits for a link.
    fn step(&mut self) {
        while let Some(entry) = self.flying.first_entry().filter(|e| e.key().0 <= self.now) {
            let (to, mut head, mut ecn) = entry.remove();
            if let Some(via) = &mut self.via {
                via(self.now, Point::Comes(to), &mut head, &mut ecn);
            }
            self.ends[to].on_packet(self.now, &head, ecn);
            self.speak(to);
        }
        for side in 0..2 {
            if self.ends[side].wakeup().is_some_and(|at| at <= self.now) {
                self.ends[side].on_timer(self.now);
                self.speak(side);
            }
            if self.sides[side].waiting && self.sides[side].free_at <= self.now {
                self.sides[side].waiting = false;
                self.speak(side);
            }
        }
    }

    fn speak(&mut self, side: usize) {
        let wakeup = settle(&mut self.ends[side], self.now, &mut self.sides[side]);
        assert!(wakeup.is_none_or(|at| at >= self.now), "an end wakes up in the past");
        for (start, out) in std::mem::take(&mut self.sides[side].out) {
            self.fly(side, start, out);
        }
    }

    fn fly(&mut self, from: usize, start: Time, out: Out<E::Head>) {
        let Out { mut head, body, size, class, mut ecn } = out;
        if let Some(via) = &mut self.via {
            via(start, Point::Leaves(from), &mut head, &mut ecn);
        }
        let arrives = start;
        let mut seen =
            Seen { sent: start, from, head, body, class, size, lost: false, arrives, ecn };
        seen.lost = match &mut self.fate {
            Some(fate) => fate(&seen),
            None => self.chance.chance(self.path.loss),
        };
        if ecn == Ecn::Ect && self.chance.chance(self.path.mark) {
            ecn = Ecn::Ce;
        }
        seen.ecn = ecn;
        let mut arrival =
            start + Pace::new(self.path.rate).quote(Bytes::new(size.into())) + self.path.delay;
        if self.chance.chance(self.path.reorder) {
            arrival += self.path.late.scale(self.chance.unit());
        }
        seen.arrives = arrival;
        if !seen.lost {
            self.order += 1;
            self.flying.insert((arrival, self.order), (1 - from, seen.head, ecn));
        }
        self.seen.push(seen);
    }
}
