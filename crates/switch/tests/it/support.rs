//! A port under test with its memory and a record of what its probe is told.

use shallop_core::{BitsPerSec, BufferSize, Bytes, Class, DropCause, Ecn, End, Envelope, Packet, Probe, QueueId};
use shallop_core::{Seed, Share, Span, Time};
use shallop_options::{At, Entry, Item, RawValue, Section, StringEnum};
use shallop_switch::{
    Aqm, AqmOptions, AqmPort, Discipline, Fate, FifoConfig, FrameAggregation, Impairment, Limit, LinkChange, MarkAt,
    MarkThreshold, Meter, Outage, Pool, PoolConfig, PoolMember, PoolQuota, PooledBuffer, Port, PortBuffer, PortConfig,
    QueueConfig, RedConfig, SelectiveDrop, Signals, Spacing,
};
use std::str::FromStr;

/// All calls of the probe, in order.
#[derive(Default, Debug, PartialEq)]
pub struct Trace {
    pub drops: Vec<(Time, u8, Envelope, DropCause)>,
    pub marks: Vec<(Time, Envelope)>,
    pub sent: Vec<(Time, Envelope)>,
    pub lengths: Vec<(Time, u8, Bytes)>,
}

impl Trace {
    pub fn longest(&self) -> Bytes {
        self.lengths.iter().map(|it| it.2).max().unwrap_or_default()
    }
}

impl Probe for Trace {
    fn on_queue(&mut self, now: Time, at: QueueId, held: Bytes) {
        self.lengths.push((now, at.queue, held));
    }
    fn on_drop(&mut self, now: Time, at: QueueId, packet: &Envelope, why: DropCause) {
        self.drops.push((now, at.queue, *packet, why));
    }
    fn on_mark(&mut self, now: Time, _: QueueId, packet: &Envelope) {
        assert_ne!(packet.ecn, Ecn::NotEct);
        self.marks.push((now, *packet));
    }
    fn on_send(&mut self, now: Time, _: u32, packet: &Envelope) {
        self.sent.push((now, *packet));
    }
}

/// An arrival at the other end of the wire: its time, the packet, and what the wire did to it.
pub type Arrival = (Time, Packet<u32>, Fate);

pub struct Bench {
    pub port: Port<u32>,
    pub buffer: PortBuffer,
    pub pool: Option<Pool>,
    pub probe: Trace,
}

impl Bench {
    pub fn catch_up(&mut self, now: Time) {
        let Self { port, buffer, pool, probe } = self;
        match pool {
            Some(pool) => port.catch_up(now, &mut PooledBuffer { buffer, pool }, probe),
            None => port.catch_up(now, buffer, probe),
        }
    }

    pub fn offer(&mut self, now: Time, packet: &Packet<u32>) -> Result<(), DropCause> {
        let Self { port, buffer, pool, probe } = self;
        match pool {
            Some(pool) => port.enqueue(now, packet, &mut PooledBuffer { buffer, pool }, probe),
            None => port.enqueue(now, packet, buffer, probe),
        }
    }

    /// Runs the port on its deadlines up to `end`. Returns the arrivals at the other end of the wire.
    pub fn drain_until(&mut self, end: Time) -> Vec<Arrival> {
        let (mut arrivals, mut last) = (vec![], Time::ZERO);
        while let Some(due) = self.port.deadline().filter(|&due| due <= end) {
            assert!(due >= last, "deadlines do not run backwards");
            last = due;
            self.catch_up(due);
            while let Some(packet) = self.port.pop_arrived(due).copied() {
                arrivals.push((due, packet, self.port.draw_fate(due, &packet.envelope, &mut self.probe)));
            }
        }
        arrivals
    }

    /// Runs the port on its deadlines until it is empty.
    pub fn drain(&mut self) -> Vec<Arrival> {
        self.drain_until(Time::LAST)
    }

    pub fn held(&self) -> Bytes {
        self.pool.as_ref().map_or(Bytes::ZERO, Pool::held)
    }
}

pub fn packet(class: Class, size: u16, ecn: Ecn, cargo: u32) -> Packet<u32> {
    Packet { envelope: Envelope { end: End(0), size, class, ecn }, cargo }
}

/// A word as a value of this type.
pub fn value<T: FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("not a value: {word:?}"))
}

pub fn time(word: &str) -> Time {
    Time::after_start(value(word))
}

fn limit(word: &str) -> Limit {
    Limit::for_buffer(value(word), BitsPerSec::gbps(1))
}

/// The class of this name.
pub fn class(word: &str) -> Option<Class> {
    Class::ALL.into_iter().find(|class| class.name() == word)
}

/// Keys and values of words like `key=value`; a word alone has no value.
fn pairs(words: &str) -> impl Iterator<Item = (&str, &str)> {
    words.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, "")))
}

/// `BYTES@enqueue` or `BYTES@dequeue`, and behind `/` which packets are marked and dropped.
fn red(word: &str) -> RedConfig {
    let (step, signals) = word.split_once('/').unwrap_or((word, "mark"));
    let (threshold, at) = step.split_once('@').unwrap_or((step, "enqueue"));
    let signals = match signals {
        "mark" => Signals::Mark,
        "mark-or-drop" => Signals::MarkOrDrop,
        _ => Signals::DropAll,
    };
    let (min_threshold, max_threshold) = (value(threshold), value(threshold));
    let (max_probability, average, spacing) = (1.0, None, Spacing::Independent);
    let (at, stream) = (MarkAt::from_word(at).expect("a time of marks"), Seed::new(1).stream("red", 0));
    RedConfig { min_threshold, max_threshold, max_probability, at, signals, average, spacing, stream }
}

/// The discipline of this name with options as in scenarios.
fn discipline(name: &str, given: &[(&str, &str)], mtu: Bytes) -> Discipline {
    let entry = |(key, value): (&str, RawValue)| {
        (key.to_owned(), Entry { key: At::default(), item: Item { value, at: At::default() } })
    };
    let raw = |text: &str| {
        let number = || text.parse().map(RawValue::Float).or_else(|_| text.parse().map(RawValue::Boolean));
        let integer = text.parse().map(RawValue::Integer);
        integer.or_else(|_| number()).unwrap_or_else(|_| RawValue::Text(text.to_owned()))
    };
    let own = given.iter().map(|&(key, text)| entry((key, raw(text)))).collect();
    let own = (name.replace('-', "_"), RawValue::Table(own));
    let all = [("aqm", RawValue::Text(name.to_owned())), (&own.0, own.1.clone())];
    let item = Item { value: RawValue::Table(all.map(entry).into()), at: At::default() };
    let keys = <AqmOptions as shallop_options::Options>::keys();
    let section = Section::with_keys("a switch".to_owned(), keys, &item).expect("keys of a switch");
    let aqm = Aqm::read(&section).unwrap_or_else(|why| panic!("{name}: {why}")).expect("a discipline");
    Discipline::Aqm(aqm, AqmPort { mtu, stream: Seed::new(1).stream("aqm", 0) })
}

/// A queue, the limit of its own, and the classes that join it.
fn queue(words: &str, rate: BitsPerSec) -> (QueueConfig, Option<Limit>, Vec<Class>) {
    let (mut queue, mut fifo, mut own, mut classes) = (QueueConfig::default(), FifoConfig::default(), None, vec![]);
    let (mut aqm, mut given, mut mtu) = (None, vec![], Bytes::new(1538));
    for (key, word) in pairs(words) {
        let (one, other) = word.split_once(['/', '@']).unwrap_or((word, ""));
        match key {
            "priority" => queue.priority = value(word),
            "weight" => queue.weight = value(word),
            "own" => own = Some(limit(word)),
            // Credits and the data that they allow fill the link.
            "credits" => {
                let share = Share::of(Bytes::new(84), Bytes::new(1538)).expect("a share");
                queue.meter = Some(Meter::new(rate.share(share), Bytes::new(168)));
            }
            "meter" => queue.meter = Some(Meter::new(value(one), value(other))),
            "select" => queue.select = Some(SelectiveDrop { above: limit(word) }),
            "reached" => queue.select_reached = true,
            "mark" => fifo.mark = MarkAt::from_word(other).map(|at| MarkThreshold { above: limit(one), at }),
            "red" => fifo.red.push(red(word)),
            "frames" => queue.aggregate = Some(FrameAggregation { overhead: value(one), max_bytes: value(other) }),
            "aqm" => aqm = Some(word),
            "mtu" => mtu = value(word),
            _ => match class(key) {
                Some(class) => classes.push(class),
                None => given.push((key, word)),
            },
        }
    }
    assert!(aqm.is_some() || given.is_empty(), "{given:?}");
    queue.discipline = aqm.map_or(Discipline::Fifo(fifo), |name| discipline(name, &given, mtu));
    (queue, own, classes)
}

/// The impairments of a wire.
fn wire(words: &str) -> Impairment {
    let mut wire = Impairment::none(Seed::new(1).stream("wire", 0));
    for (key, word) in pairs(words) {
        match key {
            "loss" => wire.loss = value(word),
            "duplicates" => wire.duplicates = value(word),
            "jitter" => wire.jitter = value(word),
            "reordering" => {
                let (part, delay) = word.split_once('/').expect("a part and a delay");
                (wire.reordering, wire.reordering_delay) = (value(part), value(delay));
            }
            "outage" => {
                let times: Vec<Span> = word.split('/').map(value).collect();
                let (from, every) = (Time::after_start(times[0]), times.get(2).copied());
                wire.outages.push(Outage { from, lasts: times[1], every });
            }
            _ => panic!("{key:?} is no impairment"),
        }
    }
    wire
}

/// A pool of this size that the port has to itself, with an alpha for all queues; another port holds `held` bytes.
fn pool(words: &str, own: Vec<Option<Limit>>) -> (Pool, PortBuffer) {
    let (mut alpha, mut held) = (1.0, Bytes::ZERO);
    let mut config = PoolConfig { size: Bytes::ZERO, cell: Bytes::new(1), red: None };
    for (key, word) in pairs(words) {
        match key {
            "alpha" => alpha = value(word),
            "red" => config.red = Some(red(word)),
            "held" => held = value(word),
            _ => config.size = value(key),
        }
    }
    let buffer = |index, own: Vec<Option<Limit>>| {
        let quotas = vec![PoolQuota { alpha, limit: None, private: Bytes::ZERO }; own.len()];
        PortBuffer::pooled(PoolMember { pool: 0, index }, own, &quotas)
    };
    let mut pool = Pool::new(&config, 2);
    if held > Bytes::ZERO {
        let (mut buffer, pool) = (buffer(1, vec![None]), &mut pool);
        let memory = &mut PooledBuffer { buffer: &mut buffer, pool };
        shallop_switch::Buffer::store(memory, Time::ZERO, 0, <_>::default(), held).expect("there is room");
    }
    (pool, buffer(0, own))
}

/// The port that these lines describe: 10 Gb/s, a wire of 1 us and a buffer of 10 MB, unless they say otherwise.
/// Packets of classes that no queue names join the first queue without names.
pub fn bench(lines: &str) -> Bench {
    let mut config = PortConfig::new(BitsPerSec::gbps(10), Span::from_us(1), vec![]);
    let (mut buffer, mut shared, mut own, mut classes) = ("10MB", None, vec![], vec![]);
    for (verb, words) in lines.lines().map(|line| line.split_once(' ').unwrap_or((line, ""))) {
        let (first, second) = words.split_once(' ').unwrap_or((words, ""));
        match verb {
            "link" => (config.rate, config.delay) = (value(first), value(second)),
            "buffer" => buffer = words,
            "pool" => shared = Some(words),
            "wire" => config.impairment = Some(wire(words)),
            "pause" => {
                let (rate, delay) = (None, None);
                config.changes.push(LinkChange { at: time(first), rate, delay, hold: time(second) });
            }
            "change" => {
                let (rate, delay) = second.split_once(' ').map_or((second, None), |(rate, it)| (rate, Some(value(it))));
                let (at, rate, hold) = (time(first), Some(value(rate)), Time::ZERO);
                config.changes.push(LinkChange { at, rate, delay, hold });
            }
            "queue" => {
                let (one, limit, names) = queue(words, config.rate);
                config.queues.push(one);
                own.push(limit);
                classes.push(names);
            }
            _ => panic!("{verb:?} is no property of a port"),
        }
    }
    let plain = classes.iter().position(Vec::is_empty).unwrap_or_default();
    let of = |class| classes.iter().position(|names| names.contains(&class)).unwrap_or(plain) as u8;
    config.queue_of = Class::ALL.map(of);
    let (pool, buffer) = match shared {
        Some(words) => {
            let (pool, buffer) = pool(words, own);
            (Some(pool), buffer)
        }
        None => (None, PortBuffer::new(Limit::for_buffer(value::<BufferSize>(buffer), config.rate), own)),
    };
    Bench { port: Port::new(0, &config), buffer, pool, probe: Trace::default() }
}
