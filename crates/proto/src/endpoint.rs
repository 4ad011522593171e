//! One end of a flow, as a machine. Inputs are `on_*`; after each of them the driver calls [`settle`], which asks for
//! everything the end has to say and for its next deadline. That function is the calling order.

use std::ops::Range;

use shallop_core::{Class, Ecn, Span, Time};

use crate::report::Report;

/// A packet an end wants sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Out<H> {
    /// What it says to the other end.
    pub head: H,
    /// The bytes of the stream it carries; empty for most.
    pub body: Range<u64>,
    /// Bytes on the wire (see [`crate::wire`]).
    pub size: u16,
    /// What it is for.
    pub class: Class,
    /// Its ECN bits.
    pub ecn: Ecn,
}

/// One end of a flow.
pub trait Endpoint {
    /// What its packets say, apart from the envelope.
    type Head: Copy;

    /// A packet came.
    fn on_packet(&mut self, now: Time, head: &Self::Head, ecn: Ecn);

    /// The deadline that [`Endpoint::wakeup`] named has come. The first call, on the end that sends, starts the flow.
    fn on_timer(&mut self, now: Time);

    /// The next packet of a class the network meters (credits, emulation packets), if one is due. Such packets pace
    /// themselves: they are sent when they are due, whatever the state of the host's link, and its meter may drop them.
    fn poll_metered(&mut self, _now: Time) -> Option<Out<Self::Head>> {
        None
    }

    /// Whether [`Endpoint::poll`] would give a packet.
    fn ready(&self, now: Time) -> bool;

    /// Whether the packet that [`Endpoint::poll`] would give may wait until nobody else at the host has one: data sent
    /// before any credit, which must not delay what has its time.
    fn may_wait(&self) -> bool {
        false
    }

    /// The next packet of any other class. Called when the host's link is free for it.
    fn poll(&mut self, now: Time) -> Option<Out<Self::Head>>;

    /// When [`Endpoint::on_timer`] is to be called, if nothing else happens before. Never in the past, and never a
    /// deadline that has been handed in already: what is due and waits for the host's link needs no timer.
    fn wakeup(&self) -> Option<Time>;

    /// True when everything this end has to do is done: all bytes acknowledged, or all bytes received.
    fn is_complete(&self) -> bool;

    /// The round-trip time measured by the last input, if it gave one.
    fn rtt_sample(&self) -> Option<Span> {
        None
    }

    /// What it has done so far.
    fn report(&self) -> Report;

    /// Goes on where the same end of another flow between the same hosts ended, on one connection: takes over what that
    /// learnt. Called before anything else, when all of that flow has arrived. Nothing, for transports without
    /// connections.
    fn follow(&mut self, _before: &Self) {}
}

/// The host's link, as an end sees it.
pub trait Nic<H> {
    /// Takes a packet of a metered class, or drops it.
    fn meter(&mut self, now: Time, out: Out<H>);
    /// True if the link would start to send a packet at once.
    fn is_free(&mut self, now: Time) -> bool;
    /// Sends a packet.
    fn send(&mut self, now: Time, out: Out<H>);
    /// The end has something to send and the link is busy: it will be polled in its turn, after all others if it may
    /// wait.
    fn wait(&mut self, now: Time, may_wait: bool);
}

/// Lets an end say everything it has to say at `now`, after an input. Gives its next deadline.
pub fn settle<E: Endpoint>(end: &mut E, now: Time, nic: &mut impl Nic<E::Head>) -> Option<Time> {
    while let Some(out) = end.poll_metered(now) {
        nic.meter(now, out);
    }
    while end.ready(now) {
        if !nic.is_free(now) {
            nic.wait(now, end.may_wait());
            break;
        }
        let Some(out) = end.poll(now) else { break };
        nic.send(now, out);
    }
    end.wakeup()
}
