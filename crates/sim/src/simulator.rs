//! The simulator: arrays of ports, endpoints and middleboxes, and the event loop that calls each in order of time.
//!
//! Events at one instant run in this order: flow starts (event target 0), ports by number, real hosts, endpoints by
//! their addresses, but for transports with metered packets by their number in the flow table. At the deadline of a
//! port, the port catches up, then delivers the packets that have crossed its wire, then lets the endpoints that wait
//! for it send.

mod bulk;
mod held;
mod part;
mod pools;
mod real_hosts;
mod state;

use pools::members;

pub use part::Glance;
pub(crate) use part::Part;

use crate::flow_table::{EndState, FlowTable};
use crate::link::{HostLink, Interface};
use crate::real_hosts::{NoRealHosts, RealHosts};
use shallop_core::{End, EventQueue, EventTarget, Facts, Node, Packet, Probe, Time};
use shallop_proto::{Endpoint, Middlebox, Nic, PassThrough, RoundRobin, settle};
use shallop_switch::{Fate, Pool, PoolMember, Port, PortBuffer, PortConfig, Routes};
use shallop_topology::{Graph, NicMode, NodeKind};
use std::iter::Peekable;

/// A flow that has not started, with its endpoints.
#[derive(Clone, Debug)]
pub struct Flow<E> {
    pub start: Time,
    /// Host of the sender.
    pub from: Node,
    /// Host of the receiver.
    pub to: Node,
    pub sender: E,
    pub receiver: E,
    /// Facts about the flow that the probe gets when the flow starts.
    pub facts: Facts,
    /// Group of reusable connections. The flow takes over an idle connection of this group between its hosts, if there
    /// is one; a connection is idle when its flow has retired. `None`: the connection is not shared with other flows.
    pub connections: Option<u32>,
}

/// The network of a run: graph, routes, and the configuration of ports and their memory.
#[derive(Clone, Debug)]
pub struct Network {
    pub graph: Graph,
    /// Configuration of each port; the index is the port's number.
    pub ports: Vec<PortConfig>,
    /// Packet buffer of each port; the index is the port's number.
    pub buffers: Vec<PortBuffer>,
    /// Memory pools that ports share.
    pub pools: Vec<Pool>,
    pub routes: Routes,
    /// Order in which links of hosts take packets from their endpoints.
    pub nic: NicMode,
}

/// Flows that have not started, in order of their starts.
type Starts<'f, E> = Peekable<Box<dyn Iterator<Item = Flow<E>> + Send + 'f>>;

/// A network and its flows, simulated up to one point in time.
pub struct Simulator<
    'f,
    E: Endpoint,
    P: Probe,
    M: Middlebox<Head = E::Head> = PassThrough<<E as Endpoint>::Head>,
    H: RealHosts<E> = NoRealHosts,
> {
    now: Time,
    /// Event target that is served at present.
    current: u32,
    events: EventQueue,
    /// Interface of each port; the index is the port's number.
    interfaces: Vec<Interface<E::Head>>,
    pools: Vec<Pool>,
    /// Port numbers of the members of each memory pool, in the order of the ports' indices in the pool.
    members: Vec<Vec<u32>>,
    nodes: Vec<NodeKind>,
    /// Middleboxes of each node, up to the last node that has any.
    middleboxes: Vec<Vec<M>>,
    routes: Routes,
    nic: NicMode,
    starts: Starts<'f, E>,
    flows: FlowTable<E>,
    unroutable: u64,
    /// Whether the discipline of any queue may drop packets after it has enqueued them.
    drops_enqueued: bool,
    hosts: H,
    /// The part of the network that this simulator simulates; `None` for the whole.
    part: Option<Box<Part<E::Head>>>,
    pub probe: P,
}

const STARTS: EventTarget = EventTarget(0);

impl<'f, E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>> Simulator<'f, E, P, M> {
    /// A simulator at time zero. `flows` must be in order of their starts.
    pub fn new(network: Network, flows: Box<dyn Iterator<Item = Flow<E>> + Send + 'f>, probe: P) -> Self {
        Self::with_hosts(network, flows, probe, NoRealHosts)
    }
}

impl<'f, E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'f, E, P, M, H> {
    /// A simulator at time zero with real hosts. `flows` must be in order of their starts.
    pub fn with_hosts(
        network: Network, flows: Box<dyn Iterator<Item = Flow<E>> + Send + 'f>, probe: P, hosts: H,
    ) -> Self {
        let Network { graph, ports, buffers, pools, routes, nic } = network;
        let members = members(&buffers, pools.len());
        let drops_enqueued = ports.iter().any(PortConfig::drops_enqueued);
        let interface = |(number, (port, buffer)): (u32, (&PortConfig, PortBuffer))| Interface {
            port: Port::new(number, port),
            buffer,
            waiting: RoundRobin::default(),
            peer: graph.far(number),
            users: 0,
            sources: None,
            forecast_user: None,
        };
        let interfaces = (0..).zip(ports.iter().zip(buffers)).map(interface).collect();
        let mut sim = Self {
            now: Time::ZERO,
            current: 0,
            events: EventQueue::default(),
            interfaces,
            pools,
            members,
            nodes: graph.nodes,
            middleboxes: Vec::new(),
            routes,
            nic,
            starts: flows.peekable(),
            flows: FlowTable::default(),
            unroutable: 0,
            drops_enqueued,
            hosts,
            part: None,
            probe,
        };
        let first = sim.starts.peek().map(|flow| flow.start);
        sim.events.set(STARTS, first);
        sim.arm_hosts();
        sim
    }

    /// Simulates until `end`, or until the probe says that the run is over. Then every port has caught up.
    pub fn run_until(&mut self, end: Time) {
        self.advance(end);
        self.catch_up_metered();
        for number in 0..self.interfaces.len() {
            self.catch_up(self.now, number);
        }
    }

    /// Simulates until `end`, or until the probe says that the run is over. Ports without a deadline by then do not
    /// catch up, nor do runs of metered packets ([`Simulator::catch_up_metered`]).
    pub fn advance(&mut self, end: Time) {
        if self.probe.is_over() {
            return;
        }
        if H::PACED {
            return self.keep_pace(end);
        }
        self.run_events(end);
    }

    fn run_events(&mut self, mut end: Time) {
        let ports = self.interfaces.len() as u32;
        while let Some((now, target, rank)) = self.events.pop_ranked_until(end) {
            (self.now, self.current) = (now, target.0);
            match target.0 {
                0 => self.start_flows(now),
                port if port <= ports => self.on_port(now, port - 1),
                hosts if H::ANY && hosts == ports + 1 => self.on_hosts(now, end),
                other => {
                    let end = self.flows.end(other - Self::first_end(ports));
                    if rank == self.rank(end, target) {
                        self.on_end_timer(now, end);
                    } else {
                        // The entry is from an earlier flow in the slot.
                        self.set_end(end, now, Some(now));
                    }
                }
            }
            if self.probe.is_over() {
                end = self.now;
            }
        }
        self.now = end;
    }

    /// Number of the event target of the first endpoint, after flow starts, ports and real hosts.
    #[inline]
    const fn first_end(ports: u32) -> u32 {
        1 + ports + H::ANY as u32
    }

    fn start_flows(&mut self, now: Time) {
        while let Some(flow) = self.starts.next_if(|flow| flow.start <= now) {
            let Flow { from, to, sender, receiver, facts, connections, .. } = flow;
            let first = self.flows.next_flow();
            self.probe.on_start(now, first.flow(), &facts);
            let path = End::sender(self.flows.path_flow(connections, [from, to]));
            let ends = [self.end_state(sender, path, from, to), self.end_state(receiver, path.peer(), to, from)];
            for port in ends.each_ref().map(|end| end.port) {
                self.end_forecast(port);
                self.interfaces[port as usize].users += 1;
            }
            if H::ANY {
                self.hosts.on_start(first.flow(), &ends[0].machine);
            }
            self.flows.start(ends, [from, to], connections);
            if self.part.as_ref().is_none_or(|part| part.owns(from)) {
                self.on_end_timer(now, first);
            }
        }
        let next = self.starts.peek().map(|flow| flow.start);
        self.events.set(STARTS, next);
    }

    fn end_state(&self, machine: E, path: End, host: Node, peer: Node) -> EndState<E> {
        // The plan's check has made sure of a path.
        let port = self.routes.next(host, peer, path.peer()).unwrap_or(0);
        EndState { machine, port, waiting: None, complete: false, source: None, calm: 0 }
    }

    fn on_end_timer(&mut self, now: Time, end: End) {
        if self.interrupt(end) && !self.is_due(now, end) {
            return self.begin_run(end);
        }
        let state = self.flows.get(end);
        state.machine.on_timer(now);
        if state.report(now, end, &mut self.probe) {
            self.on_end_complete(end);
        }
        self.settle_end(now, end);
        self.begin_run(end);
        self.retire_if_quiescent(end);
    }

    fn on_port(&mut self, now: Time, number: u32) {
        self.catch_up(now, number as usize);
        let peer = self.interfaces[number as usize].peer;
        loop {
            let port = &mut self.interfaces[number as usize].port;
            let Some(packet) = port.pop_arrived(now) else { break };
            let mut packet = *packet;
            match port.draw_fate(now, &packet.envelope, &mut self.probe) {
                Fate::Arrives => {}
                Fate::Duplicated => self.on_duplicate(now, number, peer, packet),
                Fate::Lost => {
                    self.on_dropped(&packet.cargo);
                    self.flows.on_packet_gone(packet.envelope.end);
                    self.retire_if_quiescent(packet.envelope.end);
                    continue;
                }
            }
            self.on_crossed(now, number, peer, &mut packet);
        }
        if !self.interfaces[number as usize].waiting.is_empty() {
            self.serve_waiting(now, number);
            self.collect_dropped(number);
        }
        self.arm(number);
    }

    /// Handles a packet that has crossed the wire of this port, which leads to `peer`.
    #[inline]
    fn on_crossed(&mut self, now: Time, port: u32, peer: Node, packet: &mut Packet<E::Head>) {
        if M::HAS_EGRESS {
            self.on_egress(now, port, packet);
        }
        self.on_ingress(now, port, peer, packet);
    }

    /// Handles the copy of a packet that a wire duplicated, before the packet itself.
    #[cold]
    fn on_duplicate(&mut self, now: Time, port: u32, peer: Node, mut packet: Packet<E::Head>) {
        if !H::ANY || self.hosts.on_duplicated(&mut packet.cargo) {
            self.flows.on_packet_duplicated(packet.envelope.end);
            self.on_crossed(now, port, peer, &mut packet);
        }
    }

    /// Calls the middleboxes of the node to which the port belongs, for a packet that has left the node.
    fn on_egress(&mut self, now: Time, port: u32, packet: &mut Packet<E::Head>) {
        let node = self.interfaces[(port ^ 1) as usize].peer;
        for middlebox in self.middleboxes.get_mut(node.0 as usize).into_iter().flatten() {
            middlebox.on_egress(now, port, packet);
        }
    }

    /// Calls the middleboxes of the node that the packet enters, then delivers or forwards the packet.
    fn on_ingress(&mut self, now: Time, port: u32, node: Node, packet: &mut Packet<E::Head>) {
        for middlebox in self.middleboxes.get_mut(node.0 as usize).into_iter().flatten() {
            middlebox.on_ingress(now, port, packet);
        }
        if self.nodes[node.0 as usize] == NodeKind::Host {
            return self.deliver(now, packet);
        }
        let end = packet.envelope.end;
        let (host, path) = self.flows.destination(end);
        let Some(number) = self.routes.next(node, host, path) else {
            self.unroutable += 1;
            self.on_dropped(&packet.cargo);
            self.flows.on_packet_gone(end);
            return;
        };
        self.pull(number);
        let Interface { port, buffer, .. } = &mut self.interfaces[number as usize];
        // A port with a packet on its wire keeps its deadline.
        let was_idle = !port.has_packet_on_wire();
        // Without pools there is no membership to look up.
        let member = if self.pools.is_empty() { None } else { buffer.member() };
        let accepted = match member {
            None => port.enqueue(now, packet, buffer, &mut self.probe).is_ok(),
            Some(member) => self.enqueue_pooled(now, number, member, packet),
        };
        if !accepted {
            self.on_dropped(&packet.cargo);
            self.flows.on_packet_gone(end);
            self.retire_if_quiescent(end);
        } else if was_idle {
            self.arm(number);
        }
        self.collect_dropped(number);
    }

    /// Accounts for packets that the queue disciplines of a port dropped after they had enqueued them.
    #[inline]
    fn collect_dropped(&mut self, number: u32) {
        if self.drops_enqueued {
            self.collect_dropped_now(number);
        }
    }

    #[cold]
    fn collect_dropped_now(&mut self, number: u32) {
        let ends: Vec<End> = self.interfaces[number as usize].port.take_dropped().collect();
        for end in ends {
            self.flows.on_packet_gone(end);
            self.retire_if_quiescent(end);
        }
    }

    /// Serves every packet of a port whose transmission starts by `now`.
    #[inline]
    fn catch_up(&mut self, now: Time, number: usize) {
        self.pull(number as u32);
        if self.interfaces[number].port.next_service <= now {
            self.serve(now, number);
        }
    }

    #[inline(never)]
    fn serve(&mut self, now: Time, number: usize) {
        let interface = &mut self.interfaces[number];
        // Without pools there is no membership to look up.
        if !self.pools.is_empty()
            && let Some(PoolMember { pool, .. }) = interface.buffer.member()
            && self.pools[pool as usize].marks_departures()
        {
            return self.serve_pool(now, pool);
        }
        interface.catch_up(now, &mut self.pools, &mut self.probe);
        self.collect_dropped(number as u32);
    }

    /// Reports a dropped packet to the real hosts.
    #[inline]
    fn on_dropped(&mut self, head: &E::Head) {
        if H::ANY {
            self.hosts.on_dropped(head);
        }
    }

    fn deliver(&mut self, now: Time, packet: &Packet<E::Head>) {
        let end = packet.envelope.end;
        self.probe.on_deliver(now, &packet.envelope);
        self.interrupt_by_packet(end);
        let state = self.flows.get(end);
        state.machine.on_packet(now, &packet.cargo, packet.envelope.ecn);
        if let Some(until) = state.machine.held_until() {
            return self.on_held(now, packet, until);
        }
        if state.report(now, end, &mut self.probe) {
            self.on_end_complete(end);
        }
        if H::ANY {
            self.hosts.on_packet(now, packet);
            self.arm_hosts();
        }
        self.settle_end(now, end);
        self.begin_run(end);
        self.flows.on_packet_gone(end);
        self.retire_if_quiescent(end);
    }

    /// Number of an endpoint as a target of the event queue.
    #[inline]
    fn target(&self, end: End) -> EventTarget {
        EventTarget(Self::first_end(self.interfaces.len() as u32) + self.flows.number(end))
    }

    /// Rank of an endpoint among the events of an instant: by its address, so that the order does not depend on which
    /// flows have retired; for transports with metered packets by its number in the flow table.
    #[inline]
    fn rank(&self, end: End, target: EventTarget) -> u32 {
        if E::SENDS_METERED { target.0 } else { Self::first_end(self.interfaces.len() as u32) + end.0 }
    }

    /// Sets the deadline of an endpoint.
    #[inline]
    fn set_deadline(&mut self, end: End, at: Option<Time>) {
        let target = self.target(end);
        self.events.set_ranked(target, self.rank(end, target), at);
    }

    /// Retires the flow of an endpoint if it has no further events.
    #[inline]
    fn retire_if_quiescent(&mut self, end: End) {
        if self.flows.is_quiescent(end) {
            let has_no_deadline = |end| self.events.deadline(self.target(end)).is_none();
            if has_no_deadline(end) && has_no_deadline(end.peer()) {
                for end in [end, end.peer()] {
                    self.interfaces[self.flows.get(end).port as usize].users -= 1;
                }
                self.flows.retire_flow(end);
            }
        }
    }

    /// Lets an endpoint send, then sets the deadlines of the endpoint and of its host's link.
    fn settle_end(&mut self, now: Time, end: End) {
        self.pull_for(end);
        let (machine, mut link) = self.link(end);
        let Interface { port, waiting, .. } = &link.interface;
        let (was_idle, none_waited) = (!port.has_packet_on_wire(), waiting.is_empty());
        let wakeup = settle(machine, now, &mut link);
        let rearm = was_idle || none_waited != link.interface.waiting.is_empty();
        self.set_end(end, now, wakeup);
        if rearm || self.drops_enqueued {
            let port = self.flows.get(end).port;
            self.arm(port);
            self.collect_dropped(port);
        }
    }

    /// Lets the endpoints that wait for this port send while its link is free.
    fn serve_waiting(&mut self, now: Time, number: u32) {
        loop {
            let Interface { port, waiting, .. } = &mut self.interfaces[number as usize];
            if waiting.due(port.free_at()).is_none_or(|at| at > now) {
                return;
            }
            let Some(end) = waiting.dequeue() else { return };
            let (machine, mut link) = self.link(end);
            *link.waiting = None;
            let out = machine.poll(now);
            let sends = out.is_some();
            if let Some(out) = out {
                link.send(now, out);
            }
            if machine.ready(now) {
                link.wait(now, machine.is_low_priority());
            }
            let wakeup = machine.wakeup();
            self.set_end(end, now, wakeup);
            if !sends {
                self.retire_if_quiescent(end);
            }
        }
    }

    fn link(&mut self, end: End) -> (&mut E, HostLink<'_, E::Head, P>) {
        let (EndState { machine, port, waiting, .. }, in_network) = self.flows.get_counted(end);
        let link = HostLink {
            end,
            waiting,
            in_network,
            interface: &mut self.interfaces[*port as usize],
            probe: &mut self.probe,
            mode: self.nic,
        };
        (machine, link)
    }

    fn set_end(&mut self, end: End, now: Time, wakeup: Option<Time>) {
        debug_assert!(wakeup.is_none_or(|at| at >= now), "a deadline must not be in the past");
        self.set_deadline(end, wakeup);
    }

    fn arm(&mut self, number: u32) {
        let due = self.interfaces[number as usize].deadline(self.now);
        self.events.set(EventTarget(number + 1), due);
    }
}
