//! Either end of a flow, for drivers that keep both in one array.

use shallop_control::Rate;
use shallop_core::{Ecn, Span, Time};

use super::head::Head;
use super::receiver::Receiver;
use super::sender::Sender;
use crate::endpoint::{Endpoint, Out};
use crate::report::Report;

/// Either end of a flow.
#[derive(Clone, Debug)]
pub enum Peer<R> {
    /// The end that sends data.
    Sender(Sender),
    /// The end that receives it.
    Receiver(Receiver<R>),
}

/// Passes a call on to whichever end it is.
macro_rules! either {
    ($peer:expr, $end:ident => $call:expr) => {
        match $peer {
            Peer::Sender($end) => $call,
            Peer::Receiver($end) => $call,
        }
    };
}

impl<R: Rate> Endpoint for Peer<R> {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, ecn: Ecn) {
        either!(self, end => end.on_packet(now, head, ecn));
    }
    fn on_timer(&mut self, now: Time) {
        either!(self, end => end.on_timer(now));
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<Head>> {
        either!(self, end => end.poll_metered(now))
    }
    fn ready(&self, now: Time) -> bool {
        either!(self, end => end.ready(now))
    }
    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
        either!(self, end => end.poll(now))
    }
    fn wakeup(&self) -> Option<Time> {
        either!(self, end => end.wakeup())
    }
    fn is_complete(&self) -> bool {
        either!(self, end => end.is_complete())
    }
    fn rtt_sample(&self) -> Option<Span> {
        either!(self, end => end.rtt_sample())
    }
    fn report(&self) -> Report {
        either!(self, end => end.report())
    }
}
