//! The world: arrays of ports, ends and middleboxes, and the loop that gives each its inputs in order of time.
//!
//! Actors of the agenda, in the order that decides ties at one instant: the flow starts (0), the ports by number, the
//! ends by their seats. A port that fires first catches up, then hands over what has crossed its wire, then lets the
//! ends that wait for it send.

use std::iter::Peekable;

use shallop_core::{Actor, Agenda, End, Facts, Node, Packet, Probe, Time};
use shallop_proto::{Endpoint, Middlebox, Nic, PassThrough, Turn, settle};
use shallop_switch::{Member, Pool, Pooled, Port, PortConfig, Room, Routes};

use crate::graph::{Graph, NodeKind};
use crate::link::{HostLink, NicMode, Outlet};
use crate::seats::{Retired, Seat, Seats};

/// A flow to come.
#[derive(Clone, Debug)]
pub struct Flow<E> {
    /// When it starts.
    pub start: Time,
    /// The host that sends.
    pub from: Node,
    /// The host that receives.
    pub to: Node,
    /// The end that sends.
    pub sender: E,
    /// The end that receives.
    pub receiver: E,
    /// What those who observe the run are told of it.
    pub facts: Facts,
    /// It goes on a connection of this number between its hosts that is idle, if there is one, and leaves its own to
    /// later flows; `None` for one that has a connection to itself. Connections are idle once their flows have retired.
    pub connections: Option<u32>,
}

/// The network part of a world.
#[derive(Clone, Debug)]
pub struct Network {
    /// Nodes and links.
    pub graph: Graph,
    /// For each port its machine's configuration.
    pub ports: Vec<PortConfig>,
    /// For each port the memory it draws on.
    pub rooms: Vec<Room>,
    /// Memory that several ports share.
    pub pools: Vec<Pool>,
    /// Next hops.
    pub routes: Routes,
    /// How hosts' links take packets from their ends.
    pub nic: NicMode,
}

/// The flows to come, in order of their start.
type Starts<'f, E> = Peekable<Box<dyn Iterator<Item = Flow<E>> + Send + 'f>>;

/// A network with flows, at some point in time.
pub struct World<
    'f,
    E: Endpoint,
    P: Probe,
    M: Middlebox<Head = E::Head> = PassThrough<<E as Endpoint>::Head>,
> {
    now: Time,
    agenda: Agenda,
    outlets: Vec<Outlet<E::Head>>,
    pools: Vec<Pool>,
    /// For each pool the ports that draw on it, by their places.
    members: Vec<Vec<u32>>,
    nodes: Vec<NodeKind>,
    /// The middleboxes of each node, up to the last node that has any.
    boxes: Vec<Vec<M>>,
    routes: Routes,
    nic: NicMode,
    starts: Starts<'f, E>,
    seats: Seats<E>,
    lost: u64,
    /// What is measured.
    pub probe: P,
}

const STARTS: Actor = Actor(0);

impl<'f, E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>> World<'f, E, P, M> {
    /// A world in which nothing has happened yet. `flows` must come in order of their start.
    pub fn new(
        network: Network,
        flows: Box<dyn Iterator<Item = Flow<E>> + Send + 'f>,
        probe: P,
    ) -> Self {
        let Network { graph, ports, rooms, pools, routes, nic } = network;
        let members = members(&rooms, pools.len());
        let outlets = (0..).zip(ports.iter().zip(rooms)).map(|(number, (port, room))| Outlet {
            port: Port::new(number, port),
            room,
            turn: Turn::default(),
            far: graph.far(number),
        });
        let mut world = Self {
            now: Time::ZERO,
            agenda: Agenda::default(),
            outlets: outlets.collect(),
            pools,
            members,
            nodes: graph.nodes,
            boxes: Vec::new(),
            routes,
            nic,
            starts: flows.peekable(),
            seats: Seats::default(),
            lost: 0,
            probe,
        };
        let first = world.starts.peek().map(|flow| flow.start);
        world.agenda.set(STARTS, first);
        world
    }

    /// Puts a middlebox at a node; every packet that enters the node passes it, and is shown to it again when it has
    /// left, if it asks for that.
    pub fn install(&mut self, node: Node, middlebox: M) {
        let node = node.0 as usize;
        self.boxes.resize_with(self.boxes.len().max(node + 1), Vec::new);
        self.boxes[node].push(middlebox);
    }

    /// The ports, by number.
    pub fn ports(&self) -> impl ExactSizeIterator<Item = &Port<E::Head>> {
        self.outlets.iter().map(|outlet| &outlet.port)
    }

    /// The memory that ports share, by number. What they say of the past is known up to the last [`World::run_until`].
    pub fn pools(&mut self) -> &mut [Pool] {
        &mut self.pools
    }

    /// How far the run has come.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// From now on a flow to which nothing can happen any more gives up its seats: see [`World::take_retired`].
    pub fn retire(&mut self) {
        self.seats.retire();
    }

    /// The flows that have retired since the last call, in the order they did.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        self.seats.take_retired()
    }

    /// The ends of the flows that have started and not retired, in the order of their seats: senders and receivers in
    /// turn.
    pub fn ends(&self) -> impl Iterator<Item = &E> {
        self.seats.all().map(|(_, machine)| machine)
    }

    /// The same, each with the end it is.
    pub fn seated(&self) -> impl Iterator<Item = (End, &E)> {
        self.seats.all()
    }

    /// The middleboxes, in the order of their nodes.
    pub fn middleboxes(&self) -> impl Iterator<Item = &M> {
        self.boxes.iter().flatten()
    }

    /// Packets that are queued or on a wire.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        let held = |outlet: &Outlet<_>| outlet.port.on_wire() + outlet.port.queued() as usize;
        self.outlets.iter().map(held).sum()
    }

    /// How many flows have started.
    #[must_use]
    pub fn started(&self) -> usize {
        self.seats.started()
    }

    /// True when no flow is to come.
    pub fn is_exhausted(&mut self) -> bool {
        self.starts.peek().is_none()
    }

    /// Packets that ended for want of a path.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// True when nothing is left to happen.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.agenda.is_empty()
    }

    /// Lets everything happen that is due by `end`. Every port has caught up to `end` afterwards.
    pub fn run_until(&mut self, end: Time) {
        self.advance(end);
        for number in 0..self.outlets.len() {
            self.catch_up(end, number);
        }
    }

    /// As [`World::run_until`], but ports whose packets nobody waits for yet stay behind.
    pub fn advance(&mut self, end: Time) {
        let ports = self.outlets.len() as u32;
        while let Some((now, actor)) = self.agenda.pop_until(end) {
            self.now = now;
            match actor.0 {
                0 => self.start_flows(now),
                port if port <= ports => self.on_port(now, port - 1),
                other => {
                    let end = self.seats.end(other - 1 - ports);
                    self.on_end_timer(now, end);
                }
            }
        }
        self.now = end;
    }

    fn start_flows(&mut self, now: Time) {
        while let Some(flow) = self.starts.next_if(|flow| flow.start <= now) {
            let Flow { from, to, sender, receiver, facts, connections, .. } = flow;
            let first = self.seats.next_flow();
            self.probe.on_start(now, first.flow(), &facts);
            let way = End::sender(self.seats.way(connections, [from, to]));
            let pair =
                [self.seat(sender, way, from, to), self.seat(receiver, way.peer(), to, from)];
            self.seats.add(pair, [from, to], connections);
            self.on_end_timer(now, first);
        }
        let next = self.starts.peek().map(|flow| flow.start);
        self.agenda.set(STARTS, next);
    }

    fn seat(&self, machine: E, end: End, host: Node, peer: Node) -> Seat<E> {
        // Without a path the packets go nowhere: the scenario was checked before.
        let nic = self.routes.next(host, peer, end.peer()).unwrap_or(0);
        Seat { machine, nic, waiting: None, complete: false }
    }

    fn on_end_timer(&mut self, now: Time, end: End) {
        self.seats.get(end).machine.on_timer(now);
        self.settle(now, end);
        self.retire_if_over(end);
    }

    fn on_port(&mut self, now: Time, number: u32) {
        self.catch_up(now, number as usize);
        let far = self.outlets[number as usize].far;
        loop {
            let port = &mut self.outlets[number as usize].port;
            let Some(packet) = port.arrive(now) else { break };
            let mut packet = *packet;
            if port.loses(&packet.envelope) {
                self.probe.on_wire_loss(now, number, &packet.envelope);
                self.seats.landed(packet.envelope.end);
                self.retire_if_over(packet.envelope.end);
            } else {
                if M::LEAVES {
                    self.leave(now, number, &mut packet);
                }
                self.enter(now, number, far, &mut packet);
            }
        }
        if !self.outlets[number as usize].turn.is_empty() {
            self.serve_turn(now, number);
        }
        self.arm(number);
    }

    /// A packet has left the node of this port.
    fn leave(&mut self, now: Time, port: u32, packet: &mut Packet<E::Head>) {
        let node = self.outlets[(port ^ 1) as usize].far;
        for middlebox in self.boxes.get_mut(node.0 as usize).into_iter().flatten() {
            middlebox.leave(now, port, packet);
        }
    }

    /// A packet enters the node that this port leads to.
    fn enter(&mut self, now: Time, port: u32, node: Node, packet: &mut Packet<E::Head>) {
        for middlebox in self.boxes.get_mut(node.0 as usize).into_iter().flatten() {
            middlebox.pass(now, port, packet);
        }
        if self.nodes[node.0 as usize] == NodeKind::Host {
            return self.deliver(now, packet);
        }
        let end = packet.envelope.end;
        let (host, way) = self.seats.target(end);
        let Some(number) = self.routes.next(node, host, way) else {
            self.lost += 1;
            self.seats.landed(end);
            return;
        };
        let Outlet { port, room, .. } = &mut self.outlets[number as usize];
        // A wire that has a packet already keeps its deadline.
        let quiet = !port.is_crossed();
        let taken = match room.member() {
            None => port.offer(now, packet, room, &mut self.probe).is_ok(),
            Some(member) => self.offer_from_pool(now, number, member, packet),
        };
        if !taken {
            self.seats.landed(end);
            self.retire_if_over(end);
        } else if quiet {
            self.arm(number);
        }
    }

    /// Offers a packet to a port that draws on a pool. Before it is admitted, all that has left the pool by now is
    /// given back, whichever port it left by.
    fn offer_from_pool(
        &mut self,
        now: Time,
        number: u32,
        member: Member,
        packet: &Packet<E::Head>,
    ) -> bool {
        let needs_no_room = self.outlets[number as usize].port.passes(now, packet.envelope.class);
        if !needs_no_room || self.pools[member.pool as usize].marks() {
            self.drain(now, member.pool);
        }
        let Outlet { port, room, .. } = &mut self.outlets[number as usize];
        let pool = &mut self.pools[member.pool as usize];
        let taken = port.offer(now, packet, &mut Pooled { room, pool }, &mut self.probe);
        pool.order.set(member.place as usize, port.due());
        taken.is_ok()
    }

    /// Serves all that has left a pool by `now`, whichever port it left by: in order of time if the pool asks for that.
    fn drain(&mut self, now: Time, pool: u32) {
        while let Some((place, until)) = self.pools[pool as usize].due(now) {
            let port = self.members[pool as usize][place];
            self.outlets[port as usize].catch_up(until, &mut self.pools, &mut self.probe);
        }
    }

    /// Serves every packet of a port whose turn has come by `now`.
    #[inline]
    fn catch_up(&mut self, now: Time, number: usize) {
        let outlet = &mut self.outlets[number];
        // Without pools nobody needs to ask which of them this port is in.
        if !self.pools.is_empty()
            && let Some(Member { pool, .. }) = outlet.room.member()
            && self.pools[pool as usize].is_ordered()
        {
            return self.drain(now, pool);
        }
        outlet.catch_up(now, &mut self.pools, &mut self.probe);
    }

    fn deliver(&mut self, now: Time, packet: &Packet<E::Head>) {
        let end = packet.envelope.end;
        self.probe.on_deliver(now, &packet.envelope);
        let seat = self.seats.get(end);
        seat.machine.on_packet(now, &packet.cargo, packet.envelope.ecn);
        if let Some(rtt) = seat.machine.rtt_sample() {
            self.probe.on_rtt(now, end, rtt);
        }
        if !seat.complete && seat.machine.is_complete() {
            seat.complete = true;
            self.probe.on_complete(now, end);
        }
        self.settle(now, end);
        self.seats.landed(end);
        self.retire_if_over(end);
    }

    /// Lets the flow of this end go if nothing can happen to it any more.
    #[inline]
    fn retire_if_over(&mut self, end: End) {
        if self.seats.is_over(end) {
            let actor = |end| Actor(1 + self.outlets.len() as u32 + self.seats.place(end));
            let asleep = |end| self.agenda.deadline(actor(end)).is_none();
            if asleep(end) && asleep(end.peer()) {
                self.seats.remove(end);
            }
        }
    }

    /// Lets an end say what it has to say, and arms it and its host's link anew.
    fn settle(&mut self, now: Time, end: End) {
        let (machine, mut link) = self.link(end);
        let (quiet, waited) = (!link.outlet.port.is_crossed(), link.outlet.turn.is_empty());
        let wakeup = settle(machine, now, &mut link);
        let rearm = quiet || waited != link.outlet.turn.is_empty();
        self.set_end(end, now, wakeup);
        if rearm {
            let nic = self.seats.get(end).nic;
            self.arm(nic);
        }
    }

    /// Lets the ends that wait for this port send, as long as it is free.
    fn serve_turn(&mut self, now: Time, number: u32) {
        loop {
            let outlet = &mut self.outlets[number as usize];
            if outlet.turn.due(outlet.port.free_at()).is_none_or(|at| at > now) {
                return;
            }
            let Some(end) = outlet.turn.call() else { return };
            let (machine, mut link) = self.link(end);
            *link.waiting = None;
            if let Some(out) = machine.poll(now) {
                link.send(now, out);
            }
            if machine.ready(now) {
                link.wait(now, machine.may_wait());
            }
            let wakeup = machine.wakeup();
            self.set_end(end, now, wakeup);
        }
    }

    fn link(&mut self, end: End) -> (&mut E, HostLink<'_, E::Head, P>) {
        let (Seat { machine, nic, waiting, .. }, under_way) = self.seats.get_counted(end);
        let link = HostLink {
            end,
            waiting,
            under_way,
            outlet: &mut self.outlets[*nic as usize],
            probe: &mut self.probe,
            mode: self.nic,
        };
        (machine, link)
    }

    fn set_end(&mut self, end: End, now: Time, wakeup: Option<Time>) {
        debug_assert!(wakeup.is_none_or(|at| at >= now), "an end must not wake up in the past");
        let actor = Actor(1 + self.outlets.len() as u32 + self.seats.place(end));
        self.agenda.set(actor, wakeup);
    }

    fn arm(&mut self, number: u32) {
        let due = self.outlets[number as usize].deadline();
        self.agenda.set(Actor(number + 1), due);
    }
}

/// For each pool the ports that draw on it, by their places.
fn members(rooms: &[Room], pools: usize) -> Vec<Vec<u32>> {
    let mut members = vec![vec![]; pools];
    for (port, room) in (0..).zip(rooms) {
        if let Some(Member { pool, place, .. }) = room.member() {
            let of: &mut Vec<u32> = &mut members[pool as usize];
            of.resize(of.len().max(place as usize + 1), port);
            of[place as usize] = port;
        }
    }
    members
}
