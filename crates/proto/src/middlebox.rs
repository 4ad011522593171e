//! A machine at a node, between its wires and its ports: it reads and may rewrite what passes, envelope and head.

use std::marker::PhantomData;

use shallop_core::{Envelope, Time};

/// A box in the path.
pub trait Middlebox {
    /// What the packets it understands say.
    type Head;

    /// A packet passes on its way into the node.
    fn pass(&mut self, now: Time, envelope: &mut Envelope, head: &mut Self::Head);
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
    fn pass(&mut self, _now: Time, _envelope: &mut Envelope, _head: &mut H) {}
}
