//! The setup of a run: everything that follows from a plan, one of its schemes and a seed before the run starts.

use std::sync::Arc;

use shallop_core::{Bytes, Pace, Seed, Span};
use shallop_proto::wire;
use shallop_switch::Routes;
use shallop_topology::Paths;

use crate::error::SetupError;
use crate::host_pairs::HostPairs;
use crate::layout::PortLayout;
use crate::load;
use crate::network::Network;
use crate::plan::Plan;
use crate::requirements::{self, Requirements};
use crate::switches::in_bytes;
use crate::traffic_paths::TrafficPaths;

/// What all schemes of a plan have in common under one seed: the network, and the paths of the traffic.
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
    /// If there is no path between two hosts that communicate.
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

    /// Sets up the run of a scheme.
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
            routes: paths.routes(plan.symmetric, salt),
        })
    }
}

/// The setup of a run.
#[derive(Clone, Debug)]
pub struct ResolvedRun<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The scheme, an index into [`Plan::schemes`].
    pub scheme: usize,
    /// The run seed.
    pub seed: u64,
    /// The network with the delays of this seed.
    pub network: Arc<Network>,
    /// Its shortest paths.
    pub paths: Arc<Paths>,
    /// The paths of the traffic.
    pub traffic_paths: TrafficPaths,
    /// The mean number of flows that start in a second, for each group with random arrivals.
    pub rates: Vec<Option<f64>>,
    /// The ports.
    pub layout: PortLayout,
    /// What the transports in use require of ports.
    pub requirements: Requirements,
    /// Next hops.
    pub routes: Routes,
}

impl<'a> ResolvedRun<'a> {
    /// Sets up a run. Runs of several schemes with one seed have a [`ResolvedNetwork`].
    ///
    /// # Errors
    /// If the scheme cannot run in the network.
    pub fn new(plan: &'a Plan, scheme: usize, seed: u64) -> Result<Self, SetupError> {
        ResolvedNetwork::new(plan, seed)?.scheme(scheme)
    }

    /// The time in which the full buffer of a switch's port drains; `None` without one of its own.
    pub fn drain(&self, port: u32) -> Option<Span> {
        let (network, link) = (&self.network, self.network.graph.link_of(port));
        let switch = network.switch_of.get(network.graph.near(port).0 as usize);
        let switch = switch.and_then(|&of| self.plan.switches(self.scheme).get(of));
        let own = switch.filter(|of| network.is_switch_port(port) && of.shared.is_none())?;
        let frame = Bytes::new(u64::from(wire::frame(link.mtu.get())));
        Some(Pace::new(link.rate).quote(in_bytes(own.buffer, link.rate, frame)))
    }

    /// The buffer of a switch's port that holds the fewest full frames: how many bytes, those of a frame, and the port.
    /// `None` without switches.
    pub fn shallowest_buffer(&self) -> Option<(Bytes, Bytes, u32)> {
        let network = &self.network;
        let ports = (0..network.graph.ports() as u32).filter(|&port| network.is_switch_port(port));
        let buffer = |port: u32| {
            let link = network.graph.link_of(port);
            let switch = network.switch_of[network.graph.near(port).0 as usize];
            let switch = &self.plan.switches(self.scheme)[switch];
            let frame = Bytes::new(u64::from(wire::frame(link.mtu.get())));
            let own = || in_bytes(switch.buffer, link.rate, frame);
            (switch.shared.map_or_else(own, |shared| shared.share_of_queue(1)), frame, port)
        };
        ports.map(buffer).min_by_key(|(bytes, frame, _)| bytes.get() / frame.get())
    }

    /// The root of this run's random streams.
    pub fn root(&self) -> Seed {
        Seed::new(self.seed)
    }
}
