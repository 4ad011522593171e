//! The memory pools of switches, and the ports that share each pool. Pools are numbered in the order of their first
//! ports.

use crate::plan::{Bcc, QueueMarking, Switch};
use crate::{bcc::Thresholds, network::Network};
use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed};
use shallop_switch::{Pool, PoolConfig, PoolMember, RedConfig};
use std::collections::BTreeMap;

/// A memory pool of a switch, with the ports that share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolPorts {
    /// Index of the switch's configuration in [`Plan::switches`](crate::plan::Plan::switches).
    pub switch: usize,
    /// The ports that share the pool, in ascending order.
    pub ports: Vec<u32>,
}

/// Finds the pools of all switches, numbered in the order of their first ports.
pub fn pools(switches: &[Switch], network: &Network) -> Vec<PoolPorts> {
    let mut pools: Vec<PoolPorts> = Vec::new();
    let mut known = BTreeMap::new();
    let mut others = BTreeMap::new();
    for port in network.switch_ports() {
        let node = network.graph.near(port).0;
        let switch = network.switch_of[node as usize];
        let Some(shared) = &switches[switch].shared else { continue };
        let lists = &switches[switch].pools;
        let listed = lists.iter().position(|names| names.iter().any(|name| port_matches(network, port, name)));
        let which = listed.map_or_else(
            || {
                let before: &mut u32 = others.entry(node).or_default();
                *before += 1;
                lists.len() as u32 + (*before - 1) / shared.ports.unwrap_or(u32::MAX).max(1)
            },
            |at| at as u32,
        );
        let pool = *known.entry((node, which)).or_insert_with(|| {
            pools.push(PoolPorts { switch, ports: Vec::new() });
            pools.len() - 1
        });
        pools[pool].ports.push(port);
    }
    pools
}

/// Whether `name` is the node to which the port leads, or a set of links to which the port belongs.
pub fn port_matches(network: &Network, port: u32, name: &str) -> bool {
    network.names[network.graph.far(port).0 as usize] == name
        || network.links.get(name).is_some_and(|ports| ports.contains(&port))
}

impl PoolPorts {
    /// The rate of the fastest port of the pool.
    pub fn rate(&self, network: &Network) -> BitsPerSec {
        let rates = self.ports.iter().map(|&port| network.graph.link_of(port).rate);
        rates.max().unwrap_or(BitsPerSec::gbps(1))
    }

    /// The BCC thresholds of the pool, if its switch uses BCC. Ports without traffic count as well.
    pub fn thresholds(&self, switches: &[Switch], network: &Network) -> Option<Thresholds> {
        let switch = &switches[self.switch];
        let (bcc, shared) = (switch.bcc?, switch.shared?);
        let ports = shared.ports.unwrap_or(self.ports.len() as u32);
        Some(Thresholds::new(&bcc, &shared, self.rate(network), ports))
    }

    /// The marking by the occupancy of the pool, by hand or of BCC.
    pub fn marking(&self, switches: &[Switch], network: &Network) -> Option<QueueMarking> {
        let switch = &switches[self.switch];
        let by_hand = switch.shared.and_then(|shared| shared.mark);
        by_hand.or_else(|| {
            let (bcc, thresholds) = (switch.bcc?, self.thresholds(switches, network)?);
            let [min, max] =
                [thresholds.min, thresholds.max].map(|bytes| BufferSize::Bytes(Bytes::new(bytes.max(0.0) as u64)));
            let Bcc { max_probability, spacing, .. } = bcc;
            Some(QueueMarking { min, max, max_probability, spacing, ..QueueMarking::step(max, bcc.at) })
        })
    }

    /// Builds the pool for the simulator. `number` selects the random stream of its marks.
    fn build(&self, number: usize, switches: &[Switch], network: &Network, seed: Seed) -> Pool {
        let shared = switches[self.switch].shared;
        let red = self.marking(switches, network).map(|marking| -> RedConfig {
            let frame = self.ports.first().map(|&port| network.full_frame(port));
            let frame = frame.unwrap_or_default();
            marking.red(self.rate(network), frame, seed.stream("pool", number as u64))
        });
        let (size, cell) = shared.map_or((Bytes::ZERO, Bytes::ZERO), |it| (it.size, it.cell));
        Pool::new(&PoolConfig { size, cell, red }, self.ports.len())
    }
}

/// Builds the pools of all switches, and returns the pool to which each port belongs.
pub(crate) fn build(switches: &[Switch], network: &Network, seed: Seed) -> (Vec<Pool>, Vec<Option<PoolMember>>) {
    let pools = pools(switches, network);
    let mut members = vec![None; network.graph.ports()];
    for (pool, sharing) in (0..).zip(&pools) {
        for (index, &port) in (0..).zip(&sharing.ports) {
            members[port as usize] = Some(PoolMember { pool, index });
        }
    }
    let numbered = pools.iter().enumerate();
    let built = numbered.map(|(number, pool)| pool.build(number, switches, network, seed));
    (built.collect(), members)
}
