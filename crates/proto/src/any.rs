//! An end of any transport, for worlds in which several meet. Worlds of one transport keep their own, smaller type: a
//! head of any transport takes 56 bytes where TCP's takes 48 and `ExpressPass`'s 32.
//!
//! What TCP and UDP send in such a world is of the classes that switches keep apart from what credits release.

use shallop_control::AnyWindow;
use shallop_control::expresspass::Rule;
use shallop_control::flashpass::Law;
use shallop_core::{Ecn, Span, Time};

use crate::endpoint::{Endpoint, Out};
use crate::peer::Peer;
use crate::report::Report;
use crate::{expresspass, flashpass, tcp, udp};

/// Either end of a flow of TCP.
pub type TcpEnd = Peer<Box<tcp::Sender<AnyWindow>>, Box<tcp::Receiver>>;
/// Either end of a flow of `ExpressPass`.
pub type ExpressPassEnd = Peer<Box<expresspass::Sender>, Box<expresspass::Receiver<Rule>>>;
/// Either end of a flow of `FlashPass`.
pub type FlashPassEnd = Peer<Box<flashpass::Sender<Law>>, Box<flashpass::Receiver>>;

/// Either end of a flow of constant rate.
pub type UdpEnd = Peer<Box<udp::Sender>, Box<udp::Receiver>>;

/// What a packet of any transport says.
#[derive(Clone, Copy, Debug)]
pub enum AnyHead {
    /// Of TCP.
    Tcp(tcp::Head),
    /// Of `ExpressPass`.
    ExpressPass(expresspass::Head),
    /// Of `FlashPass`.
    FlashPass(flashpass::Head),
    /// Of constant rate.
    Udp(udp::Head),
}

const _: () = assert!(size_of::<AnyHead>() <= 56, "a head is copied for every packet");

/// An end of any transport.
#[derive(Debug)]
pub enum AnyEnd {
    /// Of TCP.
    Tcp(TcpEnd),
    /// Of `ExpressPass`.
    ExpressPass(ExpressPassEnd),
    /// Of `FlashPass`.
    FlashPass(FlashPassEnd),
    /// Of constant rate.
    Udp(UdpEnd),
}

/// Asks whichever it is.
macro_rules! ask {
    ($any:expr, $end:ident => $what:expr) => {
        match $any {
            AnyEnd::Tcp($end) => $what,
            AnyEnd::ExpressPass($end) => $what,
            AnyEnd::FlashPass($end) => $what,
            AnyEnd::Udp($end) => $what,
        }
    };
}

/// A packet under a head of another type.
fn under<H, I>(out: Out<H>, head: fn(H) -> I) -> Out<I> {
    let Out { head: said, body, size, class, ecn } = out;
    Out { head: head(said), body, size, class, ecn }
}

/// What is sent without credits, as switches tell it from what credits release.
fn free<H>(out: Out<H>, head: fn(H) -> AnyHead) -> Out<AnyHead> {
    let class = out.class.beside_credits();
    Out { class, ..under(out, head) }
}

impl Endpoint for AnyEnd {
    type Head = AnyHead;

    fn on_packet(&mut self, now: Time, head: &AnyHead, ecn: Ecn) {
        match (self, head) {
            (Self::Tcp(end), AnyHead::Tcp(head)) => end.on_packet(now, head, ecn),
            (Self::ExpressPass(end), AnyHead::ExpressPass(head)) => end.on_packet(now, head, ecn),
            (Self::FlashPass(end), AnyHead::FlashPass(head)) => end.on_packet(now, head, ecn),
            (Self::Udp(end), AnyHead::Udp(head)) => end.on_packet(now, head, ecn),
            // Flows do not change their transport: such a packet is of no use to this end.
            _ => debug_assert!(false, "both ends of a flow have one transport"),
        }
    }
    fn on_timer(&mut self, now: Time) {
        ask!(self, end => end.on_timer(now));
    }
    fn poll_metered(&mut self, now: Time) -> Option<Out<AnyHead>> {
        match self {
            Self::Tcp(end) => end.poll_metered(now).map(|out| free(out, AnyHead::Tcp)),
            Self::Udp(end) => end.poll_metered(now).map(|out| free(out, AnyHead::Udp)),
            Self::ExpressPass(end) => {
                end.poll_metered(now).map(|out| under(out, AnyHead::ExpressPass))
            }
            Self::FlashPass(end) => end.poll_metered(now).map(|out| under(out, AnyHead::FlashPass)),
        }
    }
    fn ready(&self, now: Time) -> bool {
        ask!(self, end => end.ready(now))
    }
    fn may_wait(&self) -> bool {
        ask!(self, end => end.may_wait())
    }
    fn poll(&mut self, now: Time) -> Option<Out<AnyHead>> {
        match self {
            Self::Tcp(end) => end.poll(now).map(|out| free(out, AnyHead::Tcp)),
            Self::Udp(end) => end.poll(now).map(|out| free(out, AnyHead::Udp)),
            Self::ExpressPass(end) => end.poll(now).map(|out| under(out, AnyHead::ExpressPass)),
            Self::FlashPass(end) => end.poll(now).map(|out| under(out, AnyHead::FlashPass)),
        }
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
            (Self::Tcp(end), Self::Tcp(before)) => end.follow(before),
            (Self::ExpressPass(end), Self::ExpressPass(before)) => end.follow(before),
            (Self::FlashPass(end), Self::FlashPass(before)) => end.follow(before),
            (Self::Udp(end), Self::Udp(before)) => end.follow(before),
            _ => debug_assert!(false, "flows that share connections have one transport"),
        }
    }
}
