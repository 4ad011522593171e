//! Accessors of the simulator, and the installation of middleboxes.

use super::Simulator;
use crate::{flow_table::Retired, link::Interface, real_hosts::RealHosts};
use shallop_core::{End, Node, Probe, Time};
use shallop_proto::{Endpoint, Middlebox};
use shallop_switch::{Pool, Port};

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'_, E, P, M, H> {
    /// Installs a middlebox at a node. It processes every packet that enters the node and, if it handles egress, every
    /// packet that has left the node.
    pub fn install(&mut self, node: Node, middlebox: M) {
        let node = node.0 as usize;
        self.middleboxes.resize_with(self.middleboxes.len().max(node + 1), Vec::new);
        self.middleboxes[node].push(middlebox);
    }

    /// Ends the run and returns the real hosts and the probe.
    pub fn into_hosts(self) -> (H, P) {
        (self.hosts, self.probe)
    }

    /// Ports of the network, in the order of their numbers.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = &Port<E::Head>> {
        self.interfaces.iter().map(|interface| &interface.port)
    }

    /// Memory pools, in the order of their numbers. Their occupancy is recorded up to the last
    /// [`Simulator::run_until`].
    pub fn pools(&mut self) -> &mut [Pool] {
        &mut self.pools
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Frees the memory of flows without further events from now on; [`Simulator::take_retired`] returns their
    /// counters.
    pub fn enable_retirement(&mut self) {
        self.flows.enable_retirement();
    }

    /// Removes and returns the flows that have retired since the last call, in order of retirement.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        self.flows.take_retired()
    }

    /// Endpoints of flows in progress, in a fixed order: sender and receiver alternate.
    pub fn ends(&self) -> impl Iterator<Item = &E> {
        self.flows.ends().map(|(_, machine)| machine)
    }

    /// Endpoints as [`Simulator::ends`] returns them, each with its address.
    pub fn addressed_ends(&self) -> impl Iterator<Item = (End, &E)> {
        self.flows.ends()
    }

    /// Middleboxes, in the order of their nodes.
    pub fn middleboxes(&self) -> impl Iterator<Item = &M> {
        self.middleboxes.iter().flatten()
    }

    /// Number of packets that are queued or on a wire.
    pub fn in_network(&self) -> usize {
        let packets = |interface: &Interface<_>| interface.port.on_wire() + interface.port.queued() as usize;
        self.interfaces.iter().map(packets).sum()
    }

    pub fn started(&self) -> usize {
        self.flows.started()
    }

    /// Whether every flow of the run has started.
    pub fn is_exhausted(&mut self) -> bool {
        self.starts.peek().is_none()
    }

    /// Number of packets that were discarded because there was no path to their destination.
    pub fn unroutable(&self) -> u64 {
        self.unroutable
    }

    /// Whether no further event is due.
    pub fn is_idle(&self) -> bool {
        self.events.is_empty()
    }
}
