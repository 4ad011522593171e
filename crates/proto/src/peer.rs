//! Either end of a flow, for drivers that keep all ends of one kind in one array.

use shallop_core::{Ecn, Span, Time};

use crate::endpoint::{Endpoint, Out};
use crate::report::Report;

/// Either end of a flow.
#[derive(Clone, Debug)]
pub enum Peer<S, R> {
    /// The end that sends the data.
    Sender(S),
    /// The end that receives it.
    Receiver(R),
}

/// Asks whichever it is.
macro_rules! ask {
    ($peer:expr, $end:ident => $what:expr) => {
        match $peer {
            Peer::Sender($end) => $what,
            Peer::Receiver($end) => $what,
        }
    };
}

impl<S: Endpoint, R: Endpoint<Head = S::Head>> Endpoint for Peer<S, R> {
    type Head = S::Head;

    fn on_packet(&mut self, now: Time, head: &S::Head, ecn: Ecn) {
        ask!(self, end => end.on_packet(now, head, ecn));
    }
    fn on_timer(&mut self, now: Time) {
        ask!(self, end => end.on_timer(now));
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<S::Head>> {
        ask!(self, end => end.poll_metered(now))
    }
    fn ready(&self, now: Time) -> bool {
        ask!(self, end => end.ready(now))
    }
    fn may_wait(&self) -> bool {
        ask!(self, end => end.may_wait())
    }
    fn poll(&mut self, now: Time) -> Option<Out<S::Head>> {
        ask!(self, end => end.poll(now))
    }
    fn wakeup(&self) -> Option<Time> {
        ask!(self, end => end.wakeup())
    }
    fn is_complete(&self) -> bool {
        ask!(self, end => end.is_complete())
    }
    fn rtt_sample(&self) -> Option<Span> {
        ask!(self, end => end.rtt_sample())
    }
    fn report(&self) -> Report {
        ask!(self, end => end.report())
    }
    fn follow(&mut self, before: &Self) {
        match (self, before) {
            (Self::Sender(end), Self::Sender(before)) => end.follow(before),
            (Self::Receiver(end), Self::Receiver(before)) => end.follow(before),
            _ => debug_assert!(false, "an end follows one of its kind"),
        }
    }
}

/// A boxed end is an end: senders and receivers of one array then take no more memory than they need.
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
    fn may_wait(&self) -> bool {
        (**self).may_wait()
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
    fn report(&self) -> Report {
        (**self).report()
    }
    fn follow(&mut self, before: &Self) {
        (**self).follow(before);
    }
}
