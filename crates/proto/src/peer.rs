//! Either end of a flow, so that drivers can keep senders and receivers in one array.

use shallop_core::{Ecn, Span, Time};

use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out};

/// Either end of a flow.
#[derive(Clone, Debug)]
pub enum Peer<S, R> {
    /// The sender of the data.
    Sender(S),
    /// The receiver.
    Receiver(R),
}

/// Calls a method of whichever end it is.
macro_rules! dispatch {
    ($peer:expr, $end:ident => $call:expr) => {
        match $peer {
            Peer::Sender($end) => $call,
            Peer::Receiver($end) => $call,
        }
    };
}

impl<S: Endpoint, R: Endpoint<Head = S::Head>> Endpoint for Peer<S, R> {
    type Head = S::Head;

    fn on_packet(&mut self, now: Time, head: &S::Head, ecn: Ecn) {
        dispatch!(self, end => end.on_packet(now, head, ecn));
    }
    fn on_timer(&mut self, now: Time) {
        dispatch!(self, end => end.on_timer(now));
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<S::Head>> {
        dispatch!(self, end => end.poll_metered(now))
    }
    fn ready(&self, now: Time) -> bool {
        dispatch!(self, end => end.ready(now))
    }
    fn is_low_priority(&self) -> bool {
        dispatch!(self, end => end.is_low_priority())
    }
    fn poll(&mut self, now: Time) -> Option<Out<S::Head>> {
        dispatch!(self, end => end.poll(now))
    }
    fn wakeup(&self) -> Option<Time> {
        dispatch!(self, end => end.wakeup())
    }
    fn is_complete(&self) -> bool {
        dispatch!(self, end => end.is_complete())
    }
    fn rtt_sample(&self) -> Option<Span> {
        dispatch!(self, end => end.rtt_sample())
    }
    fn counters(&self) -> EndpointCounters {
        dispatch!(self, end => end.counters())
    }
    fn continue_connection(&mut self, before: &Self) {
        match (self, before) {
            (Self::Sender(end), Self::Sender(before)) => end.continue_connection(before),
            (Self::Receiver(end), Self::Receiver(before)) => end.continue_connection(before),
            _ => debug_assert!(false, "a sender continues a sender, a receiver a receiver"),
        }
    }
}

/// A boxed endpoint: the smaller of sender and receiver then takes no more memory than it needs.
impl<E: Endpoint> Endpoint for Box<E> {
    type Head = E::Head;

    fn on_packet(&mut self, now: Time, head: &E::Head, ecn: Ecn) {
        (**self).on_packet(now, head, ecn);
    }
    fn on_timer(&mut self, now: Time) {
        (**self).on_timer(now);
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<E::Head>> {
        (**self).poll_metered(now)
    }
    fn ready(&self, now: Time) -> bool {
        (**self).ready(now)
    }
    fn is_low_priority(&self) -> bool {
        (**self).is_low_priority()
    }
    fn poll(&mut self, now: Time) -> Option<Out<E::Head>> {
        (**self).poll(now)
    }
    fn wakeup(&self) -> Option<Time> {
        (**self).wakeup()
    }
    fn is_complete(&self) -> bool {
        (**self).is_complete()
    }
    fn rtt_sample(&self) -> Option<Span> {
        (**self).rtt_sample()
    }
    fn counters(&self) -> EndpointCounters {
        (**self).counters()
    }
    fn continue_connection(&mut self, before: &Self) {
        (**self).continue_connection(before);
    }
}
