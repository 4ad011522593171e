//! One run in the simulator, of one scheme of a plan with one seed. The outcome depends on nothing else.

use crate::capture::Capture;
use crate::ends::{self, EndpointFactory};
use crate::engine::Engine;
use crate::flow_log::{FlowLog, FlowRow};
use crate::outcome::{self, Outcome};
use crate::{flow_records::RECENT_FLOWS, flow_trace::FlowTrace, live_snapshot::LiveSnapshot, observer::Observer};
use crate::{probe::Measurements, series::Series};
use shallop_core::{Span, Time};
use shallop_plan::{error::SetupError, flows::FlowGenerator, plan::Plan, resolved::ResolvedRun};
use shallop_proto::{Endpoint, Middlebox, PassThrough};
use shallop_sim::{RealHosts, Retired, Simulator};
use shallop_topology::NicMode;
use std::collections::BTreeSet;

/// Why a run has no outcome.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// The network and the scheme do not fit.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A trace had fewer flows when the run read it than when the scenario was checked.
    #[error("{started} flows of {flows} could be read: a trace has changed since it was checked")]
    Incomplete {
        /// Number of flows when the scenario was checked.
        flows: usize,
        /// Number of flows that the run could read.
        started: usize,
    },
    #[error("the run was stopped before its end")]
    Stopped,
}

/// Simulated time between calls of the observer, which also write retired flows to the log. Shortened while more flows
/// retire in that time than have records.
const OBSERVER_INTERVAL: Span = Span::from_ms(1);

/// An observer that collects the rows of all flows.
struct Collect<'a> {
    on_progress: &'a mut dyn FnMut(Time) -> bool,
    rows: Vec<FlowRow>,
}

impl Observer for Collect<'_> {
    fn on_progress(&mut self, now: Time) -> bool {
        (self.on_progress)(now)
    }

    fn on_flows(&mut self, mut rows: Vec<FlowRow>) {
        self.rows.append(&mut rows);
    }
}

/// Runs a scheme of a plan. The outcome has a row for every flow, in order of start. `on_progress` is called with the
/// simulated time at least every millisecond of it, and stops the run by returning false.
///
/// # Errors
/// If the run cannot be set up, or was stopped.
pub fn run(
    plan: &Plan, scheme: usize, seed: u64, on_progress: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, RunError> {
    let mut collect = Collect { on_progress, rows: Vec::new() };
    let mut outcome = run_observed(plan, scheme, seed, &mut collect)?;
    collect.rows.sort_by_key(|row| row.flow);
    outcome.flows = collect.rows;
    Ok(outcome)
}

/// Runs a scheme of a plan. Rows of flows go to the observer; the outcome has none.
///
/// # Errors
/// If the run cannot be set up, or was stopped.
pub fn run_observed(plan: &Plan, scheme: usize, seed: u64, observer: &mut dyn Observer) -> Result<Outcome, RunError> {
    let setup = ResolvedRun::new(plan, scheme, seed)?;
    ends::with(&setup, RunWith { setup: &setup, observer })?
}

/// Arguments of a run, until the type of its endpoints is known.
struct RunWith<'a> {
    setup: &'a ResolvedRun<'a>,
    observer: &'a mut dyn Observer,
}

impl ends::EndpointVisitor for RunWith<'_> {
    type Result = Result<Outcome, RunError>;

    fn visit<E: EndpointFactory>(self, ends: E) -> Self::Result {
        run_whole(self.setup, &ends, self.observer)
    }
}

/// Runs a setup of simulated hosts on one core.
pub(crate) fn run_whole<E: EndpointFactory>(
    setup: &ResolvedRun<'_>, ends: &E, observer: &mut dyn Observer,
) -> Result<Outcome, RunError> {
    let (network, probe) = (network(setup), probe(setup));
    let flows = Box::new(FlowGenerator::new(setup).map(|flow| ends.flow(&flow)));
    let clean = setup.plan.schemes[setup.scheme].clean.as_ref();
    if let Some(clean) = clean {
        let mut sim = Simulator::new(network, flows, probe);
        for (node, part) in clean.proxies(&setup.network.graph) {
            sim.install(node, part);
        }
        return Ok(drive(setup, sim, observer)?.0);
    }
    let sim: Simulator<'_, E::End, Measurements> = Simulator::new(network, flows, probe);
    Ok(drive(setup, sim, observer)?.0)
}

/// Runs a setup with real hosts, whose packets the simulator carries. Returns the outcome, and the hosts as they are at
/// the end.
///
/// # Errors
/// If the run was stopped, or a trace has changed.
pub fn run_with_hosts<E: EndpointFactory, H: RealHosts<E::End>>(
    setup: &ResolvedRun<'_>, ends: &E, hosts: H, observer: &mut dyn Observer,
) -> Result<(Outcome, H), RunError> {
    let flows = Box::new(FlowGenerator::new(setup).map(|flow| ends.flow(&flow)));
    let network = network(setup);
    let sim: Simulator<'_, E::End, Measurements, PassThrough<<E::End as Endpoint>::Head>, H> =
        Simulator::with_hosts(network, flows, probe(setup), hosts);
    drive(setup, sim, observer)
}

/// Builds the simulator's network: graph, routes, ports, buffers and pools.
pub(crate) fn network(setup: &ResolvedRun<'_>) -> shallop_sim::Network {
    let ResolvedRun { network, layout, routes, plan, .. } = setup;
    shallop_sim::Network {
        graph: network.graph.clone(),
        ports: layout.ports.clone(),
        buffers: layout.memory.buffers.clone(),
        pools: layout.memory.pools.clone(),
        routes: routes.clone(),
        nic: plan.nic,
    }
}

/// The probe that counts for this run. It measures queues of switches, and of hosts if their links have a queue
/// ([`NicMode::Fifo`]).
pub(crate) fn probe(setup: &ResolvedRun<'_>) -> Measurements {
    let ResolvedRun { network, plan, .. } = setup;
    let measures = |port| network.is_switch_port(port) || plan.nic == NicMode::Fifo;
    let mut probe = Measurements::new(setup, measures);
    probe.capture = capture(setup);
    probe
}

/// Runs a simulator to its end and computes the outcome.
fn drive<E: Endpoint, M: Middlebox<Head = E::Head>, H: RealHosts<E>>(
    setup: &ResolvedRun<'_>, mut sim: Simulator<'_, E, Measurements, M, H>, observer: &mut dyn Observer,
) -> Result<(Outcome, H), RunError> {
    // Packets of real hosts may come after their flow is complete.
    if !H::ANY {
        sim.enable_retirement();
    }
    let (outcome, sim) = finish(setup, sim, observer)?;
    Ok((outcome, sim.into_hosts().0))
}

/// Runs to the end and computes the outcome. Returns the simulator as it is at the end.
pub(crate) fn finish<S: Engine>(
    setup: &ResolvedRun<'_>, sim: S, observer: &mut dyn Observer,
) -> Result<(Outcome, S), RunError> {
    let log = FlowLog::new(setup);
    let trace = setup.plan.record.filter(|_| has_simulated_flows(setup)).map(FlowTrace::new);
    Drive { setup, sim, log, trace, observer, interval: OBSERVER_INTERVAL }.run()
}

/// Whether any flow of the run is between simulated hosts.
fn has_simulated_flows(setup: &ResolvedRun<'_>) -> bool {
    let mut groups = 0..setup.plan.groups.len();
    groups.any(|group| setup.plan.kernel(setup.scheme, group).is_none())
}

/// Packet capture of the links that the plan names; `None` if it names none.
fn capture(setup: &ResolvedRun<'_>) -> Option<Capture> {
    let (sets, limit) = &setup.plan.capture;
    let ports = sets.iter().filter_map(|set| setup.network.links.get(set)).flatten();
    let ports: BTreeSet<u32> = ports.copied().collect();
    let named = ports.into_iter().map(|port| (port, setup.network.port_name(port)));
    (!sets.is_empty()).then(|| Capture::new(named.collect(), *limit))
}

/// A run in progress: the simulator, its observer, the flow log and the series.
struct Drive<'a, S> {
    setup: &'a ResolvedRun<'a>,
    sim: S,
    log: FlowLog<'a>,
    /// The traces of simulated flows, if the plan records flows.
    trace: Option<FlowTrace>,
    observer: &'a mut dyn Observer,
    /// Simulated time between two calls of the observer.
    interval: Span,
}

impl<S: Engine> Drive<'_, S> {
    fn run(mut self) -> Result<(Outcome, S), RunError> {
        let series = self.sampled()?;
        self.write_rest(series.end)?;
        let ports = self.sim.port_counters();
        let mut pools = self.sim.all_pools();
        for pool in &mut pools {
            pool.advance_to(Time::after_start(series.end));
        }
        let probe = self.sim.final_probe();
        let run = outcome::summarise(self.setup, probe, &ports, &pools, &self.log, &series);
        let capture = probe.capture.take().map(Capture::finish);
        let mut outcome = Outcome { run, flows: Vec::new(), series: series.samples, capture };
        if let Some(trace) = &self.trace {
            outcome.add_traces(trace);
        }
        Ok((outcome, self.sim))
    }

    /// Runs the simulator to its end, sampling the time series on the way.
    fn sampled(&mut self) -> Result<Series, RunError> {
        let plan = self.setup.plan;
        let mut series = Series::new(self.setup);
        let mut edges = plan.windows.iter().flat_map(|&(from, to)| [from, to]).collect::<Vec<_>>();
        // The last second is always a window.
        edges.extend([plan.duration.saturating_sub(Span::from_secs(1)), plan.duration]);
        edges.sort_unstable();
        let (mut sample, mut now, mut reached) = (plan.sample, Span::ZERO, Span::ZERO);
        while now < plan.duration {
            let edge = edges.iter().copied().find(|&edge| edge > now).unwrap_or(plan.duration);
            let fair = series.converge.due();
            now = sample.min(edge).min(fair).min(plan.duration);
            while reached < now && !self.sim.is_over() {
                reached = now.min(reached + self.interval);
                self.trace_flows(reached);
                self.advance(Time::after_start(reached))?;
            }
            // Ports must catch up before they are sampled.
            let sim = &mut self.sim;
            sim.run_until(Time::after_start(now));
            let complete = sim.is_over();
            now = sim.now().since_start();
            if now == fair {
                series.converge.end_window(sim.probe().flows.all());
            }
            if now == edge || complete {
                let ports = sim.port_counters();
                series.checkpoint(now, sim.probe(), ports.into_iter());
            }
            if series.is_due(now) || complete {
                series.sample(now, sim.probe());
            }
            if now == sample {
                if self.observer.wants_snapshot(now) {
                    self.observer.on_snapshot(LiveSnapshot::new(self.setup, now, sim.probe()));
                }
                sample += plan.sample;
            }
            if complete {
                break;
            }
        }
        self.sim.probe().advance_to(Time::after_start(now));
        series.end(now);
        Ok(series)
    }

    /// Samples the states of simulated flows at each time up to `until` at which it is due. Of a flow, one end knows
    /// the state.
    fn trace_flows(&mut self, until: Span) {
        let Some(trace) = &mut self.trace else { return };
        while trace.due() <= until {
            let now = trace.due();
            self.sim.advance(Time::after_start(now));
            if self.sim.now() < Time::after_start(now) {
                return;
            }
            for (flow, state) in &self.sim.states() {
                trace.add(now, *flow, state);
            }
            trace.finish(now);
        }
    }

    fn advance(&mut self, to: Time) -> Result<(), RunError> {
        self.sim.advance(to);
        let now = self.sim.now();
        let retired = self.sim.take_retired();
        if retired.len() > RECENT_FLOWS {
            self.interval = (self.interval / 2).max(Span::from_ns(1));
        } else if retired.len() < RECENT_FLOWS / 4 {
            self.interval = (self.interval * 2).min(OBSERVER_INTERVAL);
        }
        for Retired { flow, sender, receiver } in retired {
            if let Some(record) = self.sim.close(flow) {
                self.log.write(flow, &record, [sender, receiver], now);
            }
        }
        self.log.flush(false, &mut |rows| self.observer.on_flows(rows));
        if self.observer.on_progress(now) { Ok(()) } else { Err(RunError::Stopped) }
    }

    /// Writes the flows that are in progress at the end of the run to the log.
    fn write_rest(&mut self, end: Span) -> Result<(), RunError> {
        let now = Time::after_start(end);
        self.advance(now)?;
        for (flow, counters) in self.sim.in_progress() {
            if let Some(record) = self.sim.probe().flows.get(flow) {
                self.log.write(flow, record, counters, now);
            }
        }
        self.log.flush(true, &mut |rows| self.observer.on_flows(rows));
        if self.sim.is_exhausted() && self.sim.started() < self.setup.plan.flows() {
            return Err(RunError::Incomplete { flows: self.setup.plan.flows(), started: self.sim.started() });
        }
        Ok(())
    }
}
