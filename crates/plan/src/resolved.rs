//! A run that is ready for a driver: everything that follows, before the run starts, from a plan, one of its schemes
//! and a seed.

use crate::plan::{Ecmp, Plan, Switch};
use crate::requirements::{self, Requirements};
use crate::{error::SetupError, host_pairs::HostPairs, layout::PortLayout, load, network::Network};
use crate::{switches::in_bytes, traffic_paths::TrafficPaths};
use shallop_core::{Bytes, Pace, Seed, Span};
use shallop_switch::Routes;
use shallop_topology::Paths;
use std::sync::Arc;

/// The network of a plan under one seed, and the paths of its traffic. All schemes share it.
#[derive(Clone, Debug)]
pub struct ResolvedNetwork<'a> {
    plan: &'a Plan,
    seed: u64,
    network: Arc<Network>,
    paths: Arc<Paths>,
    traffic_paths: TrafficPaths,
    rates: Vec<Option<f64>>,
}

impl<'a> ResolvedNetwork<'a> {
    /// Builds the network and finds the paths.
    ///
    /// # Errors
    /// If two hosts that communicate have no path.
    pub fn new(plan: &'a Plan, seed: u64) -> Result<Self, SetupError> {
        let root = Seed::new(seed);
        let network = Network::build(plan, root);
        let paths = network.paths();
        let pairs = HostPairs::from_plan(plan, &network, &paths, root, |_| true);
        let traffic_paths = TrafficPaths::between(&network, &paths, &pairs)?;
        let rates = load::rates(plan, &network, &paths, root);
        let (network, paths) = (Arc::new(network), Arc::new(paths));
        Ok(Self { plan, seed, network, paths, traffic_paths, rates })
    }

    /// Resolves the run of one scheme.
    ///
    /// # Errors
    /// If the scheme cannot run in the network.
    pub fn scheme(&self, scheme: usize) -> Result<ResolvedRun<'a>, SetupError> {
        let Self { plan, seed, network, paths, .. } = self;
        let root = Seed::new(*seed);
        let mut traffic_paths = self.traffic_paths.clone();
        let requirements = Requirements::for_scheme(plan, scheme)?;
        if requirements.mixed {
            traffic_paths.ports = requirements::port_traffic(plan, scheme, network, paths, root)?;
        }
        let traffic = &traffic_paths.ports;
        let layout = PortLayout::new(plan, scheme, network, &requirements, traffic, root);
        let salt = root.stream("ecmp", 0).draw();
        Ok(ResolvedRun {
            plan,
            scheme,
            seed: *seed,
            network: network.clone(),
            paths: paths.clone(),
            traffic_paths,
            rates: self.rates.clone(),
            layout,
            requirements,
            routes: paths.routes(plan.ecmp == Ecmp::Symmetric, salt),
        })
    }
}

/// Everything that a driver needs of a run: network, ports, routes.
#[derive(Clone, Debug)]
pub struct ResolvedRun<'a> {
    pub plan: &'a Plan,
    /// Index of the run's scheme in [`Plan::schemes`].
    pub scheme: usize,
    pub seed: u64,
    /// The network, with the random delays of this seed.
    pub network: Arc<Network>,
    /// Shortest paths between all nodes of the network.
    pub paths: Arc<Paths>,
    /// The ports that the traffic may cross, and its round-trip times.
    pub traffic_paths: TrafficPaths,
    /// The mean number of flows per second in each group with random arrivals; `None` for other groups.
    pub rates: Vec<Option<f64>>,
    pub layout: PortLayout,
    pub requirements: Requirements,
    /// Routing table: the next hops at each node.
    pub routes: Routes,
}

impl<'a> ResolvedRun<'a> {
    /// Prepares one run. For several schemes with one seed, use [`ResolvedNetwork`].
    ///
    /// # Errors
    /// If the scheme cannot run in the network.
    pub fn new(plan: &'a Plan, scheme: usize, seed: u64) -> Result<Self, SetupError> {
        ResolvedNetwork::new(plan, seed)?.scheme(scheme)
    }

    /// The time in which the full buffer of a switch port drains; `None` for ports of hosts and ports that share a
    /// pool.
    pub fn drain(&self, port: u32) -> Option<Span> {
        let network = &self.network;
        let switch = network.is_switch_port(port).then(|| self.switch(port))?;
        let rate = network.graph.link_of(port).rate;
        let own = || in_bytes(switch.buffer, rate, network.full_frame(port));
        switch.shared.is_none().then(|| Pace::new(rate).quote(own()))
    }

    /// The smallest buffer of all switch ports, with the full frame on that port's link and the port: (buffer, full
    /// frame, port). `None` without switches.
    pub fn shallowest_buffer(&self) -> Option<(Bytes, Bytes, u32)> {
        let network = &self.network;
        let buffer = |port: u32| {
            let (switch, frame) = (self.switch(port), network.full_frame(port));
            let own = || in_bytes(switch.buffer, network.graph.link_of(port).rate, frame);
            (switch.shared.map_or_else(own, |shared| shared.share_of_queue(1)), frame, port)
        };
        network.switch_ports().map(buffer).min_by_key(|(bytes, frame, _)| bytes.get() / frame.get())
    }

    /// The configuration of the switch to which a port belongs.
    pub fn switch(&self, port: u32) -> &Switch {
        self.network.switch(self.plan.switches(self.scheme), port)
    }

    /// The mean payload offered to each port, in bit/s ([`load::by_port`]). `None` if no group offers an amount over
    /// time, or there are too many pairs of hosts.
    pub fn offered_load(&self) -> Option<Vec<f64>> {
        let Self { plan, network, paths, rates, .. } = self;
        let summed = load::is_offered(plan) && load::is_summed(plan, network, self.root());
        summed.then(|| load::by_port(plan, network, paths, rates, self.root()))
    }

    /// The root of the run's random streams, which are derived from its seed.
    pub fn root(&self) -> Seed {
        Seed::new(self.seed)
    }
}
