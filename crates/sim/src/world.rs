//! The world: arrays of ports, ends and middleboxes, and the loop that gives each its inputs in order of time.
//!
//! Actors of the agenda, in the order that decides ties at one instant: the flow starts (0), the ports by number, the
//! ends by number. A port that fires first catches up, then hands over what has crossed its wire, then lets the ends
//! that wait for it send.

use std::iter::Peekable;

use shallop_core::{Actor, Agenda, Arena, End, Node, Probe, Slot, Time};
use shallop_proto::{Endpoint, Middlebox, PassThrough, Turn, settle};
use shallop_switch::{Arrival, Port, PortConfig, Room, Routes};

use crate::graph::{Graph, NodeKind};
use crate::link::{Home, HostLink, NicMode};

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
    /// Next hops.
    pub routes: Routes,
    /// How hosts' links take packets from their ends.
    pub nic: NicMode,
}

/// The flows to come, in order of their start.
type Starts<E> = Peekable<Box<dyn Iterator<Item = Flow<E>> + Send>>;

/// A network with flows, at some point in time.
pub struct World<
    E: Endpoint,
    P: Probe,
    M: Middlebox<Head = E::Head> = PassThrough<<E as Endpoint>::Head>,
> {
    now: Time,
    agenda: Agenda,
    heads: Arena<E::Head>,
    ports: Vec<Port>,
    rooms: Vec<Room>,
    turns: Vec<Turn>,
    far: Vec<Node>,
    kinds: Vec<NodeKind>,
    boxes: Vec<Option<M>>,
    routes: Routes,
    nic: NicMode,
    starts: Starts<E>,
    ends: Vec<E>,
    homes: Vec<Home>,
    lost: u64,
    /// What is measured.
    pub probe: P,
}

const STARTS: Actor = Actor(0);

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>> World<E, P, M> {
    /// A world in which nothing has happened yet. `flows` must come in order of their start.
    pub fn new(
        network: Network,
        flows: Box<dyn Iterator<Item = Flow<E>> + Send>,
        probe: P,
    ) -> Self {
        let Network { graph, ports, rooms, routes, nic } = network;
        let mut world = Self {
            now: Time::ZERO,
            agenda: Agenda::default(),
            heads: Arena::default(),
            ports: (0..).zip(&ports).map(|(number, port)| Port::new(number, port)).collect(),
            rooms,
            turns: vec![Turn::default(); ports.len()],
            far: (0..graph.ports() as u32).map(|port| graph.far(port)).collect(),
            boxes: graph.nodes.iter().map(|_| None).collect(),
            kinds: graph.nodes,
            routes,
            nic,
            starts: flows.peekable(),
            ends: Vec::new(),
            homes: Vec::new(),
            lost: 0,
            probe,
        };
        let first = world.starts.peek().map(|flow| flow.start);
        world.agenda.set(STARTS, first);
        world
    }

    /// Puts a middlebox at a node.
    pub fn install(&mut self, node: Node, middlebox: M) {
        self.boxes[node.0 as usize] = Some(middlebox);
    }

    /// How far the run has come.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The ends of the flows that have started, senders and receivers in turn.
    #[must_use]
    pub fn ends(&self) -> &[E] {
        &self.ends
    }

    /// The middlebox of a node.
    #[must_use]
    pub fn middlebox(&self, node: Node) -> Option<&M> {
        self.boxes[node.0 as usize].as_ref()
    }

    /// Packets that are queued or on a wire.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.heads.len()
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
        while let Some((now, actor)) = self.agenda.pop_until(end) {
            self.now = now;
            let ports = self.ports.len() as u32;
            match actor.0 {
                0 => self.start_flows(now),
                port if port <= ports => self.on_port(now, port - 1),
                other => self.on_end_timer(now, End(other - 1 - ports)),
            }
        }
        self.now = end;
        for (port, room) in self.ports.iter_mut().zip(&mut self.rooms) {
            port.catch_up(end, room, &mut self.probe);
        }
    }

    fn start_flows(&mut self, now: Time) {
        while let Some(flow) = self.starts.next_if(|flow| flow.start <= now) {
            let (sender, receiver) = (End(self.ends.len() as u32), End(self.ends.len() as u32 + 1));
            let home = |end: End, host, peer| Home {
                // A host without a path to its peer keeps its packets: the scenario was checked before.
                nic: self.routes.next(host, peer, end.peer()).unwrap_or(0),
                peer,
                waiting: false,
                complete: false,
            };
            self.homes.push(home(sender, flow.from, flow.to));
            self.homes.push(home(receiver, flow.to, flow.from));
            self.ends.push(flow.sender);
            self.ends.push(flow.receiver);
            self.on_end_timer(now, sender);
        }
        let next = self.starts.peek().map(|flow| flow.start);
        self.agenda.set(STARTS, next);
    }

    fn on_end_timer(&mut self, now: Time, end: End) {
        self.ends[end.0 as usize].on_timer(now);
        self.settle(now, end);
    }

    fn on_port(&mut self, now: Time, number: u32) {
        let index = number as usize;
        self.ports[index].catch_up(now, &mut self.rooms[index], &mut self.probe);
        while let Some(arrival) = self.ports[index].arrive(now) {
            match arrival {
                Arrival::Whole(slot) => self.enter(now, self.far[index], slot),
                Arrival::Lost(slot) => {
                    self.heads.take(slot.head);
                    self.probe.on_wire_loss(now, number, &slot.envelope);
                }
            }
        }
        self.serve_turn(now, number);
        self.arm(number);
    }

    /// A packet enters a node.
    fn enter(&mut self, now: Time, node: Node, mut slot: Slot) {
        if let Some(middlebox) = &mut self.boxes[node.0 as usize] {
            middlebox.pass(now, &mut slot.envelope, self.heads.value(slot.head));
        }
        if self.kinds[node.0 as usize] == NodeKind::Host {
            return self.deliver(now, slot);
        }
        let Some(number) = self.routes.next(node, slot.envelope.to, slot.envelope.end) else {
            self.heads.take(slot.head);
            self.lost += 1;
            return;
        };
        let index = number as usize;
        let offered = self.ports[index].offer(now, slot, &mut self.rooms[index], &mut self.probe);
        match offered {
            Ok(()) => self.arm(number),
            Err(dropped) => {
                self.heads.take(dropped.head);
            }
        }
    }

    fn deliver(&mut self, now: Time, slot: Slot) {
        let end = slot.envelope.end;
        let index = end.0 as usize;
        let head = self.heads.take(slot.head);
        self.probe.on_deliver(now, &slot.envelope);
        let machine = &mut self.ends[index];
        machine.on_packet(now, &head, slot.envelope.ecn);
        if let Some(rtt) = machine.rtt_sample() {
            self.probe.on_rtt(now, end, rtt);
        }
        if !self.homes[index].complete && machine.is_complete() {
            self.homes[index].complete = true;
            self.probe.on_complete(now, end);
        }
        self.settle(now, end);
    }

    /// Lets an end say what it has to say, and arms it and its host's link anew.
    fn settle(&mut self, now: Time, end: End) {
        let nic = self.homes[end.0 as usize].nic;
        let (machine, mut link) = self.link(end);
        let wakeup = settle(machine, now, &mut link);
        self.set_end(end, now, wakeup);
        self.arm(nic);
    }

    /// Lets the ends that wait for this port send, as long as it is free.
    fn serve_turn(&mut self, now: Time, number: u32) {
        let index = number as usize;
        while self.turns[index].due(self.ports[index].free_at()).is_some_and(|at| at <= now) {
            let Some(end) = self.turns[index].call() else { return };
            self.homes[end.0 as usize].waiting = false;
            let (machine, mut link) = self.link(end);
            if let Some(out) = machine.poll(now) {
                shallop_proto::Nic::send(&mut link, now, out);
            }
            if machine.ready(now) {
                shallop_proto::Nic::wait(&mut link, now);
            }
            let wakeup = machine.wakeup();
            self.set_end(end, now, wakeup);
        }
    }

    fn link(&mut self, end: End) -> (&mut E, HostLink<'_, E::Head, P>) {
        let home = &mut self.homes[end.0 as usize];
        let nic = home.nic as usize;
        let link = HostLink {
            end,
            port: &mut self.ports[nic],
            room: &mut self.rooms[nic],
            turn: &mut self.turns[nic],
            home,
            heads: &mut self.heads,
            probe: &mut self.probe,
            mode: self.nic,
        };
        (&mut self.ends[end.0 as usize], link)
    }

    fn set_end(&mut self, end: End, now: Time, wakeup: Option<Time>) {
        debug_assert!(wakeup.is_none_or(|at| at >= now), "an end must not wake up in the past");
        let actor = Actor(1 + self.ports.len() as u32 + end.0);
        self.agenda.set(actor, wakeup);
    }

    /// Sets the deadline of a port: its own, or that of the first end in its turn.
    fn arm(&mut self, number: u32) {
        let index = number as usize;
        let own = self.ports[index].deadline();
        let turn = self.turns[index].due(self.ports[index].free_at());
        let due = match (own, turn) {
            (Some(own), Some(turn)) => Some(own.min(turn)),
            (own, turn) => own.or(turn),
        };
        self.agenda.set(Actor(number + 1), due);
    }
}
