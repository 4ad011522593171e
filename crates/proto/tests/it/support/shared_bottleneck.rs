//! Several TCP flows that share a bottleneck with a buffer and a marking threshold. Each flow has a fast access link,
//! or none. The return path has no queue. The backlog of the bottleneck is known at any time, and every enqueued packet
//! is recorded.

use super::{Out, PAYLOAD, Side};
use shallop_control::any::{self, AnyWindow};
use shallop_core::{BitsPerSec, Bytes, Ecn, Pace, Span, Time};
use shallop_proto::tcp::{Config, Head, Receiver, Sender, Tcp};
use shallop_proto::{Endpoint, settle};
use std::collections::{BTreeMap, VecDeque};

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

    pub fn received(&self) -> u64 {
        self.ends[1].counters().received
    }

    fn deadline(&self, side: usize) -> Option<Time> {
        if side == 0 && !self.started { Some(self.start) } else { self.ends[side].wakeup() }
    }
}

enum Event {
    /// A packet arrives at the bottleneck: flow, send time, packet.
    Queue(usize, Time, Out<Head>),
    /// A packet arrives at an endpoint: flow, endpoint, header, ECN.
    Arrive(usize, usize, Head, Ecn),
}

#[derive(Clone, Copy, Debug)]
pub struct Enqueued {
    pub sent: Time,
    pub at: Time,
    pub leaves: Time,
    /// Queue length in packets, with this packet and without the one in service, as in switches.
    pub queue: u32,
    pub marked: bool,
    pub size: u16,
}

/// Drops packets at the bottleneck by time and size.
pub type DropRule = Box<dyn FnMut(Time, Bytes) -> bool>;

/// The parameters of a bottleneck without access links.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate: BitsPerSec,
    /// The round-trip time without transmission times.
    pub delay: Span,
    /// Marking threshold ([`SharedBottleneck::mark`]).
    pub mark: u32,
}

pub struct SharedBottleneck {
    pub now: Time,
    pub flows: Vec<Flow>,
    pub rate: BitsPerSec,
    pub delay: Span,
    pub buffer: Bytes,
    /// The marking threshold: ECN-capable packets are marked if the queue is longer than this.
    pub mark: u32,
    /// Rate of access links; `None` if packets arrive at once.
    pub hosts: Option<BitsPerSec>,
    pub drops: u64,
    pub enqueued: Vec<Enqueued>,
    pub drop_rule: Option<DropRule>,
    pace: Pace,
    free_at: Time,
    /// Start of transmission of each queued packet.
    waiting: VecDeque<Time>,
    events: BTreeMap<(Time, u64), Event>,
    order: u64,
    /// Integral of the backlog over time, as transmission time.
    area: f64,
    since: Time,
    most: Span,
}

impl SharedBottleneck {
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
            enqueued: vec![],
            drop_rule: None,
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

    /// A bottleneck with an unlimited buffer, and without access links.
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

    /// Adds a flow of `size` bytes, or without end.
    pub fn add(&mut self, config: &Config, control: &any::Config, start: Time, size: Option<u64>) {
        let window = control.build(&config.start(self.rate, self.flows.len() as u64));
        let sender = Tcp::sender(Sender::new(config, window, size));
        let receiver = Tcp::receiver(Receiver::new(config, size));
        let (ends, sides) = ([sender, receiver], [(); 2].map(|()| Side::new(self.hosts)));
        self.flows.push(Flow { ends, start, sides, started: false });
    }

    /// The shortest round trip of a full segment.
    pub fn base_rtt(&self) -> Span {
        let fast = |size| self.hosts.map_or(Span::ZERO, |rate| Pace::new(rate).quote(size));
        let frame = Bytes::new(1538);
        fast(frame) + self.pace.quote(frame) + fast(Bytes::new(84)) + self.delay * 2
    }

    /// The bandwidth-delay product, in full segments.
    pub fn product(&self) -> f64 {
        self.base_rtt().ratio(self.pace.quote(Bytes::new(1538)))
    }

    pub fn backlog(&self) -> f64 {
        let wait = self.free_at.saturating_since(self.now);
        wait.ratio(self.pace.quote(Bytes::new(1538)))
    }

    /// Restarts the measurement of the backlog.
    pub fn reset(&mut self) {
        self.advance(self.now);
        (self.area, self.since, self.most) = (0.0, self.now, Span::ZERO);
    }

    /// The mean and the maximum of the backlog since then, in full frames.
    pub fn backlog_since_reset(&self) -> (f64, f64) {
        let frame = self.pace.quote(Bytes::new(1538));
        let elapsed = (self.now - self.since).as_secs_f64();
        (self.area / elapsed / frame.as_secs_f64(), self.most.ratio(frame))
    }

    pub fn since(&self, from: Time) -> impl Iterator<Item = &Enqueued> + Clone {
        let first = self.enqueued.partition_point(|enqueued| enqueued.at < from);
        self.enqueued[first..].iter()
    }

    pub fn utilization(&self, from: Time) -> f64 {
        let carried: u64 = self.since(from).map(|enqueued| u64::from(enqueued.size)).sum();
        self.pace.quote(Bytes::new(carried)).ratio(self.now - from)
    }

    /// Runs until `end`. Returns the part of the bottleneck, 0 to 1, that the payload of each flow took until then, and
    /// measures the backlog anew.
    pub fn run_shares(&mut self, end: Time) -> Vec<f64> {
        let received = |bench: &Self| bench.flows.iter().map(Flow::received).collect::<Vec<_>>();
        let (begin, before) = (self.now, received(self));
        self.reset();
        self.run(end);
        let carried = BitsPerSec::at_least_one(self.rate.get() * PAYLOAD / 1538);
        let all = carried.bytes_in(end - begin);
        let after = received(self).into_iter().zip(before);
        after.map(|(after, before)| Bytes::new(after - before).ratio(all)).collect()
    }

    pub fn controller(&self, flow: usize) -> &AnyWindow {
        self.flows[flow].sender().controller()
    }

    /// The shortest and the longest queue at an enqueue.
    pub fn queue(&self, from: Time) -> (u32, u32) {
        let queues = self.since(from).map(|enqueued| enqueued.queue);
        (queues.clone().min().unwrap_or(0), queues.max().unwrap_or(0))
    }

    pub fn run(&mut self, end: Time) {
        self.watch(end, |_| ());
    }

    /// Runs until `end`, and calls `watch` after every event.
    pub fn watch(&mut self, end: Time, mut watch: impl FnMut(&Self)) {
        while let Some(now) = self.next().filter(|&at| at <= end) {
            assert!(now >= self.now, "time runs backwards");
            self.advance(now);
            self.step();
            watch(self);
        }
        self.advance(self.now.max(end));
    }

    fn advance(&mut self, now: Time) {
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
        if self.drop_rule.as_mut().is_some_and(|drops| drops(self.now, size)) {
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
        self.enqueued.push(Enqueued { sent, at, leaves, queue, marked, size: out.size });
        self.plan(leaves + self.delay, Event::Arrive(flow, 1, out.head, ecn));
    }
}
