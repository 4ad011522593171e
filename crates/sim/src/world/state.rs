//! What can be asked of a world.

use shallop_core::{End, Probe, Time};
use shallop_proto::{Endpoint, Middlebox};
use shallop_switch::{Pool, Port};

use super::World;
use crate::flow_table::Retired;
use crate::hosts::Hosts;
use crate::link::Interface;

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: Hosts<E>> World<'_, E, P, M, H> {
    /// Ends the run of those hosts, which may have something to report.
    pub fn into_hosts(self) -> (H, P) {
        (self.hosts, self.probe)
    }

    /// The ports, by number.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = &Port<E::Head>> {
        self.interfaces.iter().map(|interface| &interface.port)
    }

    /// The memory pools, by number. Their occupancy is recorded up to the last [`World::run_until`].
    pub fn pools(&mut self) -> &mut [Pool] {
        &mut self.pools
    }

    /// The present time of the run.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Lets flows retire from now on: the memory of a flow without further events is reused ([`World::take_retired`]).
    pub fn enable_retirement(&mut self) {
        self.flows.enable_retirement();
    }

    /// The flows that have retired since the last call, in order of retirement.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        self.flows.take_retired()
    }

    /// The endpoints of flows that have started and not retired, in a fixed order: sender and receiver alternate.
    pub fn ends(&self) -> impl Iterator<Item = &E> {
        self.flows.ends().map(|(_, machine)| machine)
    }

    /// The same endpoints, each with its address.
    pub fn addressed_ends(&self) -> impl Iterator<Item = (End, &E)> {
        self.flows.ends()
    }

    /// The middleboxes, in the order of their nodes.
    pub fn middleboxes(&self) -> impl Iterator<Item = &M> {
        self.middleboxes.iter().flatten()
    }

    /// Packets that are queued or on a wire.
    #[must_use]
    pub fn in_network(&self) -> usize {
        let packets =
            |interface: &Interface<_>| interface.port.on_wire() + interface.port.queued() as usize;
        self.interfaces.iter().map(packets).sum()
    }

    /// The number of flows that have started.
    #[must_use]
    pub fn started(&self) -> usize {
        self.flows.started()
    }

    /// True when every flow has started.
    pub fn is_exhausted(&mut self) -> bool {
        self.starts.peek().is_none()
    }

    /// Packets that were discarded because there was no path to their destination.
    #[must_use]
    pub fn unroutable(&self) -> u64 {
        self.unroutable
    }

    /// True when there are no further events.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.agenda.is_empty()
    }
}
