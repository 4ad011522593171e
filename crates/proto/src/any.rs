//! An endpoint of any transport, for runs with several transports. Runs of one transport use its own, smaller types: a
//! header of any transport takes 56 bytes where TCP's takes 48 and `ExpressPass`'s 32.
//!
//! Packets of TCP and UDP are in the legacy classes here, which switches keep apart from data sent on credits.

use shallop_control::AnyWindow;
use shallop_control::expresspass::Rule;
use shallop_control::flashpass::Law;
use shallop_core::{Ecn, Span, Time};

use crate::counters::EndpointCounters;
use crate::endpoint::{Endpoint, Out};
use crate::peer::Peer;
use crate::{expresspass, flashpass, tcp, udp};

/// Either end of a TCP flow.
pub type TcpEnd = Peer<
    Box<tcp::InterruptCoalescing<tcp::HostQueue<AnyWindow>>>,
    Box<tcp::InterruptCoalescing<tcp::Receiver>>,
>;
/// Either end of an `ExpressPass` flow.
pub type ExpressPassEnd = Peer<Box<expresspass::Sender>, Box<expresspass::Receiver<Rule>>>;
/// Either end of a `FlashPass` flow.
pub type FlashPassEnd = Peer<Box<flashpass::Sender<Law>>, Box<flashpass::Receiver>>;

/// Either end of a flow with a constant rate.
pub type UdpEnd = Peer<Box<udp::Sender>, Box<udp::Receiver>>;

/// The header of a packet of any transport.
#[derive(Clone, Copy, Debug)]
pub enum AnyHead {
    /// TCP.
    Tcp(tcp::Head),
    /// `ExpressPass`.
    ExpressPass(expresspass::Head),
    /// `FlashPass`.
    FlashPass(flashpass::Head),
    /// Constant rate (UDP).
    Udp(udp::Head),
}

const _: () = assert!(size_of::<AnyHead>() <= 56, "a head is copied for every packet");

/// An endpoint of any transport.
#[derive(Debug)]
pub enum AnyEnd {
    /// TCP.
    Tcp(TcpEnd),
    /// `ExpressPass`.
    ExpressPass(ExpressPassEnd),
    /// `FlashPass`.
    FlashPass(FlashPassEnd),
    /// Constant rate (UDP).
    Udp(UdpEnd),
}

/// Converts the endpoint of one transport.
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

/// Calls a method of the endpoint, whatever its transport.
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

/// The packet with its header converted.
fn with_head<H, I>(out: Out<H>, convert: fn(H) -> I) -> Out<I> {
    let Out { head, body, size, class, ecn } = out;
    Out { head: convert(head), body, size, class, ecn }
}

/// The packet with its header converted, in a legacy class.
fn as_legacy<H>(out: Out<H>, convert: fn(H) -> AnyHead) -> Out<AnyHead> {
    let class = out.class.legacy();
    Out { class, ..with_head(out, convert) }
}

impl Endpoint for AnyEnd {
    type Head = AnyHead;

    fn on_packet(&mut self, now: Time, head: &AnyHead, ecn: Ecn) {
        match (self, head) {
            (Self::Tcp(end), AnyHead::Tcp(head)) => end.on_packet(now, head, ecn),
            (Self::ExpressPass(end), AnyHead::ExpressPass(head)) => end.on_packet(now, head, ecn),
            (Self::FlashPass(end), AnyHead::FlashPass(head)) => end.on_packet(now, head, ecn),
            (Self::Udp(end), AnyHead::Udp(head)) => end.on_packet(now, head, ecn),
            // Flows do not change their transport: such a packet is not of this flow.
            _ => debug_assert!(false, "both ends of a flow have one transport"),
        }
    }
    fn on_timer(&mut self, now: Time) {
        dispatch!(self, end => end.on_timer(now));
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<AnyHead>> {
        match self {
            Self::Tcp(end) => end.poll_metered(now).map(|out| as_legacy(out, AnyHead::Tcp)),
            Self::Udp(end) => end.poll_metered(now).map(|out| as_legacy(out, AnyHead::Udp)),
            Self::ExpressPass(end) => {
                end.poll_metered(now).map(|out| with_head(out, AnyHead::ExpressPass))
            }
            Self::FlashPass(end) => {
                end.poll_metered(now).map(|out| with_head(out, AnyHead::FlashPass))
            }
        }
    }
    fn ready(&self, now: Time) -> bool {
        dispatch!(self, end => end.ready(now))
    }
    fn is_low_priority(&self) -> bool {
        dispatch!(self, end => end.is_low_priority())
    }
    fn poll(&mut self, now: Time) -> Option<Out<AnyHead>> {
        match self {
            Self::Tcp(end) => end.poll(now).map(|out| as_legacy(out, AnyHead::Tcp)),
            Self::Udp(end) => end.poll(now).map(|out| as_legacy(out, AnyHead::Udp)),
            Self::ExpressPass(end) => end.poll(now).map(|out| with_head(out, AnyHead::ExpressPass)),
            Self::FlashPass(end) => end.poll(now).map(|out| with_head(out, AnyHead::FlashPass)),
        }
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
            (Self::Tcp(end), Self::Tcp(before)) => end.continue_connection(before),
            (Self::ExpressPass(end), Self::ExpressPass(before)) => end.continue_connection(before),
            (Self::FlashPass(end), Self::FlashPass(before)) => end.continue_connection(before),
            (Self::Udp(end), Self::Udp(before)) => end.continue_connection(before),
            _ => debug_assert!(false, "flows that share connections have one transport"),
        }
    }
}
