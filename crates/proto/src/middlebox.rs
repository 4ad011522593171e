//! A middlebox is a state machine at a node, between the node's wires and ports, that may rewrite envelope and header
//! of packets.

use shallop_core::{Packet, Time};
use std::marker::PhantomData;

/// A state machine at one node that reads and rewrites packets, such as the CLEAN proxy.
pub trait Middlebox {
    type Head;

    /// Whether drivers must call [`Middlebox::on_egress`]; calling it costs time for each packet.
    const HAS_EGRESS: bool = false;

    /// A packet arrives at the node over the wire of `port`, which is a port of the previous node.
    fn on_ingress(&mut self, now: Time, port: u32, packet: &mut Packet<Self::Head>);

    /// A packet that left the node by `port` has passed the queue and the wire of this port. Called only if
    /// [`Middlebox::HAS_EGRESS`].
    fn on_egress(&mut self, _now: Time, _port: u32, _packet: &mut Packet<Self::Head>) {}
}

/// A middlebox that changes nothing, for nodes without one.
#[derive(Clone, Copy, Debug)]
pub struct PassThrough<H>(PhantomData<H>);

impl<H> Default for PassThrough<H> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<H> Middlebox for PassThrough<H> {
    type Head = H;
    fn on_ingress(&mut self, _now: Time, _port: u32, _packet: &mut Packet<H>) {}
}
