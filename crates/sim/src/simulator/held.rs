//! Packets that an endpoint only stores, as a host does until its network interface interrupts it.

use super::Simulator;
use crate::real_hosts::RealHosts;
use shallop_core::{Packet, Probe, Time};
use shallop_proto::{Endpoint, Middlebox};

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'_, E, P, M, H> {
    /// Handles a packet that its endpoint has only stored: the endpoint is called again by `until`.
    #[inline]
    pub(super) fn on_held(&mut self, now: Time, packet: &Packet<E::Head>, until: Time) {
        let end = packet.envelope.end;
        if H::ANY {
            self.hosts.on_packet(now, packet);
            self.arm_hosts();
        }
        if self.events.deadline(self.target(end)).is_none_or(|due| until < due) {
            self.set_deadline(end, Some(until));
        }
        self.flows.on_packet_gone(end);
    }
}
