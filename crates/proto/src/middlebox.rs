//! A middlebox: a state machine at a node, between its wires and its ports, that may rewrite the envelope and the
//! header of packets.

use std::marker::PhantomData;

use shallop_core::{Packet, Time};

/// A middlebox at one node.
pub trait Middlebox {
    /// The transport header of the packets.
    type Head;

    /// Whether [`Middlebox::on_egress`] is called.
    const HAS_EGRESS: bool = false;

    /// A packet arrives at the node, from the wire of this port of the previous node.
    fn on_ingress(&mut self, now: Time, port: u32, packet: &mut Packet<Self::Head>);

    /// A packet has left the node by this port of the node: it is past the port's queue and its wire. Called only if
    /// [`Middlebox::HAS_EGRESS`].
    fn on_egress(&mut self, _now: Time, _port: u32, _packet: &mut Packet<Self::Head>) {}
}

/// The middlebox of nodes without one: it changes nothing.
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
