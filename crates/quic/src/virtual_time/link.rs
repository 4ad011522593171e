//! One direction of a network: a bottleneck with a queue for each class of packet, a propagation delay, and faults.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::ops::Range;
use std::time::{Duration, Instant};

use shallop_core::Stream;
use shallop_proto::wire;

use crate::config::Classes;

/// The longest queue of emulation packets, in packets.
const EMULATION_QUEUE: usize = 8;
/// The longest queue of credits and acknowledgements, in packets.
const CREDIT_QUEUE: usize = 256;

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

    /// The time that the packet takes at this rate, with all headers.
    fn time_at(&self, bits_per_s: f64) -> Duration {
        let bytes = wire::frame(self.bytes.len() as u64 + 28);
        Duration::from_secs_f64(f64::from(bytes) * 8.0 / bits_per_s)
    }
}

/// What this direction of the network is like.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// Of the bottleneck, bit/s.
    pub(super) rate: f64,
    pub(super) delay: Duration,
    /// The longest queue of data, in packets.
    pub(super) buffer: usize,
    /// The part of the rate at which emulation packets are served; without one they wait with credits.
    pub(super) emulation_share: Option<f64>,
    /// Unscheduled packets are dropped while the data queue is so long, in packets.
    pub(super) selective_drop: usize,
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
    /// DSCP is set to zero in front of the bottleneck.
    pub(super) bleaches: bool,
}

impl Way {
    pub(super) fn new(rate: f64, delay: Duration) -> Self {
        Self {
            rate,
            delay,
            buffer: 20,
            emulation_share: Some(0.05),
            selective_drop: 4,
            loss: 0.0,
            data_loss: 0.0,
            duplication: 0.0,
            reordering: (0.0, Duration::ZERO),
            mtu: 1_472,
            down: None,
            blocked: None,
            bleaches: false,
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
    pub(super) unscheduled: u64,
    pub(super) emulation: u64,
    pub(super) credits: u64,
    /// Packets lost to faults.
    pub(super) faults: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Credits,
    Emulation,
    Data,
}

/// Somebody behind the bottleneck who sees every packet, and says what to send in addition.
pub(super) type Attacker = Box<dyn FnMut(&Packet) -> Vec<Packet>>;

/// One direction, with what is on its way.
pub(super) struct Link {
    pub(super) way: Way,
    pub(super) drops: Drops,
    classes: Classes,
    queues: [VecDeque<Packet>; 3],
    /// When the packet in service has left.
    free_at: Instant,
    /// When the next emulation packet may be served.
    token_at: Instant,
    flying: BTreeMap<(Instant, u64), Packet>,
    count: u64,
    random: Stream,
    pub(super) attacker: Option<Attacker>,
    /// The receiver has a copy of data as soon as it is sent.
    pub(super) is_foreseen: bool,
}

impl Link {
    pub(super) fn new(way: Way, start: Instant, random: Stream) -> Self {
        Self {
            way,
            drops: Drops::default(),
            classes: Classes::default(),
            queues: Default::default(),
            free_at: start,
            token_at: start,
            flying: BTreeMap::new(),
            count: 0,
            random,
            attacker: None,
            is_foreseen: false,
        }
    }

    fn queue_of(&self, packet: &Packet) -> Queue {
        let dscp = packet.dscp();
        if dscp == self.classes.emulation {
            if self.way.emulation_share.is_some() { Queue::Emulation } else { Queue::Credits }
        } else if dscp == self.classes.credit || dscp == self.classes.ack {
            Queue::Credits
        } else {
            Queue::Data
        }
    }

    /// A host sends a packet.
    pub(super) fn send(&mut self, now: Instant, mut packet: Packet) {
        if self.way.bleaches {
            packet.tos &= 3;
        }
        if !self.way.passes(now, &packet) {
            self.drops.faults += 1;
            return;
        }
        if self.is_foreseen && self.queue_of(&packet) == Queue::Data {
            self.count += 1;
            self.flying.insert((now, self.count), packet.clone());
        }
        let is_unscheduled = packet.dscp() == self.classes.unscheduled;
        let queue = self.queue_of(&packet);
        let (room, drops) = match queue {
            Queue::Credits => (CREDIT_QUEUE, &mut self.drops.credits),
            Queue::Emulation => (EMULATION_QUEUE, &mut self.drops.emulation),
            Queue::Data if is_unscheduled => {
                (self.way.selective_drop.min(self.way.buffer), &mut self.drops.unscheduled)
            }
            Queue::Data => (self.way.buffer, &mut self.drops.data),
        };
        if self.queues[queue as usize].len() >= room {
            *drops += 1;
            return;
        }
        self.queues[queue as usize].push_back(packet);
        self.serve(now);
    }

    /// Puts a packet behind the bottleneck.
    fn inject(&mut self, at: Instant, packet: Packet) {
        self.count += 1;
        self.flying.insert((at + self.way.delay, self.count), packet);
    }

    /// Packets that have left the bottleneck since, and those that have arrived.
    pub(super) fn arrived(&mut self, now: Instant) -> Option<Packet> {
        self.serve(now);
        let first = self.flying.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }

    /// When something happens next.
    pub(super) fn wakeup(&self) -> Option<Instant> {
        let waits = |queue: Queue| !self.queues[queue as usize].is_empty();
        let service = if waits(Queue::Credits) || waits(Queue::Data) {
            Some(self.free_at)
        } else {
            waits(Queue::Emulation).then(|| self.free_at.max(self.token_at))
        };
        let arrival = self.flying.first_key_value().map(|(key, _)| key.0);
        service.into_iter().chain(arrival).min()
    }

    fn serve(&mut self, now: Instant) {
        while self.free_at <= now {
            let Some(packet) = self.next(now) else { return };
            self.free_at = now + packet.time_at(self.way.rate);
            self.fly(packet);
        }
    }

    fn next(&mut self, now: Instant) -> Option<Packet> {
        if let Some(packet) = self.queues[Queue::Credits as usize].pop_front() {
            return Some(packet);
        }
        if let Some(share) = self.way.emulation_share.filter(|_| self.token_at <= now)
            && let Some(packet) = self.queues[Queue::Emulation as usize].pop_front()
        {
            self.token_at = now + packet.time_at(self.way.rate * share);
            return Some(packet);
        }
        self.queues[Queue::Data as usize].pop_front()
    }

    fn fly(&mut self, packet: Packet) {
        let is_data = self.queue_of(&packet) == Queue::Data;
        let lost =
            self.random.chance(self.way.loss) || is_data && self.random.chance(self.way.data_loss);
        if lost {
            self.drops.faults += 1;
            return;
        }
        let more = self.attacker.as_mut().map(|attacker| attacker(&packet));
        for forged in more.into_iter().flatten() {
            self.inject(self.free_at, forged);
        }
        let (late, most) = self.way.reordering;
        let late = if self.random.chance(late) {
            most.mul_f64(self.random.unit())
        } else {
            Duration::ZERO
        };
        if self.random.chance(self.way.duplication) {
            self.inject(self.free_at, packet.clone());
        }
        self.inject(self.free_at + late, packet);
    }
}
