//! The memory of every port: buffers, shared pools, and the limits of its queues.
//!
//! Each metered queue has a separate limit. The other queues of a port share its buffer; if TCP has a separate queue,
//! the buffer is divided by weight. With `shared` of a switch, several ports share a pool instead, and a queue may take
//! a part of it that shrinks as the pool fills (`pools.rs`; `switch/src/pool.rs`). At hosts, queues that are not
//! metered are unlimited, or have the limit `nic_buffer` of the scenario.

use crate::network::Network;
use crate::plan::{Plan, Switch};
use crate::{pools, requirements::Requirements};
use shallop_core::{BufferSize, Bytes, Seed};
use shallop_switch::{Limit, Pool, PoolMember, PoolQuota, PortBuffer, QueueConfig};
use shallop_topology::NicMode;

#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By port: the buffer for its queues.
    pub buffers: Vec<PortBuffer>,
    /// The memory pools that several ports of a switch share.
    pub pools: Vec<Pool>,
    /// By port: the pool in which its queues are; `None` if the port has a buffer.
    members: Vec<Option<PoolMember>>,
}

impl Memory {
    /// Builds the pools of all switches, with no ports yet. [`Self::add_port`] then adds the ports in order.
    pub(crate) fn new(switches: &[Switch], network: &Network, seed: Seed) -> Self {
        let (pools, members) = pools::build(switches, network, seed);
        Self { buffers: Vec::new(), pools, members }
    }

    /// Adds the next port in order of numbers: its buffer or its place in a pool.
    pub(crate) fn add_port(
        &mut self, plan: &Plan, scheme: usize, network: &Network, port: u32, requirements: &Requirements,
        queues: &[QueueConfig],
    ) {
        let switch = network.switch(plan.switches(scheme), port);
        let rate = network.graph.link_of(port).rate;
        let own = queues.iter().enumerate().map(|(index, queue)| match (index, &queue.meter) {
            (_, None) => None,
            (0, _) => Some(Limit::for_buffer(credit_queue(plan, scheme, network, *requirements, port), rate)),
            _ => Some(Limit { packets: RETURNED_QUEUE, ..Limit::NONE }),
        });
        let mut own: Vec<Option<Limit>> = own.collect();
        let weights = switch.weights.filter(|_| requirements.legacy_queue);
        if let (Some(member), Some(shared)) = (self.members[port as usize], &switch.shared) {
            let [limit, legacy_limit] = shared.limits;
            let quota = PoolQuota { alpha: shared.alpha, limit, private: shared.private };
            let mut quotas = vec![quota; queues.len()];
            if let (Some(_), Some(legacy)) = (weights, quotas.last_mut()) {
                (legacy.alpha, legacy.limit) = (shared.legacy_alpha, legacy_limit);
            }
            return self.buffers.push(PortBuffer::pooled(member, own, &quotas));
        }
        let common = match (network.is_switch_port(port), plan.nic) {
            (true, _) => Limit::for_buffer(switch.buffer, rate),
            (false, NicMode::Fair) => Limit::NONE,
            (false, NicMode::Fifo) => Limit::for_buffer(plan.nic_buffer, rate),
        };
        self.buffers.push(match (weights, &mut own[..]) {
            (Some((data, other)), [.., legacy]) => {
                let (data, rest) = divide(common, data, other);
                *legacy = Some(rest);
                PortBuffer::new(data, own)
            }
            _ => PortBuffer::new(common, own),
        });
    }
}

/// Limit of the queue of returned credits, in packets: large enough that uneven spacing of credits causes little loss.
pub const RETURNED_QUEUE: u32 = 32;

/// The limit of a port's queue for credits or emulation packets.
pub(crate) fn credit_queue(
    plan: &Plan, scheme: usize, network: &Network, requirements: Requirements, port: u32,
) -> BufferSize {
    let switch = network.switch(plan.switches(scheme), port);
    match plan.nic_credit_queue {
        _ if network.is_switch_port(port) => switch.credit_queue,
        Some(depth) => depth,
        None => requirements.credits.and_then(|it| it.host_queue).unwrap_or(switch.credit_queue),
    }
}

/// Divides the limit of a buffer between data and TCP, by the weights `data` and `legacy` of their queues.
pub fn divide(limit: Limit, data: u32, legacy: u32) -> (Limit, Limit) {
    if limit == Limit::NONE {
        return (limit, limit);
    }
    let all = u128::from(data) + u128::from(legacy);
    let part = |weight: u32| {
        let of = |whole: u64| (u128::from(whole) * u128::from(weight) / all) as u64;
        let bytes = if limit.bytes == Bytes::MAX { Bytes::MAX } else { Bytes::new(of(limit.bytes.get())) };
        let packets = if limit.packets == u32::MAX { u32::MAX } else { of(u64::from(limit.packets)) as u32 };
        Limit { bytes, packets }
    };
    (part(data), part(legacy))
}
