//! Links that are cut: the simulator with the sending port moves the packets on the wire to the one with the far node.

use super::Port;
use shallop_core::{Packet, Time};

impl<C: Copy> Port<C> {
    /// Removes all packets on the wire, with the times of their arrivals. The link has no impairment.
    pub fn take_wire(&mut self, take: impl FnMut(Time, &Packet<C>)) {
        self.link.wire.take_all(take);
    }

    /// Puts a packet on the wire that another simulator has removed from it, or that is computed in bulk. It arrives
    /// after all packets on the wire.
    pub fn put_on_wire(&mut self, arrival: Time, packet: &Packet<C>) {
        self.link.wire.put(arrival, packet);
    }
}
