//! What a run asks of the simulator, whether it has the whole network or is one of several for parts of it.

use crate::flow_records::FlowRecord;
use crate::probe::Measurements;
use shallop_core::{Probe, Time};
use shallop_proto::{Endpoint, EndpointCounters, FlowState, Middlebox};
use shallop_sim::{RealHosts, Retired, Simulator};
use shallop_switch::{Pool, Port, PortCounters};

pub(crate) trait Engine {
    fn now(&self) -> Time;
    fn is_over(&self) -> bool;
    fn advance(&mut self, to: Time);
    /// As `advance`; then all ports have caught up.
    fn run_until(&mut self, to: Time);
    /// The counts up to the last [`Engine::run_until`].
    fn probe(&mut self) -> &mut Measurements;
    /// The counts at the end of the run; some are complete only here.
    fn final_probe(&mut self) -> &mut Measurements {
        self.probe()
    }
    fn take_retired(&mut self) -> Vec<Retired>;
    /// Closes the record of a flow that has retired.
    fn close(&mut self, flow: u32) -> Option<FlowRecord>;
    fn port_counters(&self) -> Vec<PortCounters>;
    fn all_pools(&mut self) -> Vec<Pool>;
    /// Flows in progress, with the counters of their senders and receivers.
    fn in_progress(&self) -> Vec<(u32, [EndpointCounters; 2])>;
    /// States of flows in progress, in order of their numbers.
    fn states(&mut self) -> Vec<(u32, FlowState)>;
    fn started(&self) -> usize;
    fn is_exhausted(&mut self) -> bool;
}

impl<E: Endpoint, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Engine for Simulator<'_, E, Measurements, M, H> {
    fn now(&self) -> Time {
        self.now()
    }

    fn is_over(&self) -> bool {
        self.probe.is_over()
    }

    fn advance(&mut self, to: Time) {
        self.advance(to);
    }

    fn run_until(&mut self, to: Time) {
        self.run_until(to);
    }

    fn probe(&mut self) -> &mut Measurements {
        &mut self.probe
    }

    fn take_retired(&mut self) -> Vec<Retired> {
        self.take_retired()
    }

    fn close(&mut self, flow: u32) -> Option<FlowRecord> {
        self.probe.flows.close(flow)
    }

    fn port_counters(&self) -> Vec<PortCounters> {
        self.ports().map(Port::counters).collect()
    }

    fn all_pools(&mut self) -> Vec<Pool> {
        self.pools().to_vec()
    }

    fn in_progress(&self) -> Vec<(u32, [EndpointCounters; 2])> {
        let ends: Vec<_> = self.addressed_ends().map(|(end, machine)| (end.flow(), machine.counters())).collect();
        ends.chunks_exact(2).map(|pair| (pair[0].0, [pair[0].1, pair[1].1])).collect()
    }

    fn states(&mut self) -> Vec<(u32, FlowState)> {
        self.catch_up_metered();
        let states = self.addressed_ends().filter_map(|(end, machine)| Some((end.flow(), machine.flow_state()?)));
        let mut states: Vec<_> = states.collect();
        states.sort_unstable_by_key(|(flow, _)| *flow);
        states
    }

    fn started(&self) -> usize {
        self.started()
    }

    fn is_exhausted(&mut self) -> bool {
        self.is_exhausted()
    }
}
