//! Shared pools: Dynamic Thresholds.

use proptest::prelude::*;
use shallop_core::{Bytes, DropCause, Time};
use shallop_switch::{Buffer, Limit, Pool, PoolConfig, PoolMember, PoolQuota, PooledBuffer, PortBuffer, QueueLength};

const SIZE: Bytes = Bytes::new(1_000_000);
const PACKET: Bytes = Bytes::new(100);
const BYTE: Bytes = Bytes::new(1);

fn pool(size: Bytes, cell: Bytes, ports: usize) -> Pool {
    Pool::new(&PoolConfig { size, cell, red: None }, ports)
}

fn buffer(index: u32, alpha: f64, private: Bytes) -> PortBuffer {
    PortBuffer::pooled(PoolMember { pool: 0, index }, vec![None], &[PoolQuota { alpha, limit: None, private }])
}

/// Stores packets until one is refused. Returns the bytes that the queue holds.
fn fill(buffer: &mut PortBuffer, pool: &mut Pool, queue: usize) -> Bytes {
    let (mut memory, mut held) = (PooledBuffer { buffer, pool }, QueueLength::default());
    while memory.store(Time::ZERO, queue, held, PACKET).is_ok() {
        held = held.with(PACKET);
    }
    held.bytes
}

#[test]
fn departures_release_memory_and_queues_with_their_own_limit_use_none() {
    let mut pool = pool(SIZE, BYTE, 1);
    let quota = PoolQuota { alpha: 1.0, limit: None, private: Bytes::new(150) };
    let own = vec![Some(Limit { packets: 1, ..Limit::NONE }), None];
    let mut buffer = PortBuffer::pooled(PoolMember { pool: 0, index: 0 }, own, &[quota, quota]);
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
    assert!(taken.is_err(), "the port has no memory without the pool");
}

#[test]
fn queues_of_one_port_have_separate_alphas() {
    let mut pool = pool(SIZE, BYTE, 1);
    let quotas = [1.0, 0.25].map(|alpha| PoolQuota { alpha, limit: None, private: Bytes::ZERO });
    let mut buffer = PortBuffer::pooled(PoolMember { pool: 0, index: 0 }, vec![None, None], &quotas);
    let mut fill = |queue| fill(&mut buffer, &mut pool, queue);
    // Alpha 1/4 first: x = (1,000,000 - x) / 4. Alpha 1 then: x = 800,000 - x.
    assert_eq!((fill(1), fill(0)), (Bytes::new(200_000), Bytes::new(400_000)));
}

#[test]
fn a_queue_with_a_fixed_limit_fills_it_whatever_dynamic_queues_hold() {
    for (first, private, held) in [(0, 0, [300_000, 350_000]), (1, 0, [300_000, 500_000]), (0, 80, [300_100, 350_000])]
    {
        let mut pool = pool(SIZE, BYTE, 1);
        let (limit, private) = (Some(Bytes::new(300_050)), Bytes::new(private));
        let fixed = PoolQuota { alpha: 1.0, limit, private };
        let quotas = [fixed, PoolQuota { limit: None, private: Bytes::ZERO, ..fixed }];
        let mut buffer = PortBuffer::pooled(PoolMember { pool: 0, index: 0 }, vec![None, None], &quotas);
        let mut found = [Bytes::ZERO; 2];
        for queue in [first, 1 - first] {
            found[queue] = fill(&mut buffer, &mut pool, queue);
        }
        assert!(found[0] == Bytes::new(held[0]) && found[1].get().abs_diff(held[1]) <= 100, "{found:?}, not {held:?}");
    }
}

/// A reference model of the admission rule that sums the stored packets each time.
struct Rule {
    quotas: Vec<(f64, u64)>,
    cell: u64,
    queues: Vec<Vec<u64>>,
}

impl Rule {
    fn cells(&self, size: u64) -> u64 {
        size.div_ceil(self.cell) * self.cell
    }

    fn shared(&self, queue: usize, more: u64) -> u64 {
        let taken: u64 = self.queues[queue].iter().map(|&size| self.cells(size)).sum();
        (taken + self.cells(more)).saturating_sub(self.quotas[queue].1)
    }

    fn all(&self) -> u64 {
        (0..self.queues.len()).map(|queue| self.shared(queue, 0)).sum()
    }

    fn fits(&self, queue: usize, size: u64, pool: u64) -> Result<(), DropCause> {
        let more = self.shared(queue, size) - self.shared(queue, 0);
        let threshold = self.quotas[queue].0 * (pool - self.all()) as f64;
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
    fn admission_and_bytes_in_use_match_a_naive_model(
        size in 2_000u64..50_000,
        cell in prop::sample::select(vec![1u64, 64, 208]),
        quotas in prop::collection::vec(
            (prop::sample::select(vec![0.125, 0.2, 0.5, 1.0, 4.0, 8.0]), 0u64..4_000),
            1..5,
        ),
        steps in prop::collection::vec((0usize..5, prop::option::weighted(0.7, 64u64..9_039)), 1..300),
    ) {
        let mut pool = pool(Bytes::new(size), Bytes::new(cell), quotas.len());
        let mut buffers: Vec<PortBuffer> = (0..)
            .zip(&quotas)
            .map(|(place, &(alpha, private))| buffer(place, alpha, Bytes::new(private)))
            .collect();
        let queues = vec![vec![]; quotas.len()];
        let mut rule = Rule { quotas, cell, queues };
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
