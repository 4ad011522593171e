//! Which ports of which switches share which memory. Pools are numbered in the order of their first ports.

use std::collections::BTreeMap;

use shallop_core::{BitsPerSec, BufferSize, Bytes, Seed};
use shallop_proto::wire;
use shallop_switch::{Member, Pool, PoolConfig, RedConfig};

use crate::bcc::Thresholds;
use crate::network::Network;
use crate::outcome::above;
use crate::plan::{Marking, Switch};
use crate::run::Setup;
use crate::summary;

/// A pool of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// What the switch is like, an index.
    pub switch: usize,
    /// The ports that draw on it, in their order.
    pub ports: Vec<u32>,
}

/// The pools of a network whose switches are like this.
#[must_use]
pub fn pools(switches: &[Switch], network: &Network) -> Vec<Shares> {
    let mut pools: Vec<Shares> = Vec::new();
    let mut known = BTreeMap::new();
    let mut others = BTreeMap::new();
    for port in (0..network.graph.ports() as u32).filter(|&port| network.is_switch_port(port)) {
        let node = network.graph.near(port).0;
        let switch = network.switch_of[node as usize];
        let Some(shared) = &switches[switch].shared else { continue };
        let lists = &switches[switch].pools;
        let listed =
            lists.iter().position(|names| names.iter().any(|name| is(network, port, name)));
        let which = listed.map_or_else(
            || {
                let before: &mut u32 = others.entry(node).or_default();
                *before += 1;
                lists.len() as u32 + (*before - 1) / shared.ports.unwrap_or(u32::MAX).max(1)
            },
            |at| at as u32,
        );
        let pool = *known.entry((node, which)).or_insert_with(|| {
            pools.push(Shares { switch, ports: Vec::new() });
            pools.len() - 1
        });
        pools[pool].ports.push(port);
    }
    pools
}

/// Whether a port leads to a node of this name, or is of a set of links of this name.
pub(crate) fn is(network: &Network, port: u32, name: &str) -> bool {
    network.names[network.graph.far(port).0 as usize] == name
        || network.links.get(name).is_some_and(|ports| ports.contains(&port))
}

/// What the pools of a run held.
pub(crate) fn held(setup: &Setup<'_>, made: &[Pool]) -> Vec<summary::Pool> {
    let (switches, network) = (setup.plan.switches(setup.scheme), &setup.network);
    let all = pools(switches, network);
    let node = |shares: &Shares| shares.ports.first().map(|&port| network.graph.near(port));
    let held = |(number, (shares, pool)): (usize, (&Shares, &Pool))| {
        let at = node(shares);
        let at_switch = |of: &[Shares]| of.iter().filter(|other| node(other) == at).count();
        let name = at.map_or("", |at| network.names[at.0 as usize].as_str());
        let alone = at_switch(&all) == 1;
        let occupancy = pool.occupancy();
        summary::Pool {
            place: if alone {
                name.to_owned()
            } else {
                format!("{name}/{}", at_switch(&all[..number]))
            },
            ports: shares.ports.len() as u64,
            size_bytes: pool.size().get(),
            max_bytes: occupancy.max().get(),
            mean_bytes: occupancy.mean(),
            p50_bytes: occupancy.quantile(0.5).get(),
            p99_bytes: occupancy.quantile(0.99).get(),
            p9999_bytes: occupancy.quantile(0.9999).get(),
            above: above(setup, occupancy),
        }
    };
    all.iter().zip(made).enumerate().map(held).collect()
}

impl Shares {
    /// The rate of its fastest port.
    #[must_use]
    pub fn rate(&self, network: &Network) -> BitsPerSec {
        let rates = self.ports.iter().map(|&port| network.graph.link_of(port).rate);
        rates.max().unwrap_or(BitsPerSec::gbps(1))
    }

    /// Its thresholds by the rules of BCC, if its switch follows them. As many ports count as a pool is for, in use or
    /// not.
    #[must_use]
    pub fn thresholds(&self, switches: &[Switch], network: &Network) -> Option<Thresholds> {
        let switch = &switches[self.switch];
        let (bcc, shared) = (switch.bcc?, switch.shared?);
        let ports = shared.ports.unwrap_or(self.ports.len() as u32);
        Some(Thresholds::of(&bcc, &shared, self.rate(network), ports))
    }

    /// How it marks, if it does.
    fn marking(&self, switches: &[Switch], network: &Network) -> Option<Marking> {
        let switch = &switches[self.switch];
        let by_hand = switch.shared.and_then(|shared| shared.mark);
        by_hand.or_else(|| {
            let (bcc, thresholds) = (switch.bcc?, self.thresholds(switches, network)?);
            let [min, max] = [thresholds.min, thresholds.max]
                .map(|bytes| BufferSize::Bytes(Bytes::new(bytes.max(0.0) as u64)));
            Some(Marking { min, max, most: bcc.most, ..Marking::step(max, bcc.at) })
        })
    }

    /// The pool, with its number.
    fn make(&self, number: usize, (switches, network): (&[Switch], &Network), seed: Seed) -> Pool {
        let shared = switches[self.switch].shared;
        let red = self.marking(switches, network).map(|marking| -> RedConfig {
            let link = self.ports.first().map(|&port| network.graph.link_of(port));
            let frame = link.map_or(0, |link| wire::frame(link.mtu.get()));
            let frame = Bytes::new(u64::from(frame));
            marking.red((self.rate(network), frame), seed.stream("pool", number as u64))
        });
        let (size, cell) = shared.map_or((Bytes::ZERO, Bytes::ZERO), |it| (it.size, it.cell));
        Pool::new(&PoolConfig { size, cell, red }, self.ports.len())
    }
}

/// The pools as machines, and for each port its part in one, if it has one.
pub(crate) fn made(
    switches: &[Switch],
    network: &Network,
    seed: Seed,
) -> (Vec<Pool>, Vec<Option<Member>>) {
    let pools = pools(switches, network);
    let mut members = vec![None; network.graph.ports()];
    for (pool, shares) in (0..).zip(&pools) {
        for (place, &port) in (0..).zip(&shares.ports) {
            members[port as usize] = Some(Member { pool, place });
        }
    }
    let numbered = pools.iter().enumerate();
    let made = numbered.map(|(number, pool)| pool.make(number, (switches, network), seed));
    (made.collect(), members)
}
