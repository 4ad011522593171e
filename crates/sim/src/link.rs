//! A host's link as its ends see it: a port, and the turn of the ends that wait for it.

use shallop_core::{Arena, End, Envelope, Node, Probe, Slot, Time};
use shallop_proto::{Nic, Out, Turn};
use shallop_switch::{Port, Room};

/// How a host's link takes packets from its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum NicMode {
    /// The link asks its ends in turn whenever it is free: nothing but metered packets is ever queued here.
    #[default]
    Fair,
    /// Ends send what they may into one finite queue, which drops.
    Fifo,
}

/// Where an end is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// The port of its host that its packets leave by.
    pub nic: u32,
    /// The host of its peer.
    pub peer: Node,
    /// It waits for its turn.
    pub waiting: bool,
    /// It has been seen complete.
    pub complete: bool,
}

/// Everything sending needs, borrowed from the world for one end.
pub(crate) struct HostLink<'a, H, P> {
    pub end: End,
    pub home: &'a mut Home,
    pub port: &'a mut Port,
    pub room: &'a mut Room,
    pub turn: &'a mut Turn,
    pub heads: &'a mut Arena<H>,
    pub probe: &'a mut P,
    pub mode: NicMode,
}

impl<H: Copy, P: Probe> HostLink<'_, H, P> {
    fn offer(&mut self, now: Time, out: &Out<H>) {
        let envelope = Envelope {
            end: self.end.peer(),
            to: self.home.peer,
            size: out.size,
            class: out.class,
            ecn: out.ecn,
        };
        let slot = Slot { envelope, head: self.heads.insert(out.head) };
        if let Err(dropped) = self.port.offer(now, slot, self.room, self.probe) {
            self.heads.take(dropped.head);
        }
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
        self.port.catch_up(now, self.room, self.probe);
        self.port.free_at() <= now && self.turn.is_empty()
    }

    fn send(&mut self, now: Time, out: Out<H>) {
        self.offer(now, &out);
    }

    fn wait(&mut self, now: Time) {
        if !self.home.waiting {
            self.home.waiting = true;
            self.turn.join(now, self.end);
        }
    }
}
