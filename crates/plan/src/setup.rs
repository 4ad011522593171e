//! The setup of a run: everything that follows from a plan, one of its schemes and a seed before the run starts.

use shallop_core::Seed;
use shallop_topology::Paths;

use crate::error::SetupError;
use crate::layout::Layout;
use crate::load;
use crate::network::Network;
use crate::plan::Plan;
use crate::requirements::{self, Requirements};
use crate::traffic_paths::TrafficPaths;

/// The setup of a run.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The scheme, an index into [`Plan::schemes`].
    pub scheme: usize,
    /// The run seed.
    pub seed: u64,
    /// The network with the delays of this seed.
    pub network: Network,
    /// The paths of the traffic.
    pub traffic_paths: TrafficPaths,
    /// The mean number of flows that start in a second, for each group with random arrivals.
    pub rates: Vec<Option<f64>>,
    /// The ports.
    pub layout: Layout,
    /// What the transports in use require of ports.
    pub requirements: Requirements,
    /// Next hops.
    pub routes: shallop_switch::Routes,
}

impl<'a> Setup<'a> {
    /// Sets up a run.
    ///
    /// # Errors
    /// If the scheme cannot run in the network.
    pub fn new(plan: &'a Plan, scheme: usize, seed: u64) -> Result<Self, SetupError> {
        let root = Seed::new(seed);
        let network = Network::build(plan, root);
        let salt = root.stream("ecmp", 0).draw();
        let paths = Paths::of(&network.graph);
        let routes = paths.routes(&network.graph, plan.symmetric, salt);
        let pairs = load::host_pairs(plan, &network, root, |_| true);
        let mut traffic_paths = TrafficPaths::of(&network, &paths, &pairs)?;
        let rates = load::rates(plan, &network, &paths, root);
        let requirements = Requirements::of(plan, scheme)?;
        if requirements.mixed {
            traffic_paths.ports = requirements::port_traffic(plan, scheme, &network, &paths, root)?;
        }
        let layout =
            Layout::of((plan, scheme), &network, &requirements, &traffic_paths.ports, root);
        Ok(Self { plan, scheme, seed, network, traffic_paths, rates, layout, requirements, routes })
    }

    /// The root of this run's random streams.
    #[must_use]
    pub fn root(&self) -> Seed {
        Seed::new(self.seed)
    }
}
