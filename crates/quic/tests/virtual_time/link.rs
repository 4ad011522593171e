//! A link in one direction: the port of a simulated switch as the bottleneck, a propagation delay, and faults.

use shallop_core::{BitsPerSec, BufferSize, Bytes, Class, Ecn, End, Envelope, NoProbe, Span, Stream, Time};
use shallop_proto::wire;
use shallop_switch::{Limit, Meter, Port, PortBuffer, PortConfig, QueueConfig, SelectiveDrop};
use std::time::{Duration, Instant};
use std::{collections::BTreeMap, net::SocketAddr, ops::Range};

/// The length of the queue of emulation packets, and the length from which tagged packets are dropped, packets.
const EMULATION_QUEUE: u32 = 8;
const TAGGED: u32 = 2;
/// The rate of the emulation meter as a fraction of the link rate: each emulation packet of 84 bytes leaves room for a
/// data packet of 1,538 bytes, and for a credit and an acknowledgement of the other direction.
const EMULATION_SHARE: f64 = 84.0 / (1_538.0 + 3.0 * 84.0);
/// The length of the queue of credits and acknowledgements, packets.
const CREDIT_QUEUE: u32 = 256;
/// The queue of each class: 0 for emulation packets, 1 for credits and acknowledgements, 2 for data and the rest.
const QUEUE_OF: [u8; Class::COUNT] = [2, 1, 2, 0, 1, 2, 2, 2];

/// A UDP datagram on the link.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    /// The DSCP (upper 6 bits) and ECN (lower 2 bits).
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

    /// The headers that a switch reads.
    fn envelope(&self) -> Envelope {
        let ecn = match self.tos % 4 {
            0 => Ecn::NotEct,
            _ => Ecn::Ect,
        };
        let size = wire::frame(self.bytes.len() as u64 + 28);
        Envelope { end: End::receiver(0), size, class: self.class(), ecn }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct LinkConfig {
    /// The rate of the bottleneck, bit/s.
    pub(super) rate: f64,
    pub(super) delay: Duration,
    /// The length of the data queue, packets.
    pub(super) buffer: u32,
    /// The fractions of all packets, and of packets of the data queue, that are lost after the bottleneck.
    pub(super) loss: f64,
    pub(super) data_loss: f64,
    /// The fraction of packets that are duplicated.
    pub(super) duplication: f64,
    /// The fraction of packets that are delayed, and their longest additional delay.
    pub(super) reordering: (f64, Duration),
    /// The longest UDP payload that passes, bytes.
    pub(super) mtu: usize,
    /// The time in which the link is interrupted.
    pub(super) down: Option<Range<Instant>>,
    /// Packets with this DSCP are dropped.
    pub(super) blocked: Option<u8>,
    /// The DSCP is set to 0 before the bottleneck.
    pub(super) is_erasing: bool,
    /// The ECN field is set to 0 before the bottleneck.
    pub(super) clears_ecn: bool,
    /// Emulation packets have a queue without a meter.
    pub(super) is_unmetered: bool,
    /// The depth of the emulation meter's bucket, packets. Tokens that arrive while a data packet holds the link are
    /// lost if the bucket holds one packet.
    pub(super) emulation_burst: u32,
    /// The length of the data queue from which packets that are not ECN-capable are dropped, packets.
    pub(super) selective: Option<u32>,
}

impl LinkConfig {
    pub(super) fn new(rate: f64, delay: Duration) -> Self {
        Self { rate, delay, buffer: 20, mtu: 1_472, emulation_burst: 1, ..Self::default() }
    }

    fn passes(&self, now: Instant, packet: &Packet) -> bool {
        let is_down = self.down.as_ref().is_some_and(|down| down.contains(&now));
        !is_down && packet.bytes.len() <= self.mtu && self.blocked != Some(packet.dscp())
    }
}

/// Counts of dropped packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Drops {
    /// Packets dropped by the queues, by class.
    pub(super) data: u64,
    pub(super) unscheduled: u64,
    pub(super) emulation: u64,
    pub(super) credits: u64,
    pub(super) faults: u64,
}

/// Whether a packet belongs to the data queue.
fn is_data(packet: &Packet) -> bool {
    QUEUE_OF[packet.class().index()] == 2
}

/// An attacker after the bottleneck, who sees every packet and returns packets to inject.
pub(super) type Attacker = Box<dyn FnMut(&Packet) -> Vec<Packet>>;

pub(super) struct Link {
    pub(super) config: LinkConfig,
    pub(super) drops: Drops,
    /// The port holds the numbers of packets.
    port: Port<u32>,
    buffer: PortBuffer,
    held: BTreeMap<u32, Packet>,
    start: Instant,
    flying: BTreeMap<(Instant, u64), Packet>,
    count: u64,
    random: Stream,
    pub(super) attacker: Option<Attacker>,
    pub(super) last: Option<Packet>,
    /// The receiver gets a copy of each data packet at once.
    pub(super) is_foreseen: bool,
}

fn port(config: &LinkConfig) -> (Port<u32>, PortBuffer) {
    let rate = BitsPerSec::at_least_one(config.rate as u64);
    let packets = |count| Limit::for_buffer(BufferSize::Packets(count), rate);
    let queue = |priority| QueueConfig { priority, ..QueueConfig::default() };
    let burst = Bytes::new(u64::from(config.emulation_burst) * u64::from(wire::MIN_FRAME));
    let meter = Meter::new(rate.scale(EMULATION_SHARE), burst);
    let drop_above = |count| SelectiveDrop { above: packets(count) };
    let select = Some(drop_above(TAGGED));
    let meter = Some(meter).filter(|_| !config.is_unmetered);
    let emulation = QueueConfig { meter, select, ..queue(0) };
    let data = QueueConfig { select: config.selective.map(drop_above), ..queue(2) };
    let port = PortConfig {
        rate,
        delay: Span::ZERO,
        queues: vec![emulation, queue(1), data],
        queue_of: QUEUE_OF,
        impairment: None,
        changes: Vec::new(),
    };
    let own = vec![Some(packets(EMULATION_QUEUE)), Some(packets(CREDIT_QUEUE)), None];
    (Port::new(0, &port), PortBuffer::new(packets(config.buffer), own))
}

impl Link {
    pub(super) fn new(config: LinkConfig, start: Instant, random: Stream) -> Self {
        let (port, buffer) = port(&config);
        Self {
            config,
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
        Time::after_start(Span::from(now - self.start))
    }

    fn next_number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    pub(super) fn send(&mut self, now: Instant, mut packet: Packet) {
        if !self.config.passes(now, &packet) {
            self.drops.faults += 1;
            return;
        }
        if self.config.is_erasing {
            packet.tos &= 3;
        }
        if self.config.clears_ecn {
            packet.tos &= !3;
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

    pub(super) fn inject(&mut self, at: Instant, packet: Packet) {
        let number = self.next_number();
        self.flying.insert((at + self.config.delay, number), packet);
    }

    pub(super) fn arrived(&mut self, now: Instant) -> Option<Packet> {
        self.depart(now);
        let first = self.flying.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    pub(super) fn wakeup(&mut self) -> Option<Instant> {
        let start = self.start;
        let after = |at: Time| start + Duration::from_nanos(at.since_start().as_ps().div_ceil(1_000));
        let departure = self.port.deadline().map(after);
        let arrival = self.flying.first_key_value().map(|(key, _)| key.0);
        departure.into_iter().chain(arrival).min()
    }

    /// Moves packets from the bottleneck to the propagation delay.
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
        let lost =
            self.random.chance(self.config.loss) || is_data(&packet) && self.random.chance(self.config.data_loss);
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
        let (late, most) = self.config.reordering;
        let late = if self.random.chance(late) { most.mul_f64(self.random.unit()) } else { Duration::ZERO };
        if self.random.chance(self.config.duplication) {
            self.inject(now, packet.clone());
        }
        self.inject(now + late, packet);
    }
}
