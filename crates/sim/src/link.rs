//! A host's link as its ends see it: a port, the memory it draws on and the turn of the ends that wait for it.

use shallop_core::{End, Envelope, Node, Packet, Probe, Time};
use shallop_proto::{Nic, Out, Row, Turn};
use shallop_switch::{Pool, Pooled, Port, Room};

/// How a host's link takes packets from its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NicMode {
    /// The link asks its ends in turn whenever it is free: nothing but metered packets is ever queued here.
    #[default]
    Fair,
    /// Ends send what they may into one finite queue, which drops.
    Fifo,
}

/// A port with everything around it. What every packet touches begins with a cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(crate) struct Outlet<H> {
    pub port: Port<H>,
    pub room: Room,
    /// The ends that wait for it, if it is a host's.
    pub turn: Turn,
    /// The node it leads to.
    pub far: Node,
}

impl<H: Copy> Outlet<H> {
    /// Serves every packet whose turn has come by `now`, and tells the pool it draws on, if any, when the next is.
    #[inline]
    pub fn catch_up(&mut self, now: Time, pools: &mut [Pool], probe: &mut impl Probe) {
        let Self { port, room, .. } = self;
        match room.member() {
            None => port.catch_up(now, room, probe),
            Some(member) if port.due() <= now => {
                let pool = &mut pools[member.pool as usize];
                port.catch_up(now, &mut Pooled { room, pool }, probe);
                pool.order.set(member.place as usize, port.due());
            }
            Some(_) => {}
        }
    }

    /// When it has something to do: hand over a packet, or let the first of those who wait send.
    #[inline]
    pub fn deadline(&mut self) -> Option<Time> {
        let own = self.port.deadline();
        if self.turn.is_empty() {
            return own;
        }
        match (own, self.turn.due(self.port.free_at())) {
            (Some(own), Some(turn)) => Some(own.min(turn)),
            (own, turn) => own.or(turn),
        }
    }
}

/// What sending needs, borrowed from the world for one end.
pub(crate) struct HostLink<'a, H, P> {
    pub end: End,
    pub waiting: &'a mut Option<Row>,
    /// Packets of its flow that are queued or on a wire.
    pub under_way: &'a mut u32,
    pub outlet: &'a mut Outlet<H>,
    pub probe: &'a mut P,
    pub mode: NicMode,
}

impl<H: Copy, P: Probe> HostLink<'_, H, P> {
    fn offer(&mut self, now: Time, out: &Out<H>) {
        let envelope =
            Envelope { end: self.end.peer(), size: out.size, class: out.class, ecn: out.ecn };
        let packet = Packet { envelope, cargo: out.head };
        let Outlet { port, room, .. } = self.outlet;
        // A drop is the probe's to count: nobody waits for an answer.
        let taken = port.offer(now, &packet, room, self.probe);
        *self.under_way += u32::from(taken.is_ok());
    }
}

impl<H: Copy, P: Probe> Nic<H> for HostLink<'_, H, P> {
    fn meter(&mut self, now: Time, out: Out<H>) {
        self.offer(now, &out);
    }

    fn is_free(&mut self, now: Time) -> bool {
        if self.mode == NicMode::Fifo {
            return true;
        }
        let Outlet { port, room, turn, .. } = self.outlet;
        port.catch_up(now, room, self.probe);
        port.free_at() <= now && turn.is_empty()
    }

    fn send(&mut self, now: Time, out: Out<H>) {
        self.offer(now, &out);
    }

    fn wait(&mut self, now: Time, may_wait: bool) {
        let row = self.outlet.turn.join(now, self.end, *self.waiting, may_wait);
        *self.waiting = Some(row);
    }
}
