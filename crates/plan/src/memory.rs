//! The memory of every port: buffers, shared pools, and the limits of its queues.
//!
//! Metered queues have limits of their own. The other queues share the port's buffer; if TCP has a queue of its own,
//! the buffer is divided by weight. Or several ports of a switch share a pool, of which a queue may take a part that
//! shrinks as the pool fills (`shared` of a switch; `pools.rs`; `switch/src/pool.rs`). At hosts, queues that are not
//! metered are unlimited, or have the queue of the scenario.

use shallop_core::{BufferSize, Bytes, Seed};
use shallop_switch::{Limit, Pool, PoolMember, PoolQuota, PortBuffer, QueueConfig};
use shallop_topology::NicMode;

use crate::network::Network;
use crate::plan::{Plan, Switch};
use crate::pools;
use crate::requirements::Requirements;

/// The memory of a network's ports.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The buffer of each port.
    pub buffers: Vec<PortBuffer>,
    /// The memory pools that several ports share.
    pub pools: Vec<Pool>,
    /// The pool that each port uses, if it uses one.
    members: Vec<Option<PoolMember>>,
}

impl Memory {
    /// The pools of these switches, without buffers of ports.
    pub(crate) fn new(switches: &[Switch], network: &Network, seed: Seed) -> Self {
        let (pools, members) = pools::build(switches, network, seed);
        Self { buffers: Vec::new(), pools, members }
    }

    /// Adds the buffer of the next port.
    pub(crate) fn add_port(
        &mut self,
        plan: &Plan,
        scheme: usize,
        network: &Network,
        port: u32,
        requirements: &Requirements,
        queues: &[QueueConfig],
    ) {
        let node = network.graph.near(port).0;
        let switch = &plan.switches(scheme)[network.switch_of[node as usize]];
        let rate = network.graph.link_of(port).rate;
        let own = queues.iter().enumerate().map(|(index, queue)| match (index, &queue.meter) {
            (_, None) => None,
            (0, _) => {
                Some(Limit::of(credit_queue(plan, scheme, network, *requirements, port), rate))
            }
            _ => Some(Limit { packets: RETURNED_QUEUE, ..Limit::NONE }),
        });
        let mut own: Vec<Option<Limit>> = own.collect();
        let weights = switch.weights.filter(|_| requirements.legacy_queue);
        if let (Some(member), Some(shared)) = (self.members[port as usize], &switch.shared) {
            let quota = PoolQuota { alpha: shared.alpha, private: shared.private };
            let mut quotas = vec![quota; queues.len()];
            if let (Some(_), Some(legacy)) = (weights, quotas.last_mut()) {
                legacy.alpha = shared.legacy_alpha;
            }
            return self.buffers.push(PortBuffer::pooled(member, own, &quotas));
        }
        let common = match (network.is_switch_port(port), plan.nic) {
            (true, _) => Limit::of(switch.buffer, rate),
            (false, NicMode::Fair) => Limit::NONE,
            (false, NicMode::Fifo) => Limit::of(plan.nic_buffer, rate),
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

/// The limit of a metered queue of returned credits, in packets: large enough that their uneven spacing causes little
/// loss.
pub const RETURNED_QUEUE: u32 = 32;

/// The depth of a port's queue of credits or emulation packets.
pub(crate) fn credit_queue(
    plan: &Plan,
    scheme: usize,
    network: &Network,
    requirements: Requirements,
    port: u32,
) -> BufferSize {
    let node = network.graph.near(port).0 as usize;
    let switch = &plan.switches(scheme)[network.switch_of[node]];
    match plan.nic_credit_queue {
        _ if network.is_switch_port(port) => switch.credit_queue,
        Some(depth) => depth,
        None => requirements.credits.and_then(|it| it.host_queue).unwrap_or(switch.credit_queue),
    }
}

/// A limit divided by weight.
pub fn divide(limit: Limit, data: u32, legacy: u32) -> (Limit, Limit) {
    if limit == Limit::NONE {
        return (limit, limit);
    }
    let all = u128::from(data) + u128::from(legacy);
    let part = |weight: u32| {
        let of = |whole: u64| (u128::from(whole) * u128::from(weight) / all) as u64;
        let bytes =
            if limit.bytes == Bytes::MAX { Bytes::MAX } else { Bytes::new(of(limit.bytes.get())) };
        let packets =
            if limit.packets == u32::MAX { u32::MAX } else { of(u64::from(limit.packets)) as u32 };
        Limit { bytes, packets }
    };
    (part(data), part(legacy))
}
