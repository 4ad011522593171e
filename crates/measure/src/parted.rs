//! One run on several cores: a simulator and a probe for each part of the network, whose counts are added up when they
//! are read. A run on one core has an identical outcome.

mod ending;

use self::ending::RunEnding;
use crate::ends::{self, EndpointFactory, EndpointVisitor};
use crate::run::{self, RunError};
use crate::{engine::Engine, flow_records::FlowRecord, observer::Observer, outcome::Outcome, probe::Measurements};
use shallop_core::{End, Node, Time};
use shallop_plan::plan::{Connections, Plan};
use shallop_plan::{flows::FlowGenerator, resolved::ResolvedRun};
use shallop_proto::{Endpoint, EndpointCounters, FlowState, Middlebox, PassThrough};
use shallop_sim::{Cut, Parts, Retired, Simulator, Team};
use shallop_switch::{Pool, PoolMember, Port, PortCounters};
use std::collections::BTreeMap;

/// Runs a scheme of a plan on this number of cores. A run that cannot be divided, for a reason that is told to the
/// observer, uses one. Rows of flows go to the observer; the outcome has none.
///
/// # Errors
/// If the run cannot be set up, or was stopped.
pub fn run_on(
    (cores, team): (usize, &dyn Team), plan: &Plan, scheme: usize, seed: u64, observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    if cores < 2 {
        return run::run_observed(plan, scheme, seed, observer);
    }
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    ends::with(&setup, RunOn { setup: &setup, cores, team, observer })?
}

/// Arguments of a run, until the type of its endpoints is known.
struct RunOn<'a> {
    setup: &'a ResolvedRun<'a>,
    cores: usize,
    team: &'a dyn Team,
    observer: &'a mut dyn Observer,
}

impl EndpointVisitor for RunOn<'_> {
    type Result = Result<Outcome, RunError>;

    fn visit<E: EndpointFactory>(self, ends: E) -> Self::Result {
        let Self { setup, cores, team, observer } = self;
        let proxies = setup.plan.schemes[setup.scheme].clean.as_ref().map(|clean| clean.proxies(&setup.network.graph));
        let cut = match whole_because::<E::End>(setup) {
            Some(why) => Err(why),
            None => cut(setup, cores, &|node| proxies.as_ref().is_some_and(|proxies| proxies.contains_key(&node))),
        };
        let cut = match cut {
            Ok(cut) => {
                if cut.count < cores {
                    observer.on_note(&format!(
                        "{cores} cores: the run uses {}, as its network has no more parts",
                        cut.count
                    ));
                }
                cut
            }
            Err(why) => {
                observer.on_note(&format!("{cores} cores: the run uses one, since {why}"));
                return run::run_whole(setup, &ends, observer);
            }
        };
        if let Some(proxies) = proxies {
            return run_parts(setup, &ends, (&cut, &proxies), team, observer);
        }
        let none: BTreeMap<Node, PassThrough<_>> = BTreeMap::new();
        run_parts(setup, &ends, (&cut, &none), team, observer)
    }
}

/// Why a run cannot be divided; `None` if it may be.
fn whole_because<E: Endpoint>(setup: &ResolvedRun<'_>) -> Option<&'static str> {
    let plan = setup.plan;
    if E::SENDS_METERED {
        return Some("its transport sends credits, or its groups have transports of their own");
    }
    if plan.groups.iter().any(|group| group.connections == Connections::Kept) {
        return Some("which connection a flow takes over depends on flows elsewhere");
    }
    (!plan.capture.0.is_empty()).then_some("it captures packets")
}

/// Cuts the network of a run into `cores` parts, or into as many as it has. `is_whole` tells whether all links of a
/// node stay in one part.
fn cut(setup: &ResolvedRun<'_>, cores: usize, is_whole: &dyn Fn(Node) -> bool) -> Result<Cut, &'static str> {
    let (graph, offered) = (&setup.network.graph, setup.offered_load());
    let mut work = vec![0.0; graph.nodes.len()];
    for port in 0..graph.ports() as u32 {
        let rate = graph.link_of(port).rate.get() as f64;
        let carried = offered.as_ref().map_or(rate, |offered| offered[port as usize].min(rate));
        for node in [graph.near(port), graph.far(port)] {
            work[node.0 as usize] += carried;
        }
    }
    let may_cut = |link: usize| !is_whole(graph.links[link].a) && !is_whole(graph.links[link].b);
    let mut counts = (2..=cores).rev();
    let cut = counts.find_map(|count| shallop_sim::cut(graph, &setup.layout.ports, count, may_cut, &work));
    cut.ok_or("no links divide its network that have a constant delay: no loss, faults, changes or `nic_jitter`")
}

fn run_parts<E: EndpointFactory, M: Middlebox<Head = <E::End as Endpoint>::Head> + Clone + Send>(
    setup: &ResolvedRun<'_>, ends: &E, (cut, boxes): (&Cut, &BTreeMap<Node, M>), team: &dyn Team,
    observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let part = |_| {
        let flows = Box::new(FlowGenerator::new(setup).map(|flow| ends.flow(&flow)));
        let mut sim = Simulator::new(run::network(setup), flows, run::probe(setup).for_part());
        for (&node, middlebox) in boxes {
            sim.install(node, middlebox.clone());
        }
        sim
    };
    let parts = Parts::new((0..cut.count).map(part).collect(), cut);
    let owners = (0..setup.layout.ports.len() as u32).map(|port| cut.part_of(setup.network.graph.near(port)));
    let total = run::probe(setup);
    let ending = RunEnding::new(setup, total.counted);
    let engine =
        Parted { setup, parts, total, owners: owners.collect(), team, ending, retired: Vec::new(), gathered: false };
    Ok(run::finish(setup, engine, observer)?.0)
}

/// The simulators of all parts of a network, and their counts together.
struct Parted<'a, 'f, E: Endpoint, M: Middlebox<Head = E::Head>> {
    setup: &'a ResolvedRun<'a>,
    parts: Parts<'f, E, Measurements, M>,
    total: Measurements,
    /// Part of each port; the index is the port's number.
    owners: Vec<usize>,
    team: &'a dyn Team,
    ending: RunEnding,
    /// Flows that have retired and were not taken yet.
    retired: Vec<Retired>,
    /// Whether the records of queues are in `total`, not in the parts.
    gathered: bool,
}

impl<E: Endpoint, M: Middlebox<Head = E::Head>> Parted<'_, '_, E, M> {
    /// Moves the records of queues from the parts to the total, or back.
    fn move_queues(&mut self) {
        for (number, record) in self.total.queues.iter_mut().enumerate() {
            let part = &mut self.parts.sims[self.owners[record.0.port as usize]];
            std::mem::swap(record, &mut part.probe.queues[number]);
        }
        self.gathered = !self.gathered;
    }

    /// Endpoints of flows in progress, in order of their addresses.
    fn ends(&self) -> Vec<(End, &E)> {
        let mut ends: Vec<_> = self.parts.sims.iter().flat_map(Simulator::own_ends).collect();
        ends.sort_unstable_by_key(|(end, _)| *end);
        ends
    }
}

impl<E: Endpoint + Send, M: Middlebox<Head = E::Head> + Send> Engine for Parted<'_, '_, E, M> {
    fn now(&self) -> Time {
        self.parts.now()
    }

    fn is_over(&self) -> bool {
        let complete = self.parts.sims.iter().map(|sim| sim.probe.complete).sum();
        self.total.counted == Some(complete)
    }

    fn advance(&mut self, to: Time) {
        if self.gathered {
            self.move_queues();
        }
        self.parts.advance(to, self.team, &mut self.ending);
        self.retired.append(&mut self.parts.take_retired());
    }

    fn run_until(&mut self, to: Time) {
        self.advance(to);
        self.parts.catch_up();
        self.total.gather(self.parts.sims.iter().map(|sim| &sim.probe));
        self.move_queues();
    }

    fn probe(&mut self) -> &mut Measurements {
        &mut self.total
    }

    fn final_probe(&mut self) -> &mut Measurements {
        if !self.gathered {
            self.move_queues();
        }
        self.total.gather_all(self.parts.sims.iter().map(|sim| &sim.probe));
        &mut self.total
    }

    fn take_retired(&mut self) -> Vec<Retired> {
        std::mem::take(&mut self.retired)
    }

    fn close(&mut self, flow: u32) -> Option<FlowRecord> {
        let records = self.parts.sims.iter_mut().filter_map(|sim| sim.probe.flows.close(flow));
        records.reduce(|sum, record| sum.plus(&record))
    }

    fn port_counters(&self) -> Vec<PortCounters> {
        let parts: Vec<Vec<_>> = self.parts.sims.iter().map(|sim| sim.ports().collect()).collect();
        self.owners.iter().enumerate().map(|(port, &owner)| Port::counters(parts[owner][port])).collect()
    }

    fn all_pools(&mut self) -> Vec<Pool> {
        let memory = &self.setup.layout.memory;
        let mut pools = memory.pools.clone();
        for (buffer, &owner) in memory.buffers.iter().zip(&self.owners) {
            if let Some(PoolMember { pool, index: 0 }) = buffer.member() {
                pools[pool as usize] = self.parts.sims[owner].pools()[pool as usize].clone();
            }
        }
        pools
    }

    fn in_progress(&self) -> Vec<(u32, [EndpointCounters; 2])> {
        let ends = self.ends();
        ends.chunks_exact(2).map(|pair| (pair[0].0.flow(), [pair[0].1.counters(), pair[1].1.counters()])).collect()
    }

    fn states(&mut self) -> Vec<(u32, FlowState)> {
        self.ends().into_iter().filter_map(|(end, machine)| Some((end.flow(), machine.flow_state()?))).collect()
    }

    fn started(&self) -> usize {
        self.parts.sims[0].started()
    }

    fn is_exhausted(&mut self) -> bool {
        self.parts.sims[0].is_exhausted()
    }
}
