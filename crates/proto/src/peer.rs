//! An endpoint that is either sender or receiver, so that drivers store both in one array.

use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out, forward_endpoint};
use shallop_core::{Ecn, Span, Time};

/// Sender or receiver of a flow. The values are boxed, so that the smaller of them takes no more memory than it needs.
#[derive(Clone, Debug)]
pub enum Peer<S, R> {
    Sender(Box<S>),
    Receiver(Box<R>),
}

impl<S, R> Peer<S, R> {
    pub fn sender(sender: S) -> Self {
        Self::Sender(Box::new(sender))
    }

    pub fn receiver(receiver: R) -> Self {
        Self::Receiver(Box::new(receiver))
    }
}

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
    const SENDS_METERED: bool = S::SENDS_METERED || R::SENDS_METERED;

    forward_endpoint!(dispatch);

    fn on_packet(&mut self, now: Time, head: &S::Head, ecn: Ecn) {
        dispatch!(self, end => end.on_packet(now, head, ecn));
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<S::Head>> {
        dispatch!(self, end => end.poll_metered(now))
    }
    fn metered_packet(&self, at: Time, number: u64, size: u16) -> Option<Out<S::Head>> {
        dispatch!(self, end => end.metered_packet(at, number, size))
    }
    fn poll(&mut self, now: Time) -> Option<Out<S::Head>> {
        dispatch!(self, end => end.poll(now))
    }
    fn continue_connection(&mut self, before: &Self) {
        match (self, before) {
            (Self::Sender(end), Self::Sender(before)) => end.continue_connection(before),
            (Self::Receiver(end), Self::Receiver(before)) => end.continue_connection(before),
            _ => debug_assert!(false, "a sender continues a sender, a receiver a receiver"),
        }
    }
}
