//! Real hosts, such as Linux kernels in virtual time or network namespaces: they decide when to send, the simulator
//! does not. The endpoints of their flows send nothing and only count packets; [`RealHosts::run`] supplies the packets.

use shallop_core::{End, Packet, Time};
use shallop_proto::{Endpoint, Out};

/// A packet that a real host sends.
#[derive(Clone, Debug)]
pub struct Outgoing<H> {
    pub at: Time,
    /// The endpoint that counts the packet as sent.
    pub from: End,
    pub out: Out<H>,
}

/// All real hosts of a run, as one machine.
pub trait RealHosts<E: Endpoint> {
    /// Whether the run has real hosts. False removes their calls at compile time.
    const ANY: bool = true;
    /// Whether the hosts follow a real clock, which the simulator must not overtake.
    const PACED: bool = false;

    /// Waits for the time of the simulator's next event, `next`, or until a host wants to send. Returns the time up to
    /// which the simulator may advance. Hosts that are not paced return at once.
    fn wait(&mut self, next: Time) -> Time {
        next
    }

    /// Takes the next report about a flow: facts that its packets do not show, such as bytes received over QUIC. The
    /// simulator passes the report to both endpoints by [`RealHosts::on_report`].
    fn next_report(&mut self) -> Option<u32> {
        None
    }

    /// Passes the report that was taken last to an endpoint of its flow.
    fn on_report(&mut self, _endpoint: &mut E) {}

    /// Time at which the hosts want to run next.
    fn wakeup(&self) -> Option<Time>;

    /// Runs the hosts from `now` until one sends a packet or all are idle. The network has no other event before
    /// `horizon`. The simulator calls again after each packet.
    fn run(&mut self, now: Time, horizon: Time) -> Option<Outgoing<E::Head>>;

    /// A flow starts.
    fn on_start(&mut self, flow: u32, sender: &E);

    /// Reports what happened to the packet that [`RealHosts::run`] returned last: it leaves the host's link at
    /// `leaves`, or was dropped there (`None`).
    fn on_sent(&mut self, endpoint: &mut E, leaves: Option<Time>);

    /// A packet has arrived at any host. Implementations ignore packets for simulated hosts.
    fn on_packet(&mut self, now: Time, packet: &Packet<E::Head>);

    /// The network has dropped a packet.
    fn on_dropped(&mut self, head: &E::Head);

    /// The network duplicates a packet; `head` is the copy's and may be changed. Returns false if there is no room for
    /// the copy, which is then discarded.
    fn on_duplicated(&mut self, _head: &mut E::Head) -> bool {
        true
    }
}

/// Stands for [`RealHosts`] where all hosts are simulated.
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
