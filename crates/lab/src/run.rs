//! One run: a plan, one of its schemes, a seed. Pure: the same arguments give the same outcome, anywhere.

use shallop_core::{Bytes, Seed, Span, Time};
use shallop_proto::Endpoint;
use shallop_sim::{NicMode, Paths, World};

use crate::ends::{self, Ends};
use crate::flows::{self, Flow, NoPath};
use crate::layout::{Crossing, Layout};
use crate::measure::Measure;
use crate::mix::{self, Demand};
use crate::network::Network;
use crate::outcome::{self, Outcome};
use crate::plan::Plan;
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
    /// The flows, in the order they start.
    pub flows: Vec<Flow>,
    /// The ports.
    pub layout: Layout,
    /// What crosses each port.
    pub crossings: Vec<Crossing>,
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
        let routes = Paths::of(&network.graph).routes(&network.graph, plan.symmetric, salt);
        let (flows, mut crossings) = flows::flows(plan, &network, &routes, root)?;
        let demand = Demand::of(plan, scheme)?;
        if demand.mixed {
            crossings = mix::crossings(plan, scheme, &network, &routes, &flows);
        }
        let layout = Layout::of(plan, &network, &demand, &crossings, root);
        Ok(Self { plan, scheme, seed, network, flows, layout, crossings, demand, routes })
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

/// Whoever watches a run is asked this often.
const WATCH: Span = Span::from_ms(1);

/// Runs it. `watch` is told the time every simulated millisecond, and ends the run early by returning false.
///
/// # Errors
/// If it cannot be made, or was stopped.
pub fn run(
    plan: &Plan,
    scheme: usize,
    seed: u64,
    watch: &mut dyn FnMut(Time) -> bool,
) -> Result<Outcome, RunError> {
    let setup = Setup::new(plan, scheme, seed)?;
    ends::with(&setup, Drive { setup: &setup, watch })?
}

/// What is done with the ends, whatever their type.
struct Drive<'a> {
    setup: &'a Setup<'a>,
    watch: &'a mut dyn FnMut(Time) -> bool,
}

impl ends::Use for Drive<'_> {
    type Result = Result<Outcome, RunError>;

    fn ends<E: Ends>(self, ends: E) -> Self::Result {
        let Setup { network, flows, layout, routes, plan, .. } = self.setup;
        let world = shallop_sim::Network {
            graph: network.graph.clone(),
            ports: layout.ports.clone(),
            rooms: layout.rooms.clone(),
            routes: routes.clone(),
            nic: plan.nic,
        };
        let watched = |port| network.is_switch_port(port) || plan.nic == NicMode::Fifo;
        let probe = Measure::new(layout, watched);
        let coming: Vec<_> = flows.iter().enumerate().map(|(n, flow)| ends.flow(n, flow)).collect();
        let mut world: World<E::End, Measure> =
            World::new(world, Box::new(coming.into_iter()), probe);
        let series = drive(&mut world, self.setup, self.watch)?;
        let reports: Vec<_> = world.ends().map(Endpoint::report).collect();
        let ports: Vec<_> = world.ports().map(shallop_switch::Port::counts).collect();
        Ok(outcome::outcome(self.setup, &world.probe, &ports, &reports, series))
    }
}

/// Lets a world run to its end, sampling on the way.
fn drive<E: Endpoint>(
    world: &mut World<E, Measure>,
    setup: &Setup<'_>,
    watch: &mut dyn FnMut(Time) -> bool,
) -> Result<Series, RunError> {
    let plan = setup.plan;
    let mut series = Series::new(setup);
    let finite = setup.flows.iter().all(|flow| flow.size.is_some());
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
            reached = now.min(reached + WATCH);
            world.advance(Time::after_start(reached));
            if !watch(Time::after_start(reached)) {
                return Err(RunError::Stopped);
            }
        }
        // What is looked at must have caught up.
        world.run_until(Time::after_start(now));
        let complete = finite && world.probe.complete == setup.flows.len();
        if now == mark || complete {
            series.mark(now, &world.probe, world.ports().map(shallop_switch::Port::counts));
        }
        if now == fair {
            series.converge.look(world.probe.arrived());
        }
        if now == sample {
            series.sample(now, &mut world.probe);
            sample += plan.sample;
        }
        if complete {
            break;
        }
    }
    world.probe.pass(Time::after_start(now));
    series.end(now);
    Ok(series)
}

/// Bytes as a rate over a span, in bits per second.
#[must_use]
pub fn rate(bytes: u64, span: Span) -> f64 {
    Bytes::new(bytes).per(span)
}
