//! An endpoint is one end of a flow, as a state machine. Its inputs are the methods `on_*`. After each input the driver
//! calls [`settle`], which sends what the endpoint has to send and returns its next deadline. [`settle`] defines the
//! order of calls.

use std::ops::Range;

use shallop_core::{Class, Ecn, Span, Time};

use crate::counters::EndpointCounters;

#[derive(Clone, Debug, PartialEq)]
pub struct Out<H> {
    pub head: H,
    /// Bytes of the stream that the packet carries; empty for control packets.
    pub body: Range<u64>,
    /// Size on the wire in bytes ([`crate::wire`]).
    pub size: u16,
    pub class: Class,
    pub ecn: Ecn,
}

/// One end of a flow. The defaults suit an end that only receives: it never sends and has no deadline.
pub trait Endpoint {
    /// The transport's packet header.
    type Head: Copy;

    fn on_packet(&mut self, now: Time, head: &Self::Head, ecn: Ecn);

    /// The deadline named by [`Endpoint::wakeup`] has come. At the sender, the first call starts the flow.
    fn on_timer(&mut self, _now: Time) {}

    /// Returns the next packet of a class that switches meter (credits, emulation packets), if one is due. The endpoint
    /// paces such packets: they are sent when they are due, even if the host's link is busy, and the meter of the link
    /// may drop them.
    fn poll_metered(&mut self, _now: Time) -> Option<Out<Self::Head>> {
        None
    }

    /// Whether [`Endpoint::poll`] would return a packet.
    fn ready(&self, _now: Time) -> bool {
        false
    }

    /// Whether the packet that [`Endpoint::poll`] would return has low priority: the host sends it when no other
    /// endpoint has a packet. Unscheduled data has low priority, since it must not delay packets sent on credits.
    fn is_low_priority(&self) -> bool {
        false
    }

    /// Returns the next packet of all other classes. Called when the host's link is free.
    fn poll(&mut self, _now: Time) -> Option<Out<Self::Head>> {
        None
    }

    /// When [`Endpoint::on_timer`] is to be called if nothing else happens before. Never in the past, and never a
    /// deadline for which it was called already: a packet that is due and waits for the host's link needs no timer.
    fn wakeup(&self) -> Option<Time> {
        None
    }

    /// Whether all bytes are acknowledged (at the sender) or have arrived (at the receiver).
    fn is_complete(&self) -> bool;

    /// The round-trip sample of the last input, if it gave one.
    fn rtt_sample(&self) -> Option<Span> {
        None
    }

    fn counters(&self) -> EndpointCounters;

    /// Takes over the connection state of the same end of an earlier flow between the same hosts. Called before
    /// anything else, after all data of the earlier flow has arrived. Transports without connections ignore it.
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
    /// Sends a packet of a metered class, or drops it if the meter does.
    fn meter(&mut self, now: Time, out: Out<H>);
    /// Whether the link is idle and would start to send a packet at once.
    fn is_free(&mut self, now: Time) -> bool;
    fn send(&mut self, now: Time, out: Out<H>);
    /// The endpoint has a packet to send while the link is busy. It will be polled in turn; with low priority, after
    /// all other endpoints.
    fn wait(&mut self, now: Time, low_priority: bool);
}

/// Sends everything that an endpoint has to send at `now`, after an input. Returns the endpoint's next deadline.
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
