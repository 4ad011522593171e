//! What the queues of every port may hold, and of which memory.
//!
//! Metered queues have room of their own. The others share the port's buffer, which data and TCP apart divide by
//! weight; or ports of a switch share a pool, of which a queue may have a part that shrinks as the pool fills (`shared`
//! of a switch; `pools.rs`; `switch/src/pool.rs`). Hosts' links have room without end for what is not metered, or the
//! queue that the scenario gives them.

use shallop_core::{BufferSize, Bytes, Seed};
use shallop_sim::NicMode;
use shallop_switch::{Claim, Limit, Member, Pool, QueueConfig, Room};

use crate::mix::{Demand, Kind};
use crate::network::Network;
use crate::plan::{Plan, Switch};
use crate::pools;

/// The memory of a network's ports.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// For each port the memory it draws on.
    pub rooms: Vec<Room>,
    /// Memory that several ports share.
    pub pools: Vec<Pool>,
    /// For each port its part in a pool, if it has one.
    members: Vec<Option<Member>>,
}

impl Memory {
    /// The pools of these switches; no port has a room yet.
    pub(crate) fn of(switches: &[Switch], network: &Network, seed: Seed) -> Self {
        let (pools, members) = pools::made(switches, network, seed);
        Self { rooms: Vec::new(), pools, members }
    }

    /// Adds the room of the next port.
    pub(crate) fn add(
        &mut self,
        (plan, scheme): (&Plan, usize),
        network: &Network,
        (port, demand): (u32, &Demand),
        queues: &[QueueConfig],
    ) {
        let node = network.graph.near(port).0;
        let switch = &plan.switches(scheme)[network.switch_of[node as usize]];
        let rate = network.graph.link_of(port).rate;
        let own = queues.iter().enumerate().map(|(index, queue)| match (index, &queue.meter) {
            (_, None) => None,
            (0, _) => Some(Limit::of(credit_queue((plan, scheme), network, *demand, port), rate)),
            _ => Some(Limit { packets: RETURNED_QUEUE, ..Limit::NONE }),
        });
        let mut own: Vec<Option<Limit>> = own.collect();
        let apart = switch.weights.filter(|_| demand.apart);
        if let (Some(member), Some(shared)) = (self.members[port as usize], &switch.shared) {
            let claim = Claim { alpha: shared.alpha, private: shared.private };
            let mut claims = vec![claim; queues.len()];
            if let (Some(_), Some(legacy)) = (apart, claims.last_mut()) {
                legacy.alpha = shared.legacy_alpha;
            }
            return self.rooms.push(Room::pooled(member, own, &claims));
        }
        let common = match (network.is_switch_port(port), plan.nic) {
            (true, _) => Limit::of(switch.buffer, rate),
            (false, NicMode::Fair) => Limit::NONE,
            (false, NicMode::Fifo) => Limit::of(plan.nic_buffer, rate),
        };
        self.rooms.push(match (apart, &mut own[..]) {
            (Some(weights), [.., legacy]) => {
                let (data, rest) = divide(common, weights);
                *legacy = Some(rest);
                Room::new(data, own)
            }
            _ => Room::new(common, own),
        });
    }
}

/// Packets that wait where returned credits are metered, at most: so many that little is lost to their uneven spacing.
pub const RETURNED_QUEUE: u32 = 32;

/// Emulation packets that a host's own link holds at most, unless the scenario says otherwise: what waits there shifts
/// the rehearsal against the data, and a link of 1 Gb/s to the receiver has room for 13 frames (docs/flashpass.md).
const HOST_EMULATION: BufferSize = BufferSize::Packets(2);

/// The depth of a port's queue of credits or emulation packets.
pub(crate) fn credit_queue(
    (plan, scheme): (&Plan, usize),
    network: &Network,
    demand: Demand,
    port: u32,
) -> BufferSize {
    let node = network.graph.near(port).0 as usize;
    let switch = &plan.switches(scheme)[network.switch_of[node]];
    match plan.nic_credit_queue {
        _ if network.is_switch_port(port) => switch.credit_queue,
        Some(depth) => depth,
        None if demand.proactive == Some(Kind::FlashPass) => HOST_EMULATION,
        None => switch.credit_queue,
    }
}

/// A bound divided by weight.
#[must_use]
pub fn divide(limit: Limit, (data, legacy): (u32, u32)) -> (Limit, Limit) {
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
