//! A network interface: a port, its packet buffer and the endpoints that wait for its link. Also `HostLink`, by which
//! an endpoint sends on the link of its host.

use crate::sources::Sources;
use shallop_core::{End, Envelope, Node, Packet, Probe, Span, Time};
use shallop_proto::{Nic, Out, Priority, RoundRobin};
use shallop_switch::{Pool, PooledBuffer, Port, PortBuffer};
use shallop_topology::NicMode;

/// A port with its buffer, and the node at the other end of its link. Aligned to a cache line, since every packet uses
/// it.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Interface<H> {
    pub port: Port<H>,
    /// Node at the other end of the link.
    pub peer: Node,
    /// Number of endpoints of flows in progress that send on the link.
    pub users: u32,
    /// Runs of metered packets that this port queues.
    pub sources: Option<Box<Sources<H>>>,
    /// The endpoint whose run of metered packets has the link of the host for itself.
    pub forecast_user: Option<End>,
    /// Endpoints of the host that wait for the link; always empty at a switch.
    pub waiting: RoundRobin,
    pub buffer: PortBuffer,
}

impl<H: Copy> Interface<H> {
    /// Serves every packet whose transmission starts by `now`, and updates the port's next service time in its memory
    /// pool, if it uses one.
    #[inline]
    pub fn catch_up(&mut self, now: Time, pools: &mut [Pool], probe: &mut impl Probe) {
        let Self { port, buffer, .. } = self;
        match buffer.member() {
            None => port.catch_up(now, buffer, probe),
            Some(member) if port.next_service <= now => {
                let pool = &mut pools[member.pool as usize];
                port.catch_up(now, &mut PooledBuffer { buffer, pool }, probe);
                pool.next_service.set(member.index as usize, port.next_service);
            }
            Some(_) => {}
        }
    }

    /// Time of the next event: a packet arrives at the other end of the link, or a waiting endpoint may send.
    #[inline]
    pub fn deadline(&mut self, now: Time) -> Option<Time> {
        let mut arrival = self.port.deadline();
        if let Some(sources) = &self.sources
            && !self.port.has_packet_on_wire()
            && self.port.has_empty_queue(sources.class)
        {
            // An instant later, the order of events at one instant does not matter.
            let next = sources.quiet_until.saturating_add(Span::from_ps(1)).max(now);
            arrival = Some(arrival.map_or(next, |arrival| arrival.min(next)));
        }
        if self.waiting.is_empty() {
            return arrival;
        }
        match (arrival, self.waiting.due(self.port.free_at())) {
            (Some(arrival), Some(service)) => Some(arrival.min(service)),
            (arrival, service) => arrival.or(service),
        }
    }
}

/// The link of an endpoint's host, borrowed from the simulator for one call of the endpoint.
pub(crate) struct HostLink<'a, H, P> {
    pub end: End,
    pub waiting: &'a mut Option<Priority>,
    /// Number of the flow's packets that are queued or in flight.
    pub in_network: &'a mut u32,
    pub interface: &'a mut Interface<H>,
    pub probe: &'a mut P,
    pub mode: NicMode,
}

impl<H: Copy, P: Probe> HostLink<'_, H, P> {
    /// Enqueues a packet at the port of the host. Returns false if the port dropped it.
    pub fn enqueue(&mut self, now: Time, out: &Out<H>) -> bool {
        let envelope = Envelope { end: self.end.peer(), size: out.size, class: out.class, ecn: out.ecn };
        let packet = Packet { envelope, cargo: out.head };
        let Interface { port, buffer, .. } = self.interface;
        // The port reports a drop to the probe; the endpoint detects it like any loss.
        let result = port.enqueue(now, &packet, buffer, self.probe);
        *self.in_network = self.in_network.wrapping_add(u32::from(result.is_ok()));
        result.is_ok()
    }
}

impl<H: Copy, P: Probe> Nic<H> for HostLink<'_, H, P> {
    fn meter(&mut self, now: Time, out: Out<H>) {
        self.enqueue(now, &out);
    }

    fn is_free(&mut self, now: Time) -> bool {
        if self.mode == NicMode::Fifo {
            return true;
        }
        let Interface { port, buffer, waiting, .. } = self.interface;
        port.catch_up(now, buffer, self.probe);
        port.free_at() <= now && waiting.is_empty()
    }

    fn send(&mut self, now: Time, out: Out<H>) {
        self.enqueue(now, &out);
    }

    fn wait(&mut self, now: Time, low_priority: bool) {
        let waiting = &mut self.interface.waiting;
        let priority = waiting.enqueue(now, self.end, *self.waiting, low_priority);
        *self.waiting = Some(priority);
    }
}
