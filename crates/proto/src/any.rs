//! An endpoint of any transport, for runs with several transports. A run of one transport uses that transport's smaller
//! types: a header of any transport takes 56 bytes, TCP's 48 and `ExpressPass`'s 32.
//!
//! In such runs, packets of TCP and UDP have the legacy classes, which switches distinguish from data sent on credits.

use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out, forward_endpoint};
use crate::peer::Peer;
use crate::{expresspass, flashpass, tcp, udp};
use shallop_control::{AnyWindow, expresspass::Rule, flashpass::Law};
use shallop_core::{Ecn, Span, Time};

pub type TcpEnd = Peer<tcp::InterruptCoalescing<tcp::HostQueue<AnyWindow>>, tcp::InterruptCoalescing<tcp::Receiver>>;
pub type ExpressPassEnd = expresspass::Peer<Rule>;
pub type FlashPassEnd = flashpass::Peer<Law>;
pub type UdpEnd = Peer<udp::Sender, udp::Receiver>;

#[derive(Clone, Copy, Debug)]
pub enum AnyHead {
    Tcp(tcp::Head),
    ExpressPass(expresspass::Head),
    FlashPass(flashpass::Head),
    Udp(udp::Head),
}

const _: () = assert!(size_of::<AnyHead>() <= 56, "a head is copied for every packet");

#[derive(Debug)]
pub enum AnyEnd {
    Tcp(TcpEnd),
    ExpressPass(ExpressPassEnd),
    FlashPass(FlashPassEnd),
    Udp(UdpEnd),
}

macro_rules! from_end {
    ($($end:ty => $variant:ident;)*) => {$(
        impl From<$end> for AnyEnd {
            fn from(end: $end) -> Self {
                Self::$variant(end)
            }
        }
    )*};
}
from_end! {
    TcpEnd => Tcp;
    ExpressPassEnd => ExpressPass;
    FlashPassEnd => FlashPass;
    UdpEnd => Udp;
}

macro_rules! dispatch {
    ($any:expr, $end:ident => $call:expr) => {
        match $any {
            AnyEnd::Tcp($end) => $call,
            AnyEnd::ExpressPass($end) => $call,
            AnyEnd::FlashPass($end) => $call,
            AnyEnd::Udp($end) => $call,
        }
    };
}

/// Polls the endpoint with the method `$poll` and converts the header of the packet. Packets of TCP and UDP get a
/// legacy class.
macro_rules! poll_any {
    ($any:expr, $poll:ident, $($argument:expr),*) => {
        match $any {
            AnyEnd::Tcp(end) => end.$poll($($argument),*).map(|out| out.legacy().with_head(AnyHead::Tcp)),
            AnyEnd::Udp(end) => end.$poll($($argument),*).map(|out| out.legacy().with_head(AnyHead::Udp)),
            AnyEnd::ExpressPass(end) => end.$poll($($argument),*).map(|out| out.with_head(AnyHead::ExpressPass)),
            AnyEnd::FlashPass(end) => end.$poll($($argument),*).map(|out| out.with_head(AnyHead::FlashPass)),
        }
    };
}

impl<H> Out<H> {
    fn with_head<I>(self, convert: fn(H) -> I) -> Out<I> {
        let Self { head, body, size, class, ecn } = self;
        Out { head: convert(head), body, size, class, ecn }
    }

    fn legacy(self) -> Self {
        Self { class: self.class.legacy(), ..self }
    }
}

impl Endpoint for AnyEnd {
    type Head = AnyHead;
    const SENDS_METERED: bool = true;

    forward_endpoint!(dispatch);

    fn on_packet(&mut self, now: Time, head: &AnyHead, ecn: Ecn) {
        match (self, head) {
            (Self::Tcp(end), AnyHead::Tcp(head)) => end.on_packet(now, head, ecn),
            (Self::ExpressPass(end), AnyHead::ExpressPass(head)) => end.on_packet(now, head, ecn),
            (Self::FlashPass(end), AnyHead::FlashPass(head)) => end.on_packet(now, head, ecn),
            (Self::Udp(end), AnyHead::Udp(head)) => end.on_packet(now, head, ecn),
            // A flow keeps its transport, so this packet does not belong to the flow.
            _ => debug_assert!(false, "both ends of a flow have one transport"),
        }
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<AnyHead>> {
        poll_any!(self, poll_metered, now)
    }
    fn metered_packet(&self, at: Time, number: u64, size: u16) -> Option<Out<AnyHead>> {
        poll_any!(self, metered_packet, at, number, size)
    }
    fn poll(&mut self, now: Time) -> Option<Out<AnyHead>> {
        poll_any!(self, poll, now)
    }
    fn continue_connection(&mut self, before: &Self) {
        match (self, before) {
            (Self::Tcp(end), Self::Tcp(before)) => end.continue_connection(before),
            (Self::ExpressPass(end), Self::ExpressPass(before)) => end.continue_connection(before),
            (Self::FlashPass(end), Self::FlashPass(before)) => end.continue_connection(before),
            (Self::Udp(end), Self::Udp(before)) => end.continue_connection(before),
            _ => debug_assert!(false, "flows that share connections have one transport"),
        }
    }
}
