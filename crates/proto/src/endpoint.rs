//! An endpoint: one end of a flow, as a state machine. Inputs are `on_*`; after each of them the driver calls
//! [`settle`], which sends what the endpoint has to send and returns its next deadline. That function defines the order
//! of calls.

use std::ops::Range;

use shallop_core::{Class, Ecn, Span, Time};

use crate::counters::EndpointCounters;

/// A packet that an endpoint sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Out<H> {
    /// The transport header.
    pub head: H,
    /// The bytes of the stream that it carries; empty for control packets.
    pub body: Range<u64>,
    /// Bytes on the wire (see [`crate::wire`]).
    pub size: u16,
    /// The traffic class.
    pub class: Class,
    /// The ECN codepoint.
    pub ecn: Ecn,
}

/// One end of a flow.
pub trait Endpoint {
    /// The transport header of its packets.
    type Head: Copy;

    /// A packet arrived.
    fn on_packet(&mut self, now: Time, head: &Self::Head, ecn: Ecn);

    /// The deadline that [`Endpoint::wakeup`] named has come. The first call, at the sender, starts the flow.
    fn on_timer(&mut self, now: Time);

    /// The next packet of a class that switches meter (credits, emulation packets), if one is due. The endpoint paces
    /// such packets: they are sent when they are due, whether or not the host's link is busy, and its meter may drop
    /// them.
    fn poll_metered(&mut self, _now: Time) -> Option<Out<Self::Head>> {
        None
    }

    /// Whether [`Endpoint::poll`] would return a packet.
    fn ready(&self, now: Time) -> bool;

    /// Whether the packet that [`Endpoint::poll`] would return has low priority: it is sent when no other endpoint of
    /// the host has a packet. Unscheduled data has low priority, since it must not delay packets sent on credits.
    fn is_low_priority(&self) -> bool {
        false
    }

    /// The next packet of any other class. Called when the host's link is free for it.
    fn poll(&mut self, now: Time) -> Option<Out<Self::Head>>;

    /// When [`Endpoint::on_timer`] is to be called, if nothing else happens before. Never in the past, and never a
    /// deadline for which it was called already: a packet that is due and waits for the host's link needs no timer.
    fn wakeup(&self) -> Option<Time>;

    /// True when all bytes are acknowledged (at the sender) or received (at the receiver).
    fn is_complete(&self) -> bool;

    /// The round-trip sample of the last input, if it gave one.
    fn rtt_sample(&self) -> Option<Span> {
        None
    }

    /// The counters so far.
    fn counters(&self) -> EndpointCounters;

    /// Continues a connection: takes over the state of the same end of an earlier flow between the same hosts. Called
    /// before anything else, after all of that flow has arrived. Transports without connections ignore it.
    fn continue_connection(&mut self, _before: &Self) {}
}

/// Implements the methods of [`Endpoint`] that an enum of endpoints only forwards. `$dispatch!(self, end => call)`
/// evaluates the call with the endpoint that the enum holds.
macro_rules! forward_endpoint {
    ($dispatch:ident) => {
        fn on_timer(&mut self, now: Time) {
            $dispatch!(self, end => end.on_timer(now));
        }
        fn ready(&self, now: Time) -> bool {
            $dispatch!(self, end => end.ready(now))
        }
        fn is_low_priority(&self) -> bool {
            $dispatch!(self, end => end.is_low_priority())
        }
        fn wakeup(&self) -> Option<Time> {
            $dispatch!(self, end => end.wakeup())
        }
        fn is_complete(&self) -> bool {
            $dispatch!(self, end => end.is_complete())
        }
        fn rtt_sample(&self) -> Option<Span> {
            $dispatch!(self, end => end.rtt_sample())
        }
        fn counters(&self) -> EndpointCounters {
            $dispatch!(self, end => end.counters())
        }
    };
}
pub(crate) use forward_endpoint;

/// The host's link, as an endpoint sees it.
pub trait Nic<H> {
    /// Sends a packet of a metered class, or drops it.
    fn meter(&mut self, now: Time, out: Out<H>);
    /// True if the link is idle and would start to send a packet at once.
    fn is_free(&mut self, now: Time) -> bool;
    /// Sends a packet.
    fn send(&mut self, now: Time, out: Out<H>);
    /// The endpoint has a packet to send and the link is busy: it will be polled in its turn, after all others if it
    /// has low priority.
    fn wait(&mut self, now: Time, low_priority: bool);
}

/// Sends everything that an endpoint has to send at `now`, after an input. Returns its next deadline.
pub fn settle<E: Endpoint>(end: &mut E, now: Time, nic: &mut impl Nic<E::Head>) -> Option<Time> {
    while let Some(out) = end.poll_metered(now) {
        nic.meter(now, out);
    }
    while end.ready(now) {
        if !nic.is_free(now) {
            nic.wait(now, end.is_low_priority());
            break;
        }
        let Some(out) = end.poll(now) else { break };
        nic.send(now, out);
    }
    end.wakeup()
}
