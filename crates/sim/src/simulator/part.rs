//! A simulator of one part of a network. It has all ports and flows, but events only at the nodes of its part. A packet
//! on a link that is cut leaves the wire of the sending part for the wire of the receiving part.

use super::Simulator;
use crate::{Cut, real_hosts::RealHosts};
use shallop_core::{End, Node, Packet, Probe, Time};
use shallop_proto::{Endpoint, EndpointCounters, Middlebox};
use std::sync::Arc;

/// A packet that crosses to another part on the wire of a port.
#[derive(Clone, Copy, Debug)]
struct Crossing<C> {
    port: u32,
    arrival: Time,
    packet: Packet<C>,
}

/// The part of the network that a simulator simulates.
#[derive(Clone, Debug)]
pub(crate) struct Part<C> {
    /// Number of this part.
    number: u16,
    /// Part of each node.
    of_node: Arc<[u16]>,
    /// Ports of this part whose links lead to other parts, each with the number of the other part.
    cut: Vec<(u32, u16)>,
    /// Packets for each other part.
    outbox: Vec<Vec<Crossing<C>>>,
    /// Packets from each other part.
    inbox: Vec<Vec<Crossing<C>>>,
    /// Flows of which an endpoint in this part has completed.
    pub completed: Vec<u32>,
    /// Earliest time at which the part has an event or one of its packets arrives at another part.
    pub next: Time,
}

impl<C: Copy> Part<C> {
    pub fn new(number: u16, cut: &Cut) -> Self {
        let boxes = || (0..cut.count).map(|_| Vec::new()).collect();
        let (of_node, cut) = (Arc::clone(&cut.of_node), cut.ports[usize::from(number)].clone());
        Self { number, of_node, cut, outbox: boxes(), inbox: boxes(), completed: Vec::new(), next: Time::ZERO }
    }

    pub fn owns(&self, node: Node) -> bool {
        self.of_node[node.0 as usize] == self.number
    }

    /// Exchanges packets with another part.
    pub fn exchange(&mut self, other: &mut Self) {
        let (from, to) = (usize::from(self.number), usize::from(other.number));
        // Inboxes are empty after a step.
        std::mem::swap(&mut self.outbox[to], &mut other.inbox[from]);
        std::mem::swap(&mut other.outbox[from], &mut self.inbox[to]);
    }
}

/// What a part knows of a flow, whose endpoints may be in other parts.
#[derive(Clone, Copy, Debug)]
pub struct Glance {
    /// Packets of the flow that were sent in this part less those that were delivered or dropped in it, modulo 2^32.
    pub in_network: u32,
    /// Whether the endpoints in this part are complete.
    pub complete: bool,
    /// The first deadline of endpoints in this part; [`Time::ZERO`] if one waits for its link, [`Time::LAST`] if there
    /// is none.
    pub next: Time,
    /// Payload bytes that the receiver has, if it is in this part.
    pub received: Option<u64>,
}

impl Glance {
    /// What these parts know of a flow.
    pub fn of<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>>(
        flow: u32, parts: &[Simulator<'_, E, P, M>],
    ) -> Option<Self> {
        parts.iter().map(|sim| sim.glance(flow)).reduce(Self::plus)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            in_network: self.in_network.wrapping_add(other.in_network),
            complete: self.complete && other.complete,
            next: self.next.min(other.next),
            received: self.received.or(other.received),
        }
    }

    /// Whether the flow has no further event in any of the parts that were added up.
    pub(crate) fn is_quiescent(&self) -> bool {
        self.in_network == 0 && self.complete && self.next == Time::LAST
    }
}

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'_, E, P, M, H> {
    /// Limits the simulator to a part of the network.
    pub(crate) fn set_part(&mut self, part: Part<E::Head>) {
        self.part = Some(Box::new(part));
    }

    pub(crate) fn part(&mut self) -> Option<&mut Part<E::Head>> {
        self.part.as_deref_mut()
    }

    /// Simulates the part up to `until`. Afterwards its outboxes have all packets that have left for other parts, and
    /// its inboxes are empty.
    pub(crate) fn step(&mut self, until: Time) {
        let Some(mut own) = self.part.take() else { return };
        for Crossing { port: number, arrival, packet } in own.inbox.iter_mut().flat_map(|inbox| inbox.drain(..)) {
            let port = &mut self.interfaces[number as usize].port;
            let was_idle = !port.has_packet_on_wire();
            port.put_on_wire(arrival, &packet);
            if was_idle {
                self.arm(number);
            }
        }
        self.part = Some(own);
        self.run_events(until);
        let Some(mut own) = self.part.take() else { return };
        own.next = Time::LAST;
        // Service is lazy: a port that is cut has no deadline for a packet whose service has begun.
        for &(number, to) in &own.cut {
            self.catch_up(until, number as usize);
            let port = &mut self.interfaces[number as usize].port;
            if port.has_packet_on_wire() {
                port.take_wire(|arrival, packet| {
                    own.next = own.next.min(arrival);
                    own.outbox[usize::from(to)].push(Crossing { port: number, arrival, packet: *packet });
                });
                self.arm(number);
            }
        }
        own.next = self.events.first_deadline().map_or(own.next, |first| first.min(own.next));
        self.part = Some(own);
    }

    /// Whether this part has the host of an endpoint.
    fn owns_end(&self, end: End) -> bool {
        self.part.as_ref().is_none_or(|part| part.owns(self.flows.destination(end).0))
    }

    /// Endpoints of flows in progress whose hosts are in this part.
    pub fn own_ends(&self) -> impl Iterator<Item = (End, &E)> {
        self.flows.ends().filter(|(end, _)| self.owns_end(*end))
    }

    /// Notes that an endpoint in this part has completed.
    #[cold]
    pub(super) fn on_end_complete(&mut self, end: End) {
        if let Some(part) = &mut self.part {
            part.completed.push(end.flow());
        }
    }

    /// Flows that have started and not retired.
    pub fn in_progress(&self) -> impl Iterator<Item = u32> {
        self.flows.in_progress()
    }

    /// What this part knows of a flow in progress.
    fn glance(&self, flow: u32) -> Glance {
        let (ends, in_network) = self.flows.ends_of(flow);
        let mut glance = Glance { in_network, complete: true, next: Time::LAST, received: None };
        for (end, state) in [End::sender(flow), End::receiver(flow)].into_iter().zip(ends) {
            if !self.owns_end(end) {
                continue;
            }
            let due = self.events.deadline(self.target(end)).unwrap_or(Time::LAST);
            let due = if state.waiting.is_some() { Time::ZERO } else { due };
            (glance.complete, glance.next) = (glance.complete && state.complete, glance.next.min(due));
            if !end.is_sender() {
                glance.received = Some(state.machine.counters().received);
            }
        }
        glance
    }

    /// Retires a flow without events in any part. Returns the counters of those endpoints whose hosts are in this part.
    pub(crate) fn retire_part(&mut self, flow: u32) -> [Option<EndpointCounters>; 2] {
        let ends = [End::sender(flow), End::receiver(flow)];
        let owned = ends.map(|end| self.owns_end(end));
        for end in ends {
            self.interfaces[self.flows.get(end).port as usize].users -= 1;
        }
        self.flows.retire_flow(ends[0]);
        let Some(retired) = self.flows.take_retired().pop() else { return [None; 2] };
        [owned[0].then_some(retired.sender), owned[1].then_some(retired.receiver)]
    }
}
