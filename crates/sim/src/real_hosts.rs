//! Real hosts, such as Linux kernels in virtual time or network namespaces. They decide when to send, not the
//! simulator: the endpoints of their flows send nothing and only count packets; [`RealHosts::run`] supplies the
//! packets.

use shallop_core::{End, Packet, Time};
use shallop_proto::{Endpoint, Out};

/// A packet that a real host sends.
#[derive(Clone, Debug)]
pub struct Outgoing<H> {
    pub at: Time,
    /// Endpoint that counts the packet as sent.
    pub from: End,
    pub out: Out<H>,
}

/// All real hosts of a run, which the simulator drives as one machine.
pub trait RealHosts<E: Endpoint> {
    /// Whether the run has real hosts. If false, the calls to them are removed at compile time.
    const ANY: bool = true;
    /// Whether the hosts follow a real clock, which simulated time must not overtake.
    const PACED: bool = false;

    /// Waits for the time of the simulator's next event, `next`, or until a host wants to send. Returns the time up to
    /// which the simulator may advance. Hosts that do not follow a real clock return at once.
    fn wait(&mut self, next: Time) -> Time {
        next
    }

    /// Takes the next report about a flow and returns the flow's number. A report has facts that the packets do not
    /// show, such as bytes received over QUIC; the simulator passes it to both endpoints with [`RealHosts::on_report`].
    fn next_report(&mut self) -> Option<u32> {
        None
    }

    /// Passes the report that was taken last to an endpoint of the reported flow.
    fn on_report(&mut self, _endpoint: &mut E) {}

    /// Time at which the hosts need the next call of [`RealHosts::run`]; `None` if they wait for packets only.
    fn wakeup(&self) -> Option<Time>;

    /// Runs the hosts from `now` until one sends a packet or all are idle. The network has no other event before
    /// `horizon`. The simulator calls again after each packet.
    fn run(&mut self, now: Time, horizon: Time) -> Option<Outgoing<E::Head>>;

    /// Called when a flow starts, with its sender.
    fn on_start(&mut self, flow: u32, sender: &E);

    /// Called with the fate of the packet that [`RealHosts::run`] returned last: the time at which it leaves the host's
    /// link, or `None` if it was dropped there.
    fn on_sent(&mut self, endpoint: &mut E, leaves: Option<Time>);

    /// Called when a packet arrives at any host. Implementations ignore packets for simulated hosts.
    fn on_packet(&mut self, now: Time, packet: &Packet<E::Head>);

    /// Called when the network has dropped a packet with this header.
    fn on_dropped(&mut self, head: &E::Head);

    /// Called when the network duplicates a packet; `head` is the copy's header and may be changed. Returns false if
    /// there is no room for the copy, which is then discarded.
    fn on_duplicated(&mut self, _head: &mut E::Head) -> bool {
        true
    }
}

/// Implementation for runs in which all hosts are simulated.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRealHosts;

impl<E: Endpoint> RealHosts<E> for NoRealHosts {
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
