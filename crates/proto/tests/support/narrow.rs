//! Several TCP flows, each with a fast link of its own, through one slow link with a buffer. The way back has no queue.
//! What waits before the slow link is known at all times.

use std::collections::BTreeMap;

use shallop_control::any::{self, AnyWindow};
use shallop_core::{BitsPerSec, Bytes, Ecn, Pace, Span, Time};
use shallop_proto::tcp::{Config, Head, Receiver, Sender, Tcp};
use shallop_proto::{Endpoint, settle};

use super::{Out, Side};

/// A flow, from when it starts.
pub struct Flow {
    pub ends: [Tcp<AnyWindow>; 2],
    pub start: Time,
    sides: [Side<Head>; 2],
    started: bool,
}

impl Flow {
    pub fn sender(&self) -> &Sender<AnyWindow> {
        match &self.ends[0] {
            Tcp::Sender(sender) => sender,
            Tcp::Receiver(_) => unreachable!("the first end of a flow sends"),
        }
    }

    /// Bytes that arrived.
    pub fn received(&self) -> u64 {
        self.ends[1].report().received
    }

    fn deadline(&self, side: usize) -> Option<Time> {
        if side == 0 && !self.started { Some(self.start) } else { self.ends[side].wakeup() }
    }
}

enum Event {
    /// A packet of this flow comes to the slow link.
    Queue(usize, Out<Head>),
    /// A packet comes to this end of this flow.
    Arrive(usize, usize, Out<Head>),
}

/// Whether a packet that comes to the slow link is lost.
pub type Fate = Box<dyn FnMut(Time, Bytes) -> bool>;

/// The slow link with its flows.
pub struct Narrow {
    pub now: Time,
    pub flows: Vec<Flow>,
    pub rate: BitsPerSec,
    /// One way.
    pub delay: Span,
    /// Room for what waits and is being sent.
    pub buffer: Bytes,
    pub drops: u64,
    /// Loses packets besides, by their time and size.
    pub fate: Option<Fate>,
    pace: Pace,
    free_at: Time,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    /// The integral of the time that what waits would take.
    area: f64,
    since: Time,
    most: Span,
}

impl Narrow {
    pub fn new(rate: BitsPerSec, delay: Span, buffer: Bytes) -> Self {
        Self {
            now: Time::ZERO,
            flows: vec![],
            rate,
            delay,
            buffer,
            drops: 0,
            fate: None,
            pace: Pace::new(rate),
            free_at: Time::ZERO,
            events: BTreeMap::new(),
            order: 0,
            area: 0.0,
            since: Time::ZERO,
            most: Span::ZERO,
        }
    }

    /// Adds a flow with a message of so many bytes, or without end.
    pub fn add(&mut self, config: &Config, control: &any::Config, start: Time, size: Option<u64>) {
        let window = control.build(&config.start(self.rate, self.flows.len() as u64));
        let sender = Tcp::Sender(Sender::new(config, window, size));
        let receiver = Tcp::Receiver(Receiver::new(config, size));
        let fast = BitsPerSec::at_least_one(self.rate.get() * 10);
        let link =
            || Side { pace: Pace::new(fast), free_at: Time::ZERO, waiting: false, out: vec![] };
        let (ends, sides) = ([sender, receiver], [link(), link()]);
        self.flows.push(Flow { ends, start, sides, started: false });
    }

    /// The shortest round trip of a full segment.
    pub fn base_rtt(&self) -> Span {
        let fast = Pace::new(BitsPerSec::at_least_one(self.rate.get() * 10));
        let frame = Bytes::new(1538);
        let there = fast.quote(frame) + self.pace.quote(frame);
        there + fast.quote(Bytes::new(84)) + self.delay * 2
    }

    /// Full segments that the path holds without a queue.
    pub fn product(&self) -> f64 {
        self.base_rtt().ratio(self.pace.quote(Bytes::new(1538)))
    }

    /// What waits or is being sent, in full frames.
    pub fn backlog(&self) -> f64 {
        let wait = self.free_at.saturating_since(self.now);
        wait.ratio(self.pace.quote(Bytes::new(1538)))
    }

    /// Begins to measure what waits anew.
    pub fn reset(&mut self) {
        self.pass(self.now);
        (self.area, self.since, self.most) = (0.0, self.now, Span::ZERO);
    }

    /// The mean and the largest backlog since, in full frames.
    pub fn waited(&self) -> (f64, f64) {
        let frame = self.pace.quote(Bytes::new(1538));
        let elapsed = (self.now - self.since).as_secs_f64();
        (self.area / elapsed / frame.as_secs_f64(), self.most.ratio(frame))
    }

    /// Runs until `end`; `watch` looks on after every event.
    pub fn run(&mut self, end: Time, mut watch: impl FnMut(&Self)) {
        while let Some(now) = self.next().filter(|&at| at <= end) {
            assert!(now >= self.now, "time runs backwards");
            self.pass(now);
            self.step();
            watch(self);
        }
        self.pass(self.now.max(end));
    }

    /// Time passes, and what waits becomes less.
    fn pass(&mut self, now: Time) {
        let wait = |at| self.free_at.saturating_since(at).as_secs_f64();
        let (before, after) = (wait(self.now), wait(now));
        self.area += (before * before - after * after) / 2.0;
        self.now = now;
    }

    fn next(&self) -> Option<Time> {
        let event = self.events.keys().next().map(|&(at, _)| at);
        let mut all = event;
        for flow in &self.flows {
            let free = flow.sides.iter().filter(|side| side.waiting).map(|side| side.free_at);
            let timers = (0..2).filter_map(|side| flow.deadline(side));
            all = all.into_iter().chain(free).chain(timers).min();
        }
        all
    }

    fn step(&mut self) {
        while let Some(entry) = self.events.first_entry().filter(|e| e.key().0 <= self.now) {
            match entry.remove() {
                Event::Queue(flow, out) => self.queue(flow, out),
                Event::Arrive(flow, side, out) => {
                    self.flows[flow].ends[side].on_packet(self.now, &out.head, Ecn::NotEct);
                    self.speak(flow, side);
                }
            }
        }
        for number in 0..self.flows.len() {
            for side in 0..2 {
                let flow = &mut self.flows[number];
                if flow.deadline(side).is_some_and(|at| at <= self.now) {
                    flow.started |= side == 0;
                    flow.ends[side].on_timer(self.now);
                    self.speak(number, side);
                }
                let link = &mut self.flows[number].sides[side];
                if link.waiting && link.free_at <= self.now {
                    link.waiting = false;
                    self.speak(number, side);
                }
            }
        }
    }

    fn speak(&mut self, number: usize, side: usize) {
        let flow = &mut self.flows[number];
        settle(&mut flow.ends[side], self.now, &mut flow.sides[side]);
        for (start, out) in std::mem::take(&mut flow.sides[side].out) {
            let passed = flow.sides[side].pace.quote(Bytes::new(u64::from(out.size)));
            self.order += 1;
            let (at, event) = if side == 0 {
                (start + passed, Event::Queue(number, out))
            } else {
                (start + passed + self.delay, Event::Arrive(number, 0, out))
            };
            self.events.insert((at, self.order), event);
        }
    }

    fn queue(&mut self, flow: usize, out: Out<Head>) {
        let size = Bytes::new(u64::from(out.size));
        let backlog = self.free_at.saturating_since(self.now);
        if self.fate.as_mut().is_some_and(|fate| fate(self.now, size)) {
            self.drops += 1;
            return;
        }
        if self.rate.bytes_in(backlog) + size > self.buffer {
            self.drops += 1;
            return;
        }
        self.free_at = self.free_at.max(self.now) + self.pace.charge(size);
        self.most = self.most.max(self.free_at - self.now);
        self.order += 1;
        let at = self.free_at + self.delay;
        self.events.insert((at, self.order), Event::Arrive(flow, 1, out));
    }
}
