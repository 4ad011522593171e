//! An endpoint is one end of a flow, as a state machine. Its inputs are the methods `on_*`. After each input the driver
//! calls [`settle`], which sends the endpoint's packets and returns its next deadline. [`settle`] defines the order of
//! calls.

use crate::{counters::EndpointCounters, flow_state::FlowState, metered_run::MeteredRun};
use shallop_core::{Class, Ecn, Span, Time};
use std::ops::Range;

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

/// One end of a flow. The default methods suit a receiver that sends nothing and has no deadline.
pub trait Endpoint {
    type Head: Copy + Send;
    /// Whether [`Endpoint::metered_run`] may return a run.
    const SENDS_METERED: bool = false;

    fn on_packet(&mut self, now: Time, head: &Self::Head, ecn: Ecn);

    /// The deadline that [`Endpoint::wakeup`] named has come. At the sender, the first call starts the flow.
    fn on_timer(&mut self, _now: Time) {}

    /// Returns the next packet of the class that switches meter (credits or emulation packets), if it is due. The
    /// endpoint paces such packets: they are sent when they are due, even if the host's link is busy, and the meter of
    /// the link may drop them.
    fn poll_metered(&mut self, _now: Time) -> Option<Out<Self::Head>> {
        None
    }

    /// The metered packets that the endpoint sends at its next deadlines, as long as it does nothing else at these.
    fn metered_run(&self) -> Option<MeteredRun> {
        None
    }

    /// The packet number `number` of the present run, which is sent at `at` and has this size.
    fn metered_packet(&self, _at: Time, _number: u64, _size: u16) -> Option<Out<Self::Head>> {
        None
    }

    /// Takes over the state of a run that began at the present state. Returns how many packets the run has sent.
    fn end_run(&mut self, _run: &MeteredRun) -> u64 {
        0
    }

    /// Whether [`Endpoint::poll`] has a packet to send now.
    fn ready(&self, _now: Time) -> bool {
        false
    }

    /// Whether the next packet of [`Endpoint::poll`] has low priority: the host sends it only when no other endpoint
    /// has a packet. Unscheduled data has low priority, since it must not delay packets sent on credits.
    fn is_low_priority(&self) -> bool {
        false
    }

    /// Returns the next packet that is not of the metered class. Called when the host's link is free.
    fn poll(&mut self, _now: Time) -> Option<Out<Self::Head>> {
        None
    }

    /// The time at which [`Endpoint::on_timer`] is to be called unless another input comes first. It is never in the
    /// past, and never a deadline for which `on_timer` was already called: a packet that is due and waits for the
    /// host's link needs no timer.
    fn wakeup(&self) -> Option<Time> {
        None
    }

    /// Until when the packet that arrived last waits, if the endpoint has only stored it: then the packet has changed
    /// nothing but [`Endpoint::wakeup`], which is now at this time or earlier.
    fn held_until(&self) -> Option<Time> {
        None
    }

    /// Whether all bytes are acknowledged (at the sender) or have arrived (at the receiver).
    fn is_complete(&self) -> bool;

    /// The round-trip time that the last input measured, if it measured one.
    fn rtt_sample(&self) -> Option<Span> {
        None
    }

    fn counters(&self) -> EndpointCounters;

    /// The state of an open flow, for traces, if this end sets the flow's rate. Not called on the packet path.
    fn flow_state(&self) -> Option<FlowState> {
        None
    }

    /// Takes over the state of the TCP connection from the endpoint of an earlier flow between the same hosts. Called
    /// before any input, after all data of the earlier flow has arrived. Transports without connections ignore it.
    fn continue_connection(&mut self, _before: &Self) {}
}

/// Implements methods of [`Endpoint`] by calling them on another endpoint. `$dispatch!(self, end => call)` must
/// evaluate the call with that endpoint as `end`.
macro_rules! forward_endpoint {
    ($dispatch:ident) => {
        fn on_timer(&mut self, now: Time) {
            $dispatch!(self, end => end.on_timer(now));
        }
        fn metered_run(&self) -> Option<crate::metered_run::MeteredRun> {
            $dispatch!(self, end => end.metered_run())
        }
        fn end_run(&mut self, run: &crate::metered_run::MeteredRun) -> u64 {
            $dispatch!(self, end => end.end_run(run))
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
        #[inline]
        fn held_until(&self) -> Option<Time> {
            $dispatch!(self, end => end.held_until())
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
        fn flow_state(&self) -> Option<crate::flow_state::FlowState> {
            $dispatch!(self, end => end.flow_state())
        }
    };
}
pub(crate) use forward_endpoint;

/// Implements methods of [`Endpoint`] for an endpoint that holds back packets, by calling them on its field `end`.
macro_rules! forward_to_end {
    () => {
        fn is_complete(&self) -> bool {
            self.end.is_complete()
        }
        fn counters(&self) -> EndpointCounters {
            self.end.counters()
        }
        fn flow_state(&self) -> Option<crate::flow_state::FlowState> {
            self.end.flow_state()
        }
        fn continue_connection(&mut self, before: &Self) {
            self.end.continue_connection(&before.end);
        }
    };
}
pub(crate) use forward_to_end;

/// The network interface of a host, to which an endpoint gives its packets.
pub trait Nic<H> {
    /// Sends a packet of the metered class, or drops it if the meter of the link does.
    fn meter(&mut self, now: Time, out: Out<H>);
    /// Whether the link would start to send a packet at once.
    fn is_free(&mut self, now: Time) -> bool;
    fn send(&mut self, now: Time, out: Out<H>);
    /// Registers that the endpoint has a packet to send while the link is busy. The host polls it in turn or, with low
    /// priority, after all other endpoints.
    fn wait(&mut self, now: Time, low_priority: bool);
}

/// Sends all packets that an endpoint has to send at `now`. Called after each input. Returns the endpoint's next
/// deadline.
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
