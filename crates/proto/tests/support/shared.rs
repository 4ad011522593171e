//! Flows through one queue: hosts hand over packets at once, the queue marks above a threshold and loses nothing, and
//! what leaves it is acknowledged over a path that only takes time. The packet in service is not in the queue, and one
//! that arrives counts itself, as in the switches.

use std::collections::{BTreeMap, VecDeque};

use shallop_control::any::{self, AnyWindow};
use shallop_core::{BitsPerSec, Bytes, Ecn, Pace, Span, Time};
use shallop_proto::tcp::{Config, Head, Receiver, Sender};
use shallop_proto::{Endpoint, Nic, Out, settle};

/// What all flows pass.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate: BitsPerSec,
    /// A round trip without the time that a packet takes on the link.
    pub delay: Span,
    /// Packets in the queue above which one that is capable is marked.
    pub mark: u32,
}

/// A packet joined the queue.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    pub at: Time,
    pub flow: usize,
    /// Packets that wait, this one included.
    pub queue: u32,
    pub marked: bool,
    pub size: u16,
}

enum Event {
    Start,
    Data(Head, Ecn),
    Ack(Head),
}

/// A link that is always free.
#[derive(Default)]
struct Free(Vec<Out<Head>>);

impl Nic<Head> for Free {
    fn meter(&mut self, _now: Time, out: Out<Head>) {
        self.0.push(out);
    }
    fn is_free(&mut self, _now: Time) -> bool {
        true
    }
    fn send(&mut self, _now: Time, out: Out<Head>) {
        self.0.push(out);
    }
    fn wait(&mut self, _now: Time, _may_wait: bool) {}
}

/// The flows, the link, and what joined its queue.
pub struct Shared {
    pub now: Time,
    pub link: Link,
    pub senders: Vec<Sender<AnyWindow>>,
    receivers: Vec<Receiver>,
    pace: Pace,
    free_at: Time,
    /// When what waits begins to leave.
    waiting: VecDeque<Time>,
    events: BTreeMap<(Time, u64), (usize, Event)>,
    order: u64,
    pub joined: Vec<Joined>,
}

impl Shared {
    /// Flows without end that start `apart`.
    pub fn new(
        config: &Config,
        control: &any::Config,
        flows: usize,
        apart: Span,
        link: Link,
    ) -> Self {
        let sender =
            |draw| Sender::new(config, control.build(&config.start(link.rate, draw)), None);
        let mut shared = Self {
            now: Time::ZERO,
            link,
            senders: (0..flows as u64).map(sender).collect(),
            receivers: (0..flows).map(|_| Receiver::new(config, None)).collect(),
            pace: Pace::new(link.rate),
            free_at: Time::ZERO,
            waiting: VecDeque::new(),
            events: BTreeMap::new(),
            order: 0,
            joined: vec![],
        };
        for flow in 0..flows {
            shared.plan(Time::after_start(apart * flow as u64), flow, Event::Start);
        }
        shared
    }

    fn plan(&mut self, at: Time, flow: usize, event: Event) {
        self.order += 1;
        self.events.insert((at, self.order), (flow, event));
    }

    /// Runs until `end`.
    pub fn run(&mut self, end: Time) {
        loop {
            let event = self.events.keys().next().map(|&(at, _)| at);
            let timers = (0..self.senders.len()).filter_map(|flow| {
                let ends = [self.senders[flow].wakeup(), self.receivers[flow].wakeup()];
                ends.into_iter().flatten().min().map(|at| (at, flow))
            });
            let timer = timers.min();
            let at = [event, timer.map(|(at, _)| at)].into_iter().flatten().min();
            let Some(now) = at.filter(|&at| at <= end) else { break };
            self.now = now;
            if event == Some(now) {
                self.step();
            } else if let Some((_, flow)) = timer {
                if self.senders[flow].wakeup().is_some_and(|at| at <= now) {
                    self.senders[flow].on_timer(now);
                }
                if self.receivers[flow].wakeup().is_some_and(|at| at <= now) {
                    self.receivers[flow].on_timer(now);
                }
                self.speak(flow);
            }
        }
        self.now = end;
    }

    fn step(&mut self) {
        let Some((_, (flow, event))) = self.events.pop_first() else { return };
        match event {
            Event::Start => self.senders[flow].on_timer(self.now),
            Event::Data(head, ecn) => self.receivers[flow].on_packet(self.now, &head, ecn),
            Event::Ack(head) => self.senders[flow].on_packet(self.now, &head, Ecn::NotEct),
        }
        self.speak(flow);
    }

    fn speak(&mut self, flow: usize) {
        let mut nic = Free::default();
        settle(&mut self.senders[flow], self.now, &mut nic);
        for out in nic.0.drain(..) {
            self.join(flow, &out);
        }
        settle(&mut self.receivers[flow], self.now, &mut nic);
        for out in nic.0 {
            self.plan(self.now + self.link.delay / 2, flow, Event::Ack(out.head));
        }
    }

    fn join(&mut self, flow: usize, out: &Out<Head>) {
        while self.waiting.front().is_some_and(|&start| start <= self.now) {
            self.waiting.pop_front();
        }
        let queue = self.waiting.len() as u32 + 1;
        let marked = queue > self.link.mark && out.ecn == Ecn::Ect;
        let start = self.free_at.max(self.now);
        self.waiting.push_back(start);
        self.free_at = start + self.pace.charge(Bytes::new(u64::from(out.size)));
        let ecn = if marked { Ecn::Ce } else { out.ecn };
        self.plan(self.free_at + self.link.delay / 2, flow, Event::Data(out.head, ecn));
        self.joined.push(Joined { at: self.now, flow, queue, marked, size: out.size });
    }

    /// What joined the queue since.
    pub fn since(&self, from: Time) -> impl Iterator<Item = &Joined> + Clone {
        let first = self.joined.partition_point(|joined| joined.at < from);
        self.joined[first..].iter()
    }

    /// The part of the link's time since `from` that it was busy.
    pub fn utilization(&self, from: Time) -> f64 {
        let carried: u64 = self.since(from).map(|joined| u64::from(joined.size)).sum();
        Pace::new(self.link.rate).quote(Bytes::new(carried)).ratio(self.now - from)
    }

    /// The least and the most that waited when a packet joined.
    pub fn queue(&self, from: Time) -> (u32, u32) {
        let queues = self.since(from).map(|joined| joined.queue);
        (queues.clone().min().unwrap_or(0), queues.max().unwrap_or(0))
    }
}
