//! Ports that share memory.

use super::Simulator;
use crate::{link::Interface, real_hosts::RealHosts};
use shallop_core::{Packet, Probe, Time};
use shallop_proto::{Endpoint, Middlebox};
use shallop_switch::{PoolMember, PooledBuffer, PortBuffer};

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'_, E, P, M, H> {
    /// Enqueues a packet at a port that uses a memory pool. Before the pool decides about the packet, all its ports
    /// catch up, so that it knows all departures.
    pub(super) fn enqueue_pooled(
        &mut self, now: Time, number: u32, member: PoolMember, packet: &Packet<E::Head>,
    ) -> bool {
        let port = &self.interfaces[number as usize].port;
        let needs_memory = !port.sends_at_once(now, packet.envelope.class);
        if needs_memory || self.pools[member.pool as usize].marks() {
            self.serve_pool(now, member.pool);
        }
        let Interface { port, buffer, .. } = &mut self.interfaces[number as usize];
        let pool = &mut self.pools[member.pool as usize];
        let mut pooled = PooledBuffer { buffer, pool };
        let result = port.enqueue(now, packet, &mut pooled, &mut self.probe);
        pool.next_service.set(member.index as usize, port.next_service);
        result.is_ok()
    }

    /// Lets the ports of a pool catch up to `now`; packet by packet in order of time if the pool marks departures.
    pub(super) fn serve_pool(&mut self, now: Time, pool: u32) {
        while let Some((index, until)) = self.pools[pool as usize].next_to_serve(now) {
            let port = self.members[pool as usize][index];
            self.interfaces[port as usize].catch_up(until, &mut self.pools, &mut self.probe);
            self.collect_dropped(port);
        }
    }
}

/// Port numbers of the members of each memory pool, in the order of the ports' indices in the pool.
pub(super) fn members(buffers: &[PortBuffer], pools: usize) -> Vec<Vec<u32>> {
    let mut members = vec![vec![]; pools];
    for (port, buffer) in (0..).zip(buffers) {
        if let Some(PoolMember { pool, index }) = buffer.member() {
            let ports: &mut Vec<u32> = &mut members[pool as usize];
            ports.resize(ports.len().max(index as usize + 1), port);
            ports[index as usize] = port;
        }
    }
    members
}
