//! One or two ports with arbitrary queues, disciplines and arrivals, and with private buffers or a shared pool. Every
//! packet that enters leaves once or is reported dropped once, no other packet leaves, and no memory is in use at the
//! end.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use shallop_core::{BitsPerSec, Bytes, Class, DropCause, Ecn, End, Envelope, Packet, Probe, QueueId, Span, Time};
use shallop_fuzz::draw;
use shallop_switch::discipline::fq_codel::FqCoDelConfig;
use shallop_switch::{
    Aqm, AqmPort, Average, Discipline, FifoConfig, FrameAggregation, Impairment, Limit, LinkChange, MarkAt,
    MarkThreshold, Meter, Pool, PoolConfig, PoolMember, PoolQuota, PooledBuffer, Port, PortBuffer, PortConfig,
    QueueConfig, RedConfig, SelectiveDrop, Signals, Spacing,
};
use shallop_switch::{discipline::codel::CoDelConfig, discipline::dualpi2::DualPi2Config};
use std::collections::BTreeMap;

const MTU: Bytes = Bytes::new(1_538);
const QUEUES: u8 = 4;

fn bytes(u: &mut Unstructured<'_>, most: u64) -> Result<Bytes> {
    Ok(Bytes::new(u.int_in_range(0..=most)?))
}

fn limit(u: &mut Unstructured<'_>) -> Result<Limit> {
    let packets = u.int_in_range(0..=40)?;
    Ok(match u.int_in_range(0..=2u8)? {
        0 => Limit { packets, ..Limit::NONE },
        1 => Limit { bytes: bytes(u, 60_000)?, ..Limit::NONE },
        _ => Limit { bytes: bytes(u, 60_000)?, packets },
    })
}

fn at(u: &mut Unstructured<'_>) -> Result<MarkAt> {
    u.choose(&[MarkAt::Enqueue, MarkAt::Dequeue]).copied()
}

fn red(u: &mut Unstructured<'_>) -> Result<RedConfig> {
    let min_threshold = bytes(u, 30_000)?;
    let packet_time = Span::from_us(u.int_in_range(1..=1_000)?);
    let average = Average { weight: draw::fraction(u, 1.0)?, packet_time };
    Ok(RedConfig {
        min_threshold,
        max_threshold: min_threshold + bytes(u, 30_000)?,
        max_probability: draw::fraction(u, 1.0)?,
        at: at(u)?,
        signals: *u.choose(&[Signals::Mark, Signals::MarkOrDrop, Signals::DropNotEct, Signals::DropAll])?,
        average: u.arbitrary::<bool>()?.then_some(average),
        spacing: *u.choose(&[Spacing::Independent, Spacing::Count])?,
        stream: draw::stream(u)?,
    })
}

fn codel(u: &mut Unstructured<'_>) -> Result<CoDelConfig> {
    Ok(CoDelConfig {
        target: draw::pause(u)?,
        interval: draw::pause(u)? + Span::from_ns(1),
        ecn: u.arbitrary()?,
        ce_threshold: draw::maybe(u, draw::pause)?,
    })
}

fn dualpi2(u: &mut Unstructured<'_>) -> Result<DualPi2Config> {
    Ok(DualPi2Config {
        target: draw::pause(u)?,
        // At least 1 ms: the controller computes all updates between two packets one by one.
        tupdate: Span::from_ms(1) + draw::pause(u)?,
        alpha: draw::fraction(u, 1_000.0)?,
        beta: draw::fraction(u, 10_000.0)?,
        step_thresh: draw::pause(u)?,
        ramp: draw::pause(u)?,
        min_qlen_step: u.int_in_range(0..=4)?,
        classic_weight: u.int_in_range(1..=16)?,
        l4s_weight: u.int_in_range(1..=16)?,
        time_shift: draw::maybe(u, draw::pause)?,
        random: u.arbitrary()?,
        ..DualPi2Config::defaults(())
    })
}

fn discipline(u: &mut Unstructured<'_>) -> Result<Discipline> {
    let aqm = match u.int_in_range(0..=4u8)? {
        0 | 1 => {
            let step = |u: &mut Unstructured<'_>| Ok(MarkThreshold { above: limit(u)?, at: at(u)? });
            let fifo = FifoConfig {
                mark: draw::maybe(u, step)?,
                red: (0..u.int_in_range(0..=2u8)?).map(|_| red(u)).collect::<Result<_>>()?,
            };
            return Ok(Discipline::Fifo(fifo));
        }
        2 => Aqm::CoDel(codel(u)?),
        3 => Aqm::FqCoDel(FqCoDelConfig {
            codel: codel(u)?,
            flows: u.int_in_range(1..=64)?,
            quantum: draw::maybe(u, |u| u.int_in_range(1..=4_000))?.map(Bytes::new),
            limit: u.int_in_range(0..=60)?,
            drop_batch: u.int_in_range(1..=64)?,
        }),
        _ => Aqm::DualPi2(dualpi2(u)?),
    };
    Ok(Discipline::Aqm(aqm, AqmPort { mtu: MTU, stream: draw::stream(u)? }))
}

fn queue(u: &mut Unstructured<'_>, link: BitsPerSec) -> Result<QueueConfig> {
    let rate = BitsPerSec::at_least_one(link.get() / u.int_in_range(1..=64)?);
    let meter = Meter::new(rate, bytes(u, 4_000)?);
    let overhead = Span::from_us(u.int_in_range(0..=200)?);
    let frame = FrameAggregation { overhead, max_bytes: bytes(u, 20_000)? };
    let select = SelectiveDrop { above: limit(u)? };
    Ok(QueueConfig {
        priority: u.int_in_range(0..=2)?,
        weight: u.int_in_range(1..=64)?,
        discipline: discipline(u)?,
        select: u.ratio(1u8, 4u8)?.then_some(select),
        select_reached: u.arbitrary()?,
        meter: u.ratio(1u8, 4u8)?.then_some(meter),
        policer: draw::maybe(u, |u| Ok(Meter::new(rate, bytes(u, 4_000)?)))?,
        aggregate: u.ratio(1u8, 8u8)?.then_some(frame),
    })
}

fn port(u: &mut Unstructured<'_>) -> Result<PortConfig> {
    let queues = u.int_in_range(1..=QUEUES)?;
    let rate = |u: &mut Unstructured<'_>| Ok(BitsPerSec::at_least_one(u.int_in_range(1_000_000..=400_000_000_000u64)?));
    let link = rate(u)?;
    let mut queue_of = [0; Class::COUNT];
    for queue in &mut queue_of {
        *queue = u.int_in_range(0..=queues - 1)?;
    }
    let mut changes = Vec::new();
    let mut when = Time::ZERO;
    for _ in 0..u.int_in_range(0..=2u8)? {
        when = when + draw::pause(u)? + Span::from_ps(1);
        let delay = draw::maybe(u, draw::pause)?;
        changes.push(LinkChange { at: when, rate: Some(rate(u)?), delay, hold: when + draw::pause(u)? });
    }
    let mut queues = (0..queues).map(|_| queue(u, link)).collect::<Result<Vec<_>>>()?;
    if queues.len() > 1 {
        // A packet of a FIFO that comes while the link is idle, since another queue waits for its meter, leaves as
        // soon as the link was idle: before it came. That is known; to mend it moves all results with credits.
        for queue in &mut queues {
            queue.meter = None;
        }
    }
    let (loss, jitter) = (draw::fraction(u, 1.0)?, draw::pause(u)?);
    let (reordering, reordering_delay) = (draw::fraction(u, 1.0)?, draw::pause(u)?);
    let none = Impairment::none(draw::stream(u)?);
    let impairment = Impairment { loss, jitter, reordering, reordering_delay, ..none };
    Ok(PortConfig {
        rate: link,
        delay: draw::pause(u)?,
        queues,
        queue_of,
        impairment: u.ratio(1u8, 4u8)?.then_some(impairment),
        changes,
    })
}

/// The events that the probe received.
#[derive(Default)]
struct Told {
    /// Packets and bytes that were dropped or lost, by cause.
    dropped: BTreeMap<DropCause, (u64, u64)>,
    sent: (u64, u64),
    held: BTreeMap<QueueId, Bytes>,
}

impl Told {
    fn all_dropped(&self) -> (u64, u64) {
        let lost = self.dropped.iter().filter(|(cause, _)| **cause != DropCause::WireLoss);
        lost.fold((0, 0), |sum, (_, add)| (sum.0 + add.0, sum.1 + add.1))
    }
}

impl Probe for Told {
    fn on_queue(&mut self, _: Time, at: QueueId, held: Bytes) {
        self.held.insert(at, held);
    }
    fn on_drop(&mut self, _: Time, _: QueueId, packet: &Envelope, cause: DropCause) {
        let (packets, bytes) = self.dropped.entry(cause).or_default();
        (*packets, *bytes) = (*packets + 1, *bytes + u64::from(packet.size));
    }
    fn on_mark(&mut self, _: Time, _: QueueId, packet: &Envelope) {
        assert!(packet.ecn.is_ect() || packet.ecn == Ecn::Ce, "marked {packet:?}");
    }
    fn on_send(&mut self, _: Time, _: u32, packet: &Envelope) {
        self.sent = (self.sent.0 + 1, self.sent.1 + u64::from(packet.size));
    }
}

struct Interface {
    port: Port<u32>,
    buffer: PortBuffer,
}

/// The ports under test, with their shared state.
struct Switch {
    interfaces: Vec<Interface>,
    /// The shared pool, if they have one.
    pool: Option<Pool>,
    told: Told,
    /// The offered packets by number, with whether each has left or was dropped.
    offered: Vec<(Time, Envelope, bool)>,
    accepted: u64,
    dropped_later: u64,
    now: Time,
}

impl Switch {
    fn new(u: &mut Unstructured<'_>) -> Result<Self> {
        let size = bytes(u, 100_000)?;
        let cell = Bytes::new(u.int_in_range(1..=256)?);
        let red = draw::maybe(u, red)?;
        let config = PoolConfig { size, cell, red };
        let pool = u.arbitrary::<bool>()?.then(|| Pool::new(&config, 2));
        let mut interfaces = Vec::new();
        for index in 0..2 {
            let config = port(u)?;
            let own = |u: &mut Unstructured<'_>| u.ratio(1u8, 4u8)?.then(|| limit(u)).transpose();
            let own = config.queues.iter().map(|_| own(u)).collect::<Result<_>>()?;
            let buffer = if pool.is_some() {
                let quota = |u: &mut Unstructured<'_>| {
                    Ok(PoolQuota {
                        alpha: draw::fraction(u, 16.0)?,
                        limit: draw::maybe(u, |u| bytes(u, 50_000))?,
                        private: bytes(u, 5_000)?,
                    })
                };
                let quotas = config.queues.iter().map(|_| quota(u)).collect::<Result<Vec<_>>>()?;
                PortBuffer::pooled(PoolMember { pool: 0, index }, own, &quotas)
            } else {
                PortBuffer::new(limit(u)?, own)
            };
            interfaces.push(Interface { port: Port::new(index, &config), buffer });
        }
        let (told, offered) = (Told::default(), Vec::new());
        let (accepted, dropped_later, now) = (0, 0, Time::ZERO);
        Ok(Self { interfaces, pool, told, offered, accepted, dropped_later, now })
    }

    /// Lets the ports serve all packets due by now, in order of time if the pool marks departing packets.
    fn serve(&mut self) {
        let Self { interfaces, pool, told, now, .. } = self;
        let Some(pool) = pool else {
            for Interface { port, buffer } in interfaces {
                port.catch_up(*now, buffer, told);
            }
            return;
        };
        while let Some((index, until)) = pool.next_to_serve(*now) {
            let Interface { port, buffer } = &mut interfaces[index];
            port.catch_up(until, &mut PooledBuffer { buffer, pool }, told);
            pool.next_service.set(index, port.next_service);
        }
    }

    fn offer(&mut self, index: usize, envelope: Envelope) {
        self.serve();
        let packet = Packet { envelope, cargo: self.offered.len() as u32 };
        self.offered.push((self.now, envelope, false));
        let Self { interfaces, pool, told, now, .. } = self;
        let Interface { port, buffer } = &mut interfaces[index];
        let accepted = match pool {
            None => port.enqueue(*now, &packet, buffer, told),
            Some(pool) => {
                let accepted = port.enqueue(*now, &packet, &mut PooledBuffer { buffer, pool }, told);
                pool.next_service.set(index, port.next_service);
                assert!(pool.held() <= pool.size());
                accepted
            }
        };
        self.accepted += u64::from(accepted.is_ok());
        self.collect();
    }

    /// Takes the packets that have crossed the wires by now.
    fn collect(&mut self) {
        for Interface { port, .. } in &mut self.interfaces {
            self.dropped_later += port.take_dropped().count() as u64;
            while let Some(packet) = port.pop_arrived(self.now) {
                let packet = *packet;
                let (came, envelope, gone) = &mut self.offered[packet.cargo as usize];
                assert!(!*gone, "packet {} arrives twice", packet.cargo);
                assert!(*came <= self.now, "it arrives before it came");
                *gone = true;
                let marked = Envelope { ecn: Ecn::Ce, ..*envelope };
                let same = packet.envelope == *envelope;
                assert!(same || (envelope.ecn.is_ect() && packet.envelope == marked));
                port.draw_fate(self.now, &packet.envelope, &mut self.told);
            }
        }
    }

    /// Runs the ports to this time, waking them at their deadlines.
    fn run_until(&mut self, until: Time) {
        loop {
            let deadlines = self.interfaces.iter_mut().filter_map(|it| it.port.deadline());
            let Some(due) = deadlines.min().filter(|&due| due <= until) else { break };
            assert!(due >= self.now, "a deadline at {due:?}, before {:?}", self.now);
            self.now = due;
            let before = self.progress();
            self.serve();
            self.collect();
            assert!(self.progress() > before, "nothing happens at the deadline {due:?}");
        }
    }

    /// Updates the counts with the events since the last call.
    fn progress(&self) -> u64 {
        let gone = self.offered.iter().filter(|it| it.2).count() as u64;
        gone + self.told.sent.0 + self.told.all_dropped().0
    }

    /// Runs to the end and checks that every packet is accounted for.
    fn close(mut self) {
        self.run_until(Time::LAST);
        let gone = self.offered.iter().filter(|it| it.2);
        let left = gone.fold((0, 0), |sum: (u64, u64), it| (sum.0 + 1, sum.1 + u64::from(it.1.size)));
        let all = self.offered.iter().map(|it| u64::from(it.1.size));
        let dropped = self.told.all_dropped();
        assert_eq!(left.0 + dropped.0, self.offered.len() as u64, "packets");
        assert_eq!(left.1 + dropped.1, all.sum::<u64>(), "bytes");
        assert_eq!(self.told.sent, left);
        assert_eq!(self.accepted, left.0 + self.dropped_later);
        assert!(self.told.held.values().all(|held| held.get() == 0), "{:?}", self.told.held);
        let counted =
            |class: &dyn Fn(&Port<u32>) -> u64| -> u64 { self.interfaces.iter().map(|it| class(&it.port)).sum() };
        assert_eq!(counted(&|port| port.counters().sent.iter().sum()), left.0);
        assert_eq!(counted(&|port| port.counters().dropped.iter().sum()), dropped.0);
        assert_eq!(counted(&|port| port.counters().bytes), left.1);
        assert_eq!(counted(&|port| u64::from(port.queued()) + port.on_wire() as u64), 0);
        if let Some(pool) = &mut self.pool {
            assert_eq!(pool.held(), Bytes::ZERO);
            pool.advance_to(self.now);
            assert_eq!(pool.occupancy().held(), Bytes::ZERO);
        }
    }
}

fn run(bytes: &[u8]) -> Result<()> {
    let u = &mut Unstructured::new(bytes);
    let mut switch = Switch::new(u)?;
    while !u.is_empty() {
        let arrival = switch.now + draw::pause(u)?;
        if u.ratio(3u8, 4u8)? {
            switch.run_until(arrival);
        }
        switch.now = arrival;
        let size = if u.arbitrary()? { 1_538 } else { u.int_in_range(84..=1_538)? };
        let class = Class::ALL[usize::from(u.int_in_range(0..=7u8)?)];
        let (end, ecn) = (End(u32::from(u.arbitrary::<u8>()? % 8)), draw::ecn(u)?);
        let index = usize::from(u.ratio(1u8, 4u8)?);
        switch.offer(index, Envelope { end, size, class, ecn });
    }
    switch.close();
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let _ = run(bytes);
});
