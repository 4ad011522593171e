//! Hosts that decide for themselves when they send: machines with an inside of their own, such as real kernels. Their
//! flows have endpoints like all others, which count what passes; packets come from here.

use shallop_core::{End, Packet, Time};
use shallop_proto::{Endpoint, Out};

/// A packet that such a host sends.
#[derive(Clone, Debug)]
pub struct Outgoing<H> {
    /// When it sends it.
    pub at: Time,
    /// The end that it comes from.
    pub from: End,
    /// The packet.
    pub out: Out<H>,
}

/// The hosts of a world that decide for themselves, all of them as one machine.
pub trait Hosts<E: Endpoint> {
    /// False for a world that has none.
    const ANY: bool = true;
    /// True for hosts that live by a clock of their own, which the world must not overtake.
    const PACED: bool = false;

    /// Waits until `next`, when something happens in the world again, or until a host wants to send. Returns the time
    /// that has come, up to which the world may advance. Only hosts that are paced take time for it.
    fn wait(&mut self, next: Time) -> Time {
        next
    }

    /// A flow of which they have something to tell that its packets do not. Both endpoints are told it next.
    fn news(&mut self) -> Option<u32> {
        None
    }

    /// Tells an endpoint the last news.
    fn on_news(&mut self, _endpoint: &mut E) {}

    /// When they want to run next.
    fn wakeup(&self) -> Option<Time>;

    /// Lets them run at `now`, until they send a packet or all wait. Nothing else happens in the network before
    /// `horizon`, unless a packet that they send makes it happen. Called again after each packet.
    fn run(&mut self, now: Time, horizon: Time) -> Option<Outgoing<E::Head>>;

    /// A flow starts, with this sender.
    fn on_start(&mut self, flow: u32, sender: &E);

    /// The packet that [`Hosts::run`] returned last, of this endpoint, has been put into the queue of the host's link,
    /// and will have left it at `leaves`; `None` if it was dropped there.
    fn on_sent(&mut self, endpoint: &mut E, leaves: Option<Time>);

    /// A packet has arrived at its host. Ignores packets of endpoints that are not its own.
    fn on_packet(&mut self, now: Time, packet: &Packet<E::Head>);

    /// A packet was dropped in the network.
    fn on_dropped(&mut self, head: &E::Head);

    /// The network has made a copy of a packet, which has this head; gives the copy what it needs of its own. False if
    /// there is no room for it: there is no copy then.
    fn on_duplicated(&mut self, _head: &mut E::Head) -> bool {
        true
    }
}

/// No such hosts.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHosts;

impl<E: Endpoint> Hosts<E> for NoHosts {
    const ANY: bool = false;

    fn wakeup(&self) -> Option<Time> {
        None
    }

    fn run(&mut self, _now: Time, _horizon: Time) -> Option<Outgoing<E::Head>> {
        None
    }

    fn on_start(&mut self, _flow: u32, _sender: &E) {}

    fn on_sent(&mut self, _endpoint: &mut E, _leaves: Option<Time>) {}

    fn on_packet(&mut self, _now: Time, _packet: &Packet<E::Head>) {}

    fn on_dropped(&mut self, _head: &E::Head) {}
}
