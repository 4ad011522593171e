//! Every drop has the cause of the rule that refused the packet.

use shallop_core::{BitsPerSec, Bytes, Class, DropCause, Ecn, Envelope, Probe, QueueId, Seed, Span, Time};
use shallop_switch::discipline::fq_codel::FqCoDelConfig;
use shallop_switch::{
    Aqm, Buffer, Discipline, Fate, FifoConfig, Impairment, Limit, MarkAt, Meter, Pool, PoolConfig, PoolMember,
    PoolQuota, PooledBuffer, Port, PortBuffer, PortConfig, QueueConfig, RedConfig, SelectiveDrop, Signals, Spacing,
};

use crate::support::{self, at_port, queue};

#[derive(Default)]
struct Drops(Vec<(u8, Class, DropCause)>);

impl Probe for Drops {
    fn on_drop(&mut self, _: Time, at: QueueId, packet: &Envelope, cause: DropCause) {
        self.0.push((at.queue, packet.class, cause));
    }
}

/// A port of 10 Gb/s: credits join the first queue, other packets the last.
fn port(queues: Vec<QueueConfig>, impairment: Option<Impairment>) -> Port<u32> {
    let last = queues.len() as u8 - 1;
    let queue_of = Class::ALL.map(|class| if class == Class::Credit { 0 } else { last });
    let config = PortConfig::new(BitsPerSec::gbps(10), Span::ZERO, queues);
    Port::new(0, &PortConfig { queue_of, impairment, ..config })
}

fn packet(class: Class, ecn: Ecn) -> shallop_core::Packet<u32> {
    support::packet(class, 1000, ecn, 0)
}

/// Causes of the drops among six packets that arrive at once. The first finds the link idle.
fn causes(mut port: Port<u32>, memory: &mut impl Buffer, class: Class, ecn: Ecn) -> Vec<DropCause> {
    let mut drops = Drops::default();
    let refused: Vec<DropCause> =
        (0..6).filter_map(|_| port.enqueue(Time::ZERO, &packet(class, ecn), memory, &mut drops).err()).collect();
    let reported: Vec<DropCause> = drops.0.iter().map(|drop| drop.2).collect();
    assert!(port.take_dropped().next().is_some() || refused == reported);
    assert!(drops.0.iter().all(|drop| drop.1 == class));
    reported
}

fn limit(packets: u32) -> Limit {
    Limit { packets, ..Limit::NONE }
}

#[test]
fn a_full_buffer_a_full_queue_and_a_full_metered_queue_have_different_causes() {
    let data = |own| PortBuffer::new(limit(2), vec![own]);
    let plain = || port(vec![QueueConfig::default()], None);
    let full = causes(plain(), &mut data(None), Class::Data, Ecn::Ect);
    assert_eq!(full, [DropCause::BufferFull; 3]);
    let own = causes(plain(), &mut data(Some(limit(3))), Class::Data, Ecn::Ect);
    assert_eq!(own, [DropCause::QueueFull; 2]);
    let meter = Some(Meter::new(BitsPerSec::gbps(1), Bytes::new(1000)));
    let metered = QueueConfig { meter, ..QueueConfig::default() };
    let port = port(vec![metered, QueueConfig { priority: 1, ..QueueConfig::default() }], None);
    let mut buffer = PortBuffer::new(limit(2), vec![Some(limit(4)), None]);
    assert_eq!(causes(port, &mut buffer, Class::Credit, Ecn::Ect), [DropCause::MeteredQueueFull]);
}

#[test]
fn a_full_pool_and_a_reached_threshold_have_different_causes() {
    for (alpha, expected) in [(8.0, vec![DropCause::BufferFull; 2]), (0.5, vec![DropCause::DynamicThreshold; 4])] {
        // Alpha 8: three packets of 1000 B fill the pool. Alpha 0.5: with 1000 B held the threshold is 0.5 x 2000 B.
        let quota = PoolQuota { alpha, limit: None, private: Bytes::ZERO };
        let mut buffer = PortBuffer::pooled(PoolMember { pool: 0, index: 0 }, vec![None], &[quota]);
        let config = PoolConfig { size: Bytes::new(3_000), cell: Bytes::new(1), red: None };
        let mut pool = Pool::new(&config, 1);
        let mut memory = PooledBuffer { buffer: &mut buffer, pool: &mut pool };
        let port = port(vec![QueueConfig::default()], None);
        assert_eq!(causes(port, &mut memory, Class::Data, Ecn::Ect), expected, "alpha {alpha}");
    }
}

#[test]
fn red_selective_drop_and_the_limit_of_a_discipline_have_different_causes() {
    let buffer = || PortBuffer::new(limit(100), vec![None]);
    let red = RedConfig {
        min_threshold: Bytes::new(2_000),
        max_threshold: Bytes::new(2_000),
        max_probability: 1.0,
        at: MarkAt::Enqueue,
        signals: Signals::MarkOrDrop,
        average: None,
        spacing: Spacing::Independent,
        stream: Seed::new(1).stream("red", 0),
    };
    let red = vec![queue(Discipline::Fifo(FifoConfig { mark: None, red: vec![red] }))];
    let found = causes(port(red, None), &mut buffer(), Class::Data, Ecn::NotEct);
    assert_eq!(found, [DropCause::Red; 3]);
    let select = Some(SelectiveDrop { above: limit(1) });
    let selective = vec![QueueConfig { select, ..QueueConfig::default() }];
    let found = causes(port(selective, None), &mut buffer(), Class::Unscheduled, Ecn::NotEct);
    assert_eq!(found, [DropCause::Selective; 4]);
    // FQ-CoDel's own limit drops from the longest queue.
    let fq = Aqm::FqCoDel(FqCoDelConfig { limit: 2, ..FqCoDelConfig::defaults(()) });
    let fq = port(vec![queue(at_port(fq, Bytes::new(1000)))], None);
    assert_eq!(causes(fq, &mut buffer(), Class::Data, Ecn::Ect), [DropCause::QueueFull; 3]);
}

#[test]
fn a_loss_on_the_wire_is_reported_with_the_queue_of_the_packet() {
    let stream = Seed::new(1).stream("wire", 0);
    let impairment = Some(Impairment { loss: 1.0, ..Impairment::none(stream) });
    let queues = vec![QueueConfig::default(), QueueConfig { priority: 1, ..QueueConfig::default() }];
    let mut port = port(queues, impairment);
    let (mut buffer, mut drops) = (PortBuffer::new(limit(9), vec![None, None]), Drops::default());
    for class in [Class::Data, Class::Credit] {
        let sent = port.enqueue(Time::ZERO, &packet(class, Ecn::Ect), &mut buffer, &mut drops);
        assert_eq!(sent, Ok(()));
    }
    let end = Time::after_start(Span::from_ms(1));
    port.catch_up(end, &mut buffer, &mut drops);
    while let Some(packet) = port.pop_arrived(end).copied() {
        assert_eq!(port.draw_fate(end, &packet.envelope, &mut drops), Fate::Lost);
    }
    let expected = [(1, Class::Data), (0, Class::Credit)].map(|(q, c)| (q, c, DropCause::WireLoss));
    assert_eq!(drops.0, expected);
    assert_eq!(port.counters().lost.iter().sum::<u64>(), 2);
}
