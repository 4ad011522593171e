//! One run: a plan, one of its schemes, a seed. Pure: the same arguments give the same outcome, anywhere.

use std::collections::BTreeSet;

use shallop_core::{Bytes, Seed, Span, Time};
use shallop_proto::{Endpoint, Middlebox};
use shallop_sim::{NicMode, Paths, Retired, World};

use crate::capture::Capture;
use crate::ends::{self, Ends};
use crate::flows::{Coming, Flow, NoPath};
use crate::ideal::ideal_fct;
use crate::journal::{FlowRow, Journal};
use crate::layout::Layout;
use crate::load;
use crate::measure::Measure;
use crate::mix::{self, Demand};
use crate::network::Network;
use crate::outcome::{self, Outcome};
use crate::plan::{Plan, Transport};
use crate::reach::Reach;
use crate::records::REMEMBERED;
use crate::series::Series;

/// Why a run cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
    /// Somebody has nobody to send to.
    #[error(transparent)]
    NoPath(#[from] NoPath),
    /// Emulation packets would return too late.
    #[error(
        "scheme \"{scheme}\": wait = {wait} is below the largest base round trip, {largest} \
         (from \"{from}\" to \"{to}\"): credits would come too late to be used"
    )]
    ShortWait {
        /// The scheme.
        scheme: String,
        /// The waiting time.
        wait: Span,
        /// What it must not be below.
        largest: Span,
        /// The sender of that flow.
        from: String,
        /// Its receiver.
        to: String,
    },
    /// Two transports would use one class of packets for different things.
    #[error(
        "scheme \"{scheme}\": ExpressPass and FlashPass in one network: both send credits, which switches queue and \
         meter differently"
    )]
    Mix {
        /// The scheme.
        scheme: String,
    },
    /// A trace gave fewer flows than when it was checked.
    #[error("{started} flows of {flows} could be read: a trace has changed since it was checked")]
    Incomplete {
        /// Flows that were there.
        flows: usize,
        /// Flows that could be read.
        started: usize,
    },
    /// Whoever watched the run asked it to stop.
    #[error("the run was stopped before its end")]
    Stopped,
}

/// Everything about a run that follows from the plan, the scheme and the seed, before anything happens.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The scheme, an index into [`Plan::schemes`].
    pub scheme: usize,
    /// The run seed.
    pub seed: u64,
    /// The network with this seed's delays.
    pub network: Network,
    /// What the flows may bring about.
    pub reach: Reach,
    /// For each group the flows that start in a second on average, if it is one that arrives at random.
    pub rates: Vec<Option<f64>>,
    /// The ports.
    pub layout: Layout,
    /// What the transports in use ask of ports.
    pub demand: Demand,
    /// Next hops.
    pub(crate) routes: shallop_switch::Routes,
}

impl<'a> Setup<'a> {
    /// Sets a run up.
    ///
    /// # Errors
    /// If the network and the scheme do not fit.
    pub fn new(plan: &'a Plan, scheme: usize, seed: u64) -> Result<Self, RunError> {
        let root = Seed::new(seed);
        let network = Network::build(plan, root);
        let salt = root.stream("ecmp", 0).draw();
        let paths = Paths::of(&network.graph);
        let routes = paths.routes(&network.graph, plan.symmetric, salt);
        let mut reach = Reach::of(&network, &paths, &load::talk(plan, &network, root, |_| true))?;
        let rates = load::rates(plan, &network, &paths, root);
        let demand = Demand::of(plan, scheme)?;
        if demand.mixed {
            reach.crossings = mix::crossings(plan, scheme, &network, &paths, root)?;
        }
        let layout = Layout::of((plan, scheme), &network, &demand, &reach.crossings, root);
        Ok(Self { plan, scheme, seed, network, reach, rates, layout, demand, routes })
    }

    /// The flows, in the order they start.
    #[must_use]
    pub fn coming(&self) -> Coming<'_> {
        Coming::new(self)
    }

    /// How long a flow would take alone on an empty network; nothing for one without end.
    #[must_use]
    pub fn ideal(&self, flow: &Flow) -> Span {
        let Some(size) = flow.size else { return Span::ZERO };
        let graph = &self.network.graph;
        let links = flow.path.there.iter().map(|&port| graph.link_of(port));
        let links = links.map(|link| (link.rate, link.delay));
        ideal_fct(links, u64::from(flow.path.payload), size)
    }

    /// How long before its data a flow asks for credits.
    #[must_use]
    pub fn ahead(&self, flow: &Flow) -> Span {
        match &self.plan.transport(self.scheme, flow.group).transport {
            Transport::ExpressPass(config) if config.ahead => flow.path.base_rtt,
            _ => Span::ZERO,
        }
    }

    /// The root of this run's random streams.
    #[must_use]
    pub fn root(&self) -> Seed {
        Seed::new(self.seed)
    }
}

/// Finds out whether a run can be made, before any is.
///
/// # Errors
/// If it cannot.
pub fn check(plan: &Plan, scheme: usize, seed: u64) -> Result<(), RunError> {
    struct Nothing;
    impl ends::Use for Nothing {
        type Result = ();
        fn ends<E: Ends>(self, _ends: E) {}
    }
    ends::with(&Setup::new(plan, scheme, seed)?, Nothing)
}

/// Whoever watches a run is asked this often, and flows that are over are written down; more often where more of them
/// come to their end at once than are to be kept until then.
const WATCH: Span = Span::from_ms(1);

/// Whoever watches a run.
pub trait Watch {
    /// The run has come so far; false ends it.
    fn pass(&mut self, now: Time) -> bool;

    /// Rows of flows that are over, or of those that are left when the run ends. Chunks follow one another about in
    /// the order in which the flows ended; the rows of each are in the order in which they started.
    fn rows(&mut self, rows: Vec<FlowRow>);
}

/// Keeps all rows.
struct Keep<'a> {
    watch: &'a mut dyn FnMut(Time) -> bool,
    rows: Vec<FlowRow>,
}

impl Watch for Keep<'_> {
    fn pass(&mut self, now: Time) -> bool {
        (self.watch)(now)
    }

    fn rows(&mut self, mut rows: Vec<FlowRow>) {
        self.rows.append(&mut rows);
    }
}

/// Runs it, and keeps a row of every flow, in the order they started. `watch` is told the time every simulated
/// millisecond, and ends the run early by returning false.
///
/// # Errors
/// If it cannot be made, or was stopped.
pub fn run(
    plan: &Plan,
    scheme: usize,
    seed: u64,
    watch: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, RunError> {
    let mut keep = Keep { watch, rows: Vec::new() };
    let mut outcome = watched(plan, scheme, seed, &mut keep)?;
    keep.rows.sort_by_key(|row| row.flow);
    outcome.flows = keep.rows;
    Ok(outcome)
}

/// Runs it. The rows of flows go to `watch` as they come; the outcome has none.
///
/// # Errors
/// If it cannot be made, or was stopped.
pub fn watched(
    plan: &Plan,
    scheme: usize,
    seed: u64,
    watch: &mut dyn Watch,
) -> Result<Outcome, RunError> {
    let setup = Setup::new(plan, scheme, seed)?;
    ends::with(&setup, Start { setup: &setup, watch })?
}

/// What is done with the ends, whatever their type.
struct Start<'a> {
    setup: &'a Setup<'a>,
    watch: &'a mut dyn Watch,
}

impl ends::Use for Start<'_> {
    type Result = Result<Outcome, RunError>;

    fn ends<E: Ends>(self, ends: E) -> Self::Result {
        let Setup { network, layout, routes, plan, .. } = self.setup;
        let world = shallop_sim::Network {
            graph: network.graph.clone(),
            ports: layout.ports.clone(),
            rooms: layout.memory.rooms.clone(),
            pools: layout.memory.pools.clone(),
            routes: routes.clone(),
            nic: plan.nic,
        };
        let watched = |port| network.is_switch_port(port) || plan.nic == NicMode::Fifo;
        let probe = Measure::new(layout, plan.groups.len(), watched);
        let mut probe = probe;
        probe.capture = capture(self.setup);
        let coming = self.setup.coming().map(|flow| ends.flow(&flow));
        let coming = Box::new(coming);
        let clean = self.setup.plan.schemes[self.setup.scheme].clean.as_ref();
        if let Some(clean) = clean {
            let mut world = World::new(world, coming, probe);
            for (node, part) in clean.parts(&network.graph) {
                world.install(node, part);
            }
            return self.drive(world);
        }
        let world: World<'_, E::End, Measure> = World::new(world, coming, probe);
        self.drive(world)
    }
}

impl Start<'_> {
    fn drive<E: Endpoint, M: Middlebox<Head = E::Head>>(
        self,
        mut world: World<'_, E, Measure, M>,
    ) -> Result<Outcome, RunError> {
        world.retire();
        let journal = Journal::new(self.setup);
        let drive = Drive { setup: self.setup, world, journal, watch: self.watch, pace: WATCH };
        drive.run()
    }
}

/// The recorder of the links that are to be captured, if any are.
fn capture(setup: &Setup<'_>) -> Option<Capture> {
    let (sets, limit) = &setup.plan.capture;
    let ports = sets.iter().filter_map(|set| setup.network.links.get(set)).flatten();
    let ports: BTreeSet<u32> = ports.copied().collect();
    let named = ports.into_iter().map(|port| (port, setup.network.port_name(port)));
    (!sets.is_empty()).then(|| Capture::new(named.collect(), *limit))
}

/// A run under way.
struct Drive<'a, 'f, E: Endpoint, M: Middlebox<Head = E::Head>> {
    setup: &'a Setup<'a>,
    world: World<'f, E, Measure, M>,
    journal: Journal<'a>,
    watch: &'a mut dyn Watch,
    /// How long a step is.
    pace: Span,
}

impl<E: Endpoint, M: Middlebox<Head = E::Head>> Drive<'_, '_, E, M> {
    fn run(mut self) -> Result<Outcome, RunError> {
        let series = self.sampled()?;
        self.write_rest(series.end)?;
        let ports: Vec<_> = self.world.ports().map(shallop_switch::Port::counts).collect();
        let pools = self.world.pools();
        for pool in pools.iter_mut() {
            pool.pass(Time::after_start(series.end));
        }
        let pools = pools.to_vec();
        let ports = (&ports[..], &pools[..]);
        let run = outcome::summarise(self.setup, &self.world.probe, ports, &self.journal, &series);
        let capture = self.world.probe.capture.take().map(Capture::finish);
        Ok(Outcome { run, flows: Vec::new(), series: series.rows, capture })
    }

    /// Lets the world run to its end, sampling on the way.
    fn sampled(&mut self) -> Result<Series, RunError> {
        let plan = self.setup.plan;
        let mut series = Series::new(self.setup);
        let judged = plan.judged();
        let mut marks = plan.windows.iter().flat_map(|&(from, to)| [from, to]).collect::<Vec<_>>();
        // The last second is always looked at by itself.
        marks.extend([plan.duration.saturating_sub(Span::from_secs(1)), plan.duration]);
        marks.sort_unstable();
        let (mut sample, mut now, mut reached) = (plan.sample, Span::ZERO, Span::ZERO);
        while now < plan.duration {
            let mark = marks.iter().copied().find(|&mark| mark > now).unwrap_or(plan.duration);
            let fair = series.converge.due();
            now = sample.min(mark).min(fair).min(plan.duration);
            while reached < now {
                reached = now.min(reached + self.pace);
                self.advance(Time::after_start(reached))?;
            }
            // What is looked at must have caught up.
            let world = &mut self.world;
            world.run_until(Time::after_start(now));
            if now == fair {
                series.converge.look(world.probe.flows.all());
            }
            let looked = now == mark || now == sample;
            let complete = looked && judged.is_some_and(|judged| world.probe.complete == judged);
            if now == mark || complete {
                series.mark(now, &world.probe, world.ports().map(shallop_switch::Port::counts));
            }
            if now == sample {
                series.sample(now, &mut world.probe);
                sample += plan.sample;
            }
            if complete {
                break;
            }
        }
        self.world.probe.pass(Time::after_start(now));
        series.end(now);
        Ok(series)
    }

    fn advance(&mut self, to: Time) -> Result<(), RunError> {
        self.world.advance(to);
        let retired = self.world.take_retired();
        if retired.len() > REMEMBERED {
            self.pace = (self.pace / 2).max(Span::from_ns(1));
        } else if retired.len() < REMEMBERED / 4 {
            self.pace = (self.pace * 2).min(WATCH);
        }
        for Retired { flow, sender, receiver } in retired {
            if let Some(record) = self.world.probe.flows.close(flow) {
                self.journal.write(flow, &record, [sender, receiver], to);
            }
        }
        self.journal.hand_on(false, self.watch);
        if self.watch.pass(to) { Ok(()) } else { Err(RunError::Stopped) }
    }

    /// Writes down the flows that are not over.
    fn write_rest(&mut self, end: Span) -> Result<(), RunError> {
        let now = Time::after_start(end);
        self.advance(now)?;
        let left: Vec<_> =
            self.world.seated().map(|(end, machine)| (end, machine.report())).collect();
        for pair in left.chunks_exact(2) {
            let flow = pair[0].0.flow();
            if let Some(record) = self.world.probe.flows.get(flow) {
                self.journal.write(flow, record, [pair[0].1, pair[1].1], now);
            }
        }
        self.journal.hand_on(true, self.watch);
        if self.world.is_exhausted() && self.world.started() < self.setup.plan.flows() {
            return Err(RunError::Incomplete {
                flows: self.setup.plan.flows(),
                started: self.world.started(),
            });
        }
        Ok(())
    }
}

/// Bytes as a rate over a span, in bits per second.
#[must_use]
pub fn rate(bytes: u64, span: Span) -> f64 {
    Bytes::new(bytes).per(span)
}
