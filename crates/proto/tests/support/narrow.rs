//! Several TCP flows through one slow link with a buffer, which marks above a threshold. Each has a fast link of its
//! own, or hands its packets over at once. The way back has no queue. What waits before the slow link is known at all
//! times, and what joined the queue is kept.

use std::collections::{BTreeMap, VecDeque};

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
    /// A packet of this flow, sent at this time, comes to the slow link.
    Queue(usize, Time, Out<Head>),
    /// A packet comes to this end of this flow.
    Arrive(usize, usize, Head, Ecn),
}

/// A packet joined the queue.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    pub sent: Time,
    pub at: Time,
    /// When the slow link is through with it.
    pub leaves: Time,
    pub flow: usize,
    /// Packets that wait, this one included, without the one that is being sent, as in the switches.
    pub queue: u32,
    pub marked: bool,
    pub size: u16,
}

/// Whether a packet that comes to the slow link is lost.
pub type Fate = Box<dyn FnMut(Time, Bytes) -> bool>;

/// A slow link that hosts reach at once.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate: BitsPerSec,
    /// A round trip without the time that a packet takes on the link.
    pub delay: Span,
    /// As [`Narrow::mark`].
    pub mark: u32,
}

/// The slow link with its flows.
pub struct Narrow {
    pub now: Time,
    pub flows: Vec<Flow>,
    pub rate: BitsPerSec,
    /// One way.
    pub delay: Span,
    /// Room for what waits and is being sent.
    pub buffer: Bytes,
    /// A packet that makes more than this wait is marked, if it is capable.
    pub mark: u32,
    /// Rate of each flow's own links; if there are none, packets are where they go to at once.
    pub hosts: Option<BitsPerSec>,
    pub drops: u64,
    pub joined: Vec<Joined>,
    /// Loses packets besides, by their time and size.
    pub fate: Option<Fate>,
    pace: Pace,
    free_at: Time,
    /// When what waits begins to leave.
    waiting: VecDeque<Time>,
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
            mark: u32::MAX,
            hosts: Some(BitsPerSec::at_least_one(rate.get() * 10)),
            drops: 0,
            joined: vec![],
            fate: None,
            pace: Pace::new(rate),
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            events: BTreeMap::new(),
            order: 0,
            area: 0.0,
            since: Time::ZERO,
            most: Span::ZERO,
        }
    }

    /// This link with room for everything, and hosts that have no links.
    pub fn at_once(link: Link) -> Self {
        let slow = Self::new(link.rate, link.delay / 2, Bytes::MAX);
        Self { mark: link.mark, hosts: None, ..slow }
    }

    /// Adds flows without end that start `apart`.
    pub fn add_each(&mut self, config: &Config, control: &any::Config, flows: usize, apart: Span) {
        for flow in 0..flows as u64 {
            self.add(config, control, Time::after_start(apart * flow), None);
        }
    }

    /// Adds a flow with a message of so many bytes, or without end.
    pub fn add(&mut self, config: &Config, control: &any::Config, start: Time, size: Option<u64>) {
        let window = control.build(&config.start(self.rate, self.flows.len() as u64));
        let sender = Tcp::Sender(Sender::new(config, window, size));
        let receiver = Tcp::Receiver(Receiver::new(config, size));
        let (ends, sides) = ([sender, receiver], [(); 2].map(|()| Side::new(self.hosts)));
        self.flows.push(Flow { ends, start, sides, started: false });
    }

    /// The shortest round trip of a full segment.
    pub fn base_rtt(&self) -> Span {
        let fast = |size| self.hosts.map_or(Span::ZERO, |rate| Pace::new(rate).quote(size));
        let frame = Bytes::new(1538);
        fast(frame) + self.pace.quote(frame) + fast(Bytes::new(84)) + self.delay * 2
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

    /// What joined the queue since.
    pub fn since(&self, from: Time) -> impl Iterator<Item = &Joined> + Clone {
        let first = self.joined.partition_point(|joined| joined.at < from);
        self.joined[first..].iter()
    }

    /// The part of the slow link's time since `from` that it was busy.
    pub fn utilization(&self, from: Time) -> f64 {
        let carried: u64 = self.since(from).map(|joined| u64::from(joined.size)).sum();
        self.pace.quote(Bytes::new(carried)).ratio(self.now - from)
    }

    /// The least and the most that waited when a packet joined.
    pub fn queue(&self, from: Time) -> (u32, u32) {
        let queues = self.since(from).map(|joined| joined.queue);
        (queues.clone().min().unwrap_or(0), queues.max().unwrap_or(0))
    }

    /// Runs until `end`.
    pub fn run(&mut self, end: Time) {
        self.watch(end, |_| ());
    }

    /// Runs until `end`; `watch` looks on after every event.
    pub fn watch(&mut self, end: Time, mut watch: impl FnMut(&Self)) {
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
                Event::Queue(flow, sent, out) => self.join(flow, sent, &out),
                Event::Arrive(flow, side, head, ecn) => {
                    self.flows[flow].ends[side].on_packet(self.now, &head, ecn);
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
            let passed = start + self.flows[number].sides[side].takes(out.size);
            if side == 1 {
                self.plan(passed + self.delay, Event::Arrive(number, 0, out.head, out.ecn));
            } else if passed > self.now {
                self.plan(passed, Event::Queue(number, start, out));
            } else {
                self.join(number, start, &out);
            }
        }
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), event);
    }

    fn join(&mut self, flow: usize, sent: Time, out: &Out<Head>) {
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
        while self.waiting.front().is_some_and(|&start| start <= self.now) {
            self.waiting.pop_front();
        }
        let queue = self.waiting.len() as u32 + 1;
        let marked = queue > self.mark && out.ecn == Ecn::Ect;
        let start = self.free_at.max(self.now);
        self.waiting.push_back(start);
        self.free_at = start + self.pace.charge(size);
        self.most = self.most.max(self.free_at - self.now);
        let ecn = if marked { Ecn::Ce } else { out.ecn };
        let (at, leaves) = (self.now, self.free_at);
        self.joined.push(Joined { sent, at, leaves, flow, queue, marked, size: out.size });
        self.plan(leaves + self.delay, Event::Arrive(flow, 1, out.head, ecn));
    }
}
