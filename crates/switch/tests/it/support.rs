//! A port under test with its memory and probe.

use shallop_core::{Bytes, Class, DropCause, Ecn, End, Envelope, NoProbe, Packet, Probe, Seed, Time};
use shallop_switch::{Aqm, AqmPort, Discipline, Pool, PooledBuffer, Port, PortBuffer, PortConfig, QueueConfig};

pub struct Bench<P = NoProbe> {
    pub port: Port<u32>,
    pub buffer: PortBuffer,
    pub pool: Option<Pool>,
    pub probe: P,
}

impl<P: Probe + Default> Bench<P> {
    pub fn new(config: &PortConfig, buffer: PortBuffer, pool: Option<Pool>) -> Self {
        Self { port: Port::new(0, config), buffer, pool, probe: P::default() }
    }

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

    /// Runs the port on its deadlines until it is empty. Returns the arrivals at the other end of the wire.
    pub fn drain(&mut self) -> Vec<(Time, Packet<u32>)> {
        let (mut arrivals, mut last) = (vec![], Time::ZERO);
        while let Some(due) = self.port.deadline() {
            assert!(due >= last, "deadlines do not run backwards");
            last = due;
            self.catch_up(due);
            while let Some(packet) = self.port.pop_arrived(due) {
                arrivals.push((due, *packet));
            }
        }
        arrivals
    }
}

pub fn packet(class: Class, size: u16, ecn: Ecn, cargo: u32) -> Packet<u32> {
    Packet { envelope: Envelope { end: End(0), size, class, ecn }, cargo }
}

pub fn queue(discipline: Discipline) -> QueueConfig {
    QueueConfig { discipline, ..QueueConfig::default() }
}

/// A discipline at a port whose largest packet has this size.
pub fn at_port(aqm: Aqm, mtu: Bytes) -> Discipline {
    Discipline::Aqm(aqm, AqmPort { mtu, stream: Seed::new(1).stream("aqm", 0) })
}
