//! A machine at a node, between its wires and its ports: it reads and may rewrite what passes, envelope and head.

use std::marker::PhantomData;

use shallop_core::{Packet, Time};

/// A box in the path.
pub trait Middlebox {
    /// What the packets it understands say.
    type Head;

    /// Whether it looks at what leaves the node, too.
    const LEAVES: bool = false;

    /// A packet passes on its way into the node, by the wire behind this port of the node before.
    fn pass(&mut self, now: Time, port: u32, packet: &mut Packet<Self::Head>);

    /// A packet has left the node by this port of its own: it is behind the port's queue, and has crossed the wire.
    /// Called only if [`Middlebox::LEAVES`].
    fn leave(&mut self, _now: Time, _port: u32, _packet: &mut Packet<Self::Head>) {}
}

/// Changes nothing.
#[derive(Clone, Copy, Debug)]
pub struct PassThrough<H>(PhantomData<H>);

impl<H> Default for PassThrough<H> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<H> Middlebox for PassThrough<H> {
    type Head = H;
    fn pass(&mut self, _now: Time, _port: u32, _packet: &mut Packet<H>) {}
}
