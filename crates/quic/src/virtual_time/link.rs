//! One direction of a network: a bottleneck, which is the port of a simulated switch, a propagation delay, and faults.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use shallop_core::{
    BitsPerSec, BufferSize, Bytes, Class, Ecn, End, Envelope, NoProbe, Span, Stream, Time,
};
use shallop_proto::wire;
use shallop_switch::{Limit, Meter, Port, PortBuffer, PortConfig, QueueConfig, SelectiveDrop};

use crate::config::span;

/// The longest queue of emulation packets, in packets, and how many of them may be tagged.
const EMULATION_QUEUE: u32 = 8;
const TAGGED: u32 = 2;
/// The part of the rate at which emulation packets are served: for each of 84 bytes there is room for data of 1,538,
/// and for a credit and an acknowledgement of the other direction.
const EMULATION_SHARE: f64 = 84.0 / (1_538.0 + 3.0 * 84.0);
/// The longest queue of credits and acknowledgements, in packets.
const CREDIT_QUEUE: u32 = 256;
/// Queues by class, as switches have them: emulation packets, credits with acknowledgements, everything else.
const QUEUE_OF: [u8; Class::COUNT] = [2, 1, 2, 0, 1, 2, 2, 2];

/// A datagram on its way.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    /// DSCP and ECN.
    pub(super) tos: u8,
    pub(super) bytes: Vec<u8>,
}

impl Packet {
    pub(super) fn dscp(&self) -> u8 {
        self.tos >> 2
    }

    fn class(&self) -> Class {
        Class::of_dscp(self.dscp()).unwrap_or(Class::Data)
    }

    /// What a switch reads of it.
    fn envelope(&self) -> Envelope {
        let ecn = match self.tos % 4 {
            0 => Ecn::NotEct,
            _ => Ecn::Ect,
        };
        let size = wire::frame(self.bytes.len() as u64 + 28);
        Envelope { end: End::receiver(0), size, class: self.class(), ecn }
    }
}

/// What this direction of the network is like.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Of the bottleneck, bit/s.
    pub(super) rate: f64,
    pub(super) delay: Duration,
    /// The longest queue of data, in packets.
    pub(super) buffer: u32,
    /// The part of all packets, and of packets in the data queue, that is lost behind the bottleneck.
    pub(super) loss: f64,
    pub(super) data_loss: f64,
    /// The part of packets that arrive twice.
    pub(super) duplication: f64,
    /// The part of packets that are late by up to this much.
    pub(super) reordering: (f64, Duration),
    /// The longest UDP payload that passes, bytes.
    pub(super) mtu: usize,
    /// When nothing passes.
    pub(super) down: Option<Range<Instant>>,
    /// Packets with this DSCP do not pass.
    pub(super) blocked: Option<u8>,
    /// Packets lose their DSCP before the bottleneck, which then knows no classes.
    pub(super) is_erasing: bool,
    /// The bottleneck has a queue for emulation packets that does not meter them.
    pub(super) is_unmetered: bool,
    /// The longest queue of data, in packets, that takes what is not ECN-capable.
    pub(super) selective: Option<u32>,
}

impl Way {
    pub(super) fn new(rate: f64, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            buffer: 20,
            loss: 0.0,
            data_loss: 0.0,
            duplication: 0.0,
            reordering: (0.0, Duration::ZERO),
            mtu: 1_472,
            down: None,
            blocked: None,
            is_erasing: false,
            is_unmetered: false,
            selective: None,
        }
    }

    fn passes(&self, now: Instant, packet: &Packet) -> bool {
        let is_down = self.down.as_ref().is_some_and(|down| down.contains(&now));
        !is_down && packet.bytes.len() <= self.mtu && self.blocked != Some(packet.dscp())
    }
}

/// What became of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Drops {
    /// Data packets that found a full queue.
    pub(super) data: u64,
    /// Data before the first credit.
    pub(super) unscheduled: u64,
    pub(super) emulation: u64,
    pub(super) credits: u64,
    /// Packets lost to faults.
    pub(super) faults: u64,
}

/// Whether a packet is in the queue of data.
fn is_data(packet: &Packet) -> bool {
    QUEUE_OF[packet.class().index()] == 2
}

/// Somebody behind the bottleneck who sees every packet, and says what to send in addition.
pub(super) type Attacker = Box<dyn FnMut(&Packet) -> Vec<Packet>>;

/// One direction, with what is on its way: the port of a switch, and the faults behind it.
pub(super) struct Link {
    pub(super) way: Way,
    pub(super) drops: Drops,
    /// The port knows packets by their numbers.
    port: Port<u32>,
    buffer: PortBuffer,
    held: BTreeMap<u32, Packet>,
    start: Instant,
    flying: BTreeMap<(Instant, u64), Packet>,
    count: u64,
    random: Stream,
    pub(super) attacker: Option<Attacker>,
    /// The last packet of QUIC that has passed.
    pub(super) last: Option<Packet>,
    /// The receiver has a copy of data as soon as it is sent.
    pub(super) is_foreseen: bool,
}

/// The port of a bottleneck, and its memory.
fn port(way: &Way) -> (Port<u32>, PortBuffer) {
    let rate = BitsPerSec::at_least_one(way.rate as u64);
    let packets = |count| Limit::for_buffer(BufferSize::Packets(count), rate);
    let queue = |priority| QueueConfig { priority, ..QueueConfig::default() };
    let meter = Meter::new(rate.scale(EMULATION_SHARE), Bytes::new(u64::from(wire::MIN_FRAME)));
    let drop_above = |count| SelectiveDrop { above: packets(count) };
    let select = Some(drop_above(TAGGED));
    let meter = Some(meter).filter(|_| !way.is_unmetered);
    let emulation = QueueConfig { meter, select, ..queue(0) };
    let data = QueueConfig { select: way.selective.map(drop_above), ..queue(2) };
    let config = PortConfig {
        rate,
        delay: Span::ZERO,
        queues: vec![emulation, queue(1), data],
        queue_of: QUEUE_OF,
        impairment: None,
        changes: Vec::new(),
    };
    let own = vec![Some(packets(EMULATION_QUEUE)), Some(packets(CREDIT_QUEUE)), None];
    (Port::new(0, &config), PortBuffer::new(packets(way.buffer), own))
}

impl Link {
    pub(super) fn new(way: Way, start: Instant, random: Stream) -> Self {
        let (port, buffer) = port(&way);
        Self {
            way,
            drops: Drops::default(),
            port,
            buffer,
            held: BTreeMap::new(),
            start,
            flying: BTreeMap::new(),
            count: 0,
            random,
            attacker: None,
            last: None,
            is_foreseen: false,
        }
    }

    fn time(&self, now: Instant) -> Time {
        Time::after_start(span(now - self.start))
    }

    fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// A host sends a packet.
    pub(super) fn send(&mut self, now: Instant, mut packet: Packet) {
        if !self.way.passes(now, &packet) {
            self.drops.faults += 1;
            return;
        }
        if self.way.is_erasing {
            packet.tos &= 3;
        }
        let number = self.next_number();
        if self.is_foreseen && is_data(&packet) {
            self.flying.insert((now, number), packet.clone());
        }
        self.depart(now);
        let (time, cargo, envelope) = (self.time(now), number as u32, packet.envelope());
        let waiting = shallop_core::Packet { envelope, cargo };
        match self.port.enqueue(time, &waiting, &mut self.buffer, &mut NoProbe) {
            Ok(()) => drop(self.held.insert(cargo, packet)),
            Err(_) => match envelope.class {
                Class::Emulation => self.drops.emulation += 1,
                Class::Credit | Class::Ack => self.drops.credits += 1,
                Class::Unscheduled => self.drops.unscheduled += 1,
                _ => self.drops.data += 1,
            },
        }
    }

    /// Puts a packet behind the bottleneck.
    pub(super) fn inject(&mut self, at: Instant, packet: Packet) {
        let number = self.next_number();
        self.flying.insert((at + self.way.delay, number), packet);
    }

    /// The first packet that has arrived.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<Packet> {
        self.depart(now);
        let first = self.flying.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    /// When something happens next.
    pub(super) fn wakeup(&mut self) -> Option<Instant> {
        let start = self.start;
        let after =
            |at: Time| start + Duration::from_nanos(at.since_start().as_ps().div_ceil(1_000));
        let departure = self.port.deadline().map(after);
        let arrival = self.flying.first_key_value().map(|(key, _)| key.0);
        departure.into_iter().chain(arrival).min()
    }

    /// Takes what has left the bottleneck by now.
    fn depart(&mut self, now: Instant) {
        let time = self.time(now);
        self.port.catch_up(time, &mut self.buffer, &mut NoProbe);
        while let Some(cargo) = self.port.pop_arrived(time).map(|packet| packet.cargo) {
            if let Some(packet) = self.held.remove(&cargo) {
                self.fly(now, packet);
            }
        }
    }

    fn fly(&mut self, now: Instant, packet: Packet) {
        let lost = self.random.chance(self.way.loss)
            || is_data(&packet) && self.random.chance(self.way.data_loss);
        if lost {
            self.drops.faults += 1;
            return;
        }
        if packet.bytes[0] >= 64 {
            self.last = Some(packet.clone());
        }
        let more = self.attacker.as_mut().map(|attacker| attacker(&packet));
        for forged in more.into_iter().flatten() {
            self.inject(now, forged);
        }
        let (late, most) = self.way.reordering;
        let late = if self.random.chance(late) {
            most.mul_f64(self.random.unit())
        } else {
            Duration::ZERO
        };
        if self.random.chance(self.way.duplication) {
            self.inject(now, packet.clone());
        }
        self.inject(now + late, packet);
    }
}
