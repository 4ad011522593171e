//! Shared pools: Dynamic Thresholds, and marking by the occupancy of the pool.

#![allow(clippy::unwrap_used, reason = "a test that cannot build its bench should fail there")]

use proptest::prelude::*;
use shallop_core::{
    BitsPerSec, Bytes, Class, DropCause, Ecn, End, Envelope, NoProbe, Packet, Seed, Span, Time,
};
use shallop_switch::{
    Buffer, Limit, MarkAt, Pool, PoolConfig, PoolMember, PoolQuota, PooledBuffer, Port, PortBuffer,
    PortConfig, QueueConfig, QueueLength, RedConfig,
};

const SIZE: Bytes = Bytes::new(1_000_000);
const PACKET: Bytes = Bytes::new(100);
const BYTE: Bytes = Bytes::new(1);

fn pool(size: Bytes, cell: Bytes, ports: usize) -> Pool {
    Pool::new(&PoolConfig { size, cell, red: None }, ports)
}

/// The buffer of a port with one queue.
fn buffer(index: u32, alpha: f64, private: Bytes) -> PortBuffer {
    PortBuffer::pooled(PoolMember { pool: 0, index }, vec![None], &[PoolQuota { alpha, private }])
}

/// Queues of one port each that always want more, with these factors and this much of their own: what each has when
/// packets have left and come for long, and the pool.
fn saturate(alphas: &[f64], private: Bytes) -> (Vec<Bytes>, Pool) {
    let mut pool = pool(SIZE, BYTE, alphas.len());
    let mut buffers: Vec<PortBuffer> =
        (0..).zip(alphas).map(|(place, &alpha)| buffer(place, alpha, private)).collect();
    let mut held = vec![QueueLength::default(); alphas.len()];
    for _ in 0..20_000 {
        for (buffer, held) in buffers.iter_mut().zip(&mut held) {
            let mut memory = PooledBuffer { buffer, pool: &mut pool };
            if held.packets > 0 {
                memory.release(Time::ZERO, 0, *held, PACKET);
                *held = held.without(PACKET);
            }
            for _ in 0..2 {
                if memory.store(Time::ZERO, 0, *held, PACKET).is_ok() {
                    *held = held.with(PACKET);
                }
            }
        }
    }
    (held.into_iter().map(|held| held.bytes).collect(), pool)
}

#[test]
fn saturated_queues_end_up_with_their_part_of_the_pool() {
    for alpha in [0.125, 0.5, 1.0, 2.0, 8.0] {
        for count in [1, 2, 4] {
            let (held, pool) = saturate(&vec![alpha; count], Bytes::ZERO);
            let part = alpha / (1.0 + alpha * count as f64) * SIZE.get() as f64;
            for held in &held {
                let off = (held.get() as f64 - part).abs();
                assert!(
                    off <= 2.0 * PACKET.get() as f64,
                    "{alpha}, {count}: {held} and not {part}"
                );
            }
            assert_eq!(pool.held(), held.iter().fold(Bytes::ZERO, |sum, held| sum + *held));
        }
    }
}

#[test]
fn of_different_factors_each_gets_its_own() {
    let alphas = [0.5, 1.0, 2.0];
    let (held, _) = saturate(&alphas, Bytes::ZERO);
    for (alpha, held) in alphas.iter().zip(held) {
        let part = alpha / (1.0 + alphas.iter().sum::<f64>()) * SIZE.get() as f64;
        assert!((held.get() as f64 - part).abs() <= 200.0, "{alpha}: {held} and not {part}");
    }
}

#[test]
fn private_bytes_are_taken_first_and_do_not_count() {
    let private = Bytes::new(50_000);
    let (with, pool) = saturate(&[1.0, 1.0], private);
    let (without, _) = saturate(&[1.0, 1.0], Bytes::ZERO);
    for (with, without) in with.iter().zip(&without) {
        let off = with.get().abs_diff((*without + private).get());
        assert!(off <= PACKET.get(), "{with} with, {without} without");
    }
    assert_eq!(pool.held() + private + private, with[0] + with[1]);
}

#[test]
fn a_newcomer_gets_half_of_what_is_free_before_the_first_shrinks() {
    let mut pool = pool(SIZE, BYTE, 2);
    let mut fill = |place| {
        let mut buffer = buffer(place, 1.0, Bytes::ZERO);
        let mut held = QueueLength::default();
        let mut store = |held| {
            PooledBuffer { buffer: &mut buffer, pool: &mut pool }.store(Time::ZERO, 0, held, PACKET)
        };
        while store(held).is_ok() {
            held = held.with(PACKET);
        }
        held.bytes
    };
    assert_eq!((fill(0), fill(1)), (Bytes::new(500_000), Bytes::new(250_000)));
    assert_eq!((pool.held(), pool.occupancy().max()), (Bytes::new(750_000), Bytes::new(750_000)));
}

#[test]
fn what_leaves_is_given_back_and_queues_with_room_of_their_own_take_nothing() {
    let mut pool = pool(SIZE, BYTE, 1);
    let claim = PoolQuota { alpha: 1.0, private: Bytes::new(150) };
    let own = vec![Some(Limit { packets: 1, ..Limit::NONE }), None];
    let mut buffer = PortBuffer::pooled(PoolMember { pool: 0, index: 0 }, own, &[claim, claim]);
    let (none, one) = (QueueLength::default(), QueueLength::default().with(PACKET));
    let mut memory = PooledBuffer { buffer: &mut buffer, pool: &mut pool };
    assert!(memory.store(Time::ZERO, 0, none, PACKET).is_ok());
    assert_eq!(memory.store(Time::ZERO, 0, one, PACKET), Err(DropCause::QueueFull));
    assert!(memory.store(Time::ZERO, 1, none, PACKET).is_ok());
    assert!(memory.store(Time::ZERO, 1, one, PACKET).is_ok());
    assert_eq!(memory.pool.held(), Bytes::new(50), "150 of 200 bytes are private");
    memory.release(Time::ZERO, 1, one.with(PACKET), PACKET);
    assert_eq!(memory.pool.held(), Bytes::ZERO);
    let taken = buffer.store(Time::ZERO, 1, none, PACKET);
    assert!(taken.is_err(), "without the pool there is nothing to take");
}

#[test]
fn a_packet_takes_whole_cells() {
    // As on Trident and Tomahawk: a credit of 84 B takes one cell of 208 B, a frame of 1538 B takes eight.
    for (size, cells) in [(84, 1), (208, 1), (209, 2), (1538, 8), (9038, 44)] {
        let mut pool = pool(SIZE, Bytes::new(208), 1);
        let mut buffer = buffer(0, 1.0, Bytes::ZERO);
        let mut memory = PooledBuffer { buffer: &mut buffer, pool: &mut pool };
        let size = Bytes::new(size);
        assert!(memory.store(Time::ZERO, 0, QueueLength::default(), size).is_ok());
        assert_eq!(memory.pool.held(), Bytes::new(208 * cells), "{size}");
        memory.release(Time::ZERO, 0, QueueLength::default().with(size), size);
        assert_eq!(memory.pool.held(), Bytes::ZERO);
    }
}

#[test]
fn queues_of_one_port_have_their_own_factors() {
    let mut pool = pool(SIZE, BYTE, 1);
    let claims = [1.0, 0.25].map(|alpha| PoolQuota { alpha, private: Bytes::ZERO });
    let mut buffer =
        PortBuffer::pooled(PoolMember { pool: 0, index: 0 }, vec![None, None], &claims);
    let mut fill = |queue| {
        let mut held = QueueLength::default();
        let mut store = |held| {
            PooledBuffer { buffer: &mut buffer, pool: &mut pool }.store(
                Time::ZERO,
                queue,
                held,
                PACKET,
            )
        };
        while store(held).is_ok() {
            held = held.with(PACKET);
        }
        held.bytes
    };
    // A quarter of the free bytes: x = (1,000,000 - x) / 4; then all of them: x = 800,000 - x.
    assert_eq!((fill(1), fill(0)), (Bytes::new(200_000), Bytes::new(400_000)));
}

/// The admission rule, computed from the stored packets each time.
struct Rule {
    claims: Vec<(f64, u64)>,
    cell: u64,
    queues: Vec<Vec<u64>>,
}

impl Rule {
    fn cells(&self, size: u64) -> u64 {
        size.div_ceil(self.cell) * self.cell
    }

    fn shared(&self, queue: usize, more: u64) -> u64 {
        let taken: u64 = self.queues[queue].iter().map(|&size| self.cells(size)).sum();
        (taken + self.cells(more)).saturating_sub(self.claims[queue].1)
    }

    fn all(&self) -> u64 {
        (0..self.queues.len()).map(|queue| self.shared(queue, 0)).sum()
    }

    fn fits(&self, queue: usize, size: u64, pool: u64) -> Result<(), DropCause> {
        let more = self.shared(queue, size) - self.shared(queue, 0);
        let threshold = self.claims[queue].0 * (pool - self.all()) as f64;
        if more > 0 && self.all() + more > pool {
            return Err(DropCause::BufferFull);
        }
        if more > 0 && self.shared(queue, 0) >= threshold as u64 {
            return Err(DropCause::DynamicThreshold);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn an_arrival_fits_exactly_when_the_rule_says_and_nothing_is_lost_of_the_account(
        size in 2_000u64..50_000,
        cell in prop::sample::select(vec![1u64, 64, 208]),
        claims in prop::collection::vec(
            (prop::sample::select(vec![0.125, 0.2, 0.5, 1.0, 4.0, 8.0]), 0u64..4_000),
            1..5,
        ),
        steps in prop::collection::vec((0usize..5, prop::option::weighted(0.7, 64u64..9_039)), 1..300),
    ) {
        let mut pool = pool(Bytes::new(size), Bytes::new(cell), claims.len());
        let mut buffers: Vec<PortBuffer> = (0..)
            .zip(&claims)
            .map(|(place, &(alpha, private))| buffer(place, alpha, Bytes::new(private)))
            .collect();
        let queues = vec![vec![]; claims.len()];
        let mut rule = Rule { claims, cell, queues };
        for (queue, arrival) in steps {
            let queue = queue % buffers.len();
            let none = QueueLength::default();
            let mut memory = PooledBuffer { buffer: &mut buffers[queue], pool: &mut pool };
            if let Some(bytes) = arrival {
                let fits = memory.store(Time::ZERO, 0, none, Bytes::new(bytes));
                prop_assert_eq!(fits, rule.fits(queue, bytes, size));
                if fits.is_ok() {
                    rule.queues[queue].push(bytes);
                }
            } else if !rule.queues[queue].is_empty() {
                let bytes = rule.queues[queue].remove(0);
                memory.release(Time::ZERO, 0, none.with(Bytes::new(bytes)), Bytes::new(bytes));
            }
            prop_assert_eq!(pool.held().get(), rule.all());
            pool.advance_to(Time::ZERO);
            prop_assert_eq!(pool.occupancy().held(), pool.held());
            prop_assert!(pool.held().get() <= size && pool.occupancy().max().get() <= size);
        }
    }
}

/// A port of 10 Gb/s that draws on a pool which marks above a step threshold in bytes.
fn marking(above: u64, at: MarkAt, drops: bool) -> (Port<u32>, PortBuffer, Pool) {
    let min = Bytes::new(above);
    let stream = Seed::new(1).stream("red", 0);
    let (min_threshold, max_threshold) = (min, min);
    let max_probability = 1.0;
    let average = None;
    let red =
        RedConfig { min_threshold, max_threshold, max_probability, at, drops, average, stream };
    let pool = Pool::new(&PoolConfig { size: SIZE, cell: BYTE, red: Some(red) }, 2);
    let port = PortConfig {
        rate: BitsPerSec::gbps(10),
        delay: Span::ZERO,
        queues: vec![QueueConfig::default()],
        queue_of: [0; Class::COUNT],
        impairment: None,
        changes: vec![],
    };
    (Port::new(0, &port), buffer(0, 1.0, Bytes::ZERO), pool)
}

/// The ECN fields with which packets of 1000 B leave that arrive at once with these.
fn bits(mut under: (Port<u32>, PortBuffer, Pool), offered: &[Ecn]) -> Vec<Result<Ecn, DropCause>> {
    let (port, buffer, pool) = (&mut under.0, &mut under.1, &mut under.2);
    let mut out = vec![];
    for &ecn in offered {
        let envelope = Envelope { end: End(0), size: 1000, class: Class::Data, ecn };
        let packet = Packet { envelope, cargo: 0 };
        let mut memory = PooledBuffer { buffer: &mut *buffer, pool: &mut *pool };
        out.push(port.enqueue(Time::ZERO, &packet, &mut memory, &mut NoProbe).map(|()| ecn));
    }
    let end = Time::after_start(Span::from_ms(1));
    port.catch_up(end, &mut PooledBuffer { buffer, pool }, &mut NoProbe);
    for taken in out.iter_mut().filter(|taken| taken.is_ok()) {
        *taken = Ok(port.pop_arrived(end).map_or(Ecn::NotEct, |packet| packet.envelope.ecn));
    }
    assert_eq!(pool.held(), Bytes::ZERO);
    out
}

#[test]
fn a_pool_marks_what_joins_above_its_threshold() {
    let (ect, ce) = (Ok(Ecn::Ect), Ok(Ecn::Ce));
    let found = bits(marking(2_000, MarkAt::Enqueue, false), &[Ecn::Ect; 5]);
    // The first finds the link idle; two fill the pool to the threshold.
    assert_eq!(found, [ect, ect, ect, ce, ce]);
    let found = bits(marking(2_000, MarkAt::Dequeue, false), &[Ecn::Ect; 5]);
    assert_eq!(found, [ect, ce, ce, ect, ect], "those that leave the pool while it holds more");
}

#[test]
fn who_is_not_capable_is_kept_or_dropped_before_it_takes_room() {
    let mixed = [Ecn::Ect, Ecn::Ect, Ecn::Ect, Ecn::NotEct, Ecn::Ect];
    let (ect, ce, not) = (Ok(Ecn::Ect), Ok(Ecn::Ce), Ok(Ecn::NotEct));
    let found = bits(marking(2_000, MarkAt::Enqueue, false), &mixed);
    assert_eq!(found, [ect, ect, ect, not, ce]);
    let found = bits(marking(2_000, MarkAt::Enqueue, true), &mixed);
    assert_eq!(found, [ect, ect, ect, Err(DropCause::Red), ce]);
}

#[test]
fn a_packet_that_passes_an_idle_port_is_marked_while_others_fill_the_pool() {
    for at in [MarkAt::Enqueue, MarkAt::Dequeue] {
        for (held, marked) in [(2_000, Ecn::Ect), (2_001, Ecn::Ce)] {
            let (mut port, mut buffer, mut pool) = marking(2_000, at, true);
            let mut other = self::buffer(1, 1.0, Bytes::ZERO);
            let (none, size) = (QueueLength::default(), Bytes::new(held));
            let mut memory = PooledBuffer { buffer: &mut other, pool: &mut pool };
            assert!(memory.store(Time::ZERO, 0, none, size).is_ok());
            let ecn = Ecn::Ect;
            let envelope = Envelope { end: End(0), size: 1000, class: Class::Data, ecn };
            let packet = Packet { envelope, cargo: 0 };
            let mut memory = PooledBuffer { buffer: &mut buffer, pool: &mut pool };
            port.enqueue(Time::ZERO, &packet, &mut memory, &mut NoProbe).unwrap();
            let end = Time::after_start(Span::from_ms(1));
            assert_eq!(port.pop_arrived(end).unwrap().envelope.ecn, marked);
            assert_eq!(pool.held(), size);
        }
    }
}
