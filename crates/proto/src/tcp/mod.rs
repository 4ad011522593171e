//! TCP: a stream in segments, acknowledged cumulatively and selectively, its window left to a controller. A sender is
//! generic over [`Window`]; a receiver is the same for all. Sources: RFC 9293 and those named in each file.

use shallop_control::Window;
use shallop_core::{Ecn, Span, Time};

use crate::endpoint::{Endpoint, Out};
use crate::report::Report;

mod answer;
pub mod config;
pub mod delivery;
pub mod echo;
pub mod head;
pub mod holes;
pub mod loss;
pub mod news;
pub mod receiver;
pub mod recovery;
pub mod scoreboard;
pub mod sender;
pub mod tail;
mod timer;

pub use config::{Acks, Capable, Config, Detection, Marks, Stack};
pub use head::{Block, Flags, Head};
pub use receiver::Receiver;
pub use sender::Sender;

/// Either end of a flow, for drivers that keep all ends of one kind.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "a pointer to follow for every packet costs more than the memory"
)]
pub enum Tcp<W> {
    /// The end that sends.
    Sender(Sender<W>),
    /// The end that receives.
    Receiver(Receiver),
}

/// Asks whichever it is.
macro_rules! ask {
    ($tcp:expr, $end:ident => $what:expr) => {
        match $tcp {
            Tcp::Sender($end) => $what,
            Tcp::Receiver($end) => $what,
        }
    };
}

impl<W: Window> Endpoint for Tcp<W> {
    type Head = Head;

    fn on_packet(&mut self, now: Time, head: &Head, ecn: Ecn) {
        ask!(self, end => end.on_packet(now, head, ecn));
    }
    fn on_timer(&mut self, now: Time) {
        ask!(self, end => end.on_timer(now));
    }
    fn ready(&self, now: Time) -> bool {
        ask!(self, end => end.ready(now))
    }
    fn poll(&mut self, now: Time) -> Option<Out<Head>> {
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
}
