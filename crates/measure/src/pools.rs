//! Results of the shared memory pools of switches.

use crate::fractions::above;
use shallop_plan::pools::{PoolPorts, pools};
use shallop_plan::resolved::ResolvedRun;
use shallop_results::summary;
use shallop_switch::Pool;

/// Occupancy of each memory pool over the run, for the summary.
pub(crate) fn occupancies(setup: &ResolvedRun<'_>, made: &[Pool]) -> Vec<summary::Pool> {
    let (switches, network) = (setup.plan.switches(setup.scheme), &setup.network);
    let all = pools(switches, network);
    let node = |shares: &PoolPorts| shares.ports.first().map(|&port| network.graph.near(port));
    let occupancy_of = |(number, (shares, pool)): (usize, (&PoolPorts, &Pool))| {
        let at = node(shares);
        let at_switch = |of: &[PoolPorts]| of.iter().filter(|other| node(other) == at).count();
        let name = at.map_or("", |at| network.names[at.0 as usize].as_str());
        let alone = at_switch(&all) == 1;
        let occupancy = pool.occupancy();
        summary::Pool {
            place: if alone { name.to_owned() } else { format!("{name}/{}", at_switch(&all[..number])) },
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
    all.iter().zip(made).enumerate().map(occupancy_of).collect()
}
