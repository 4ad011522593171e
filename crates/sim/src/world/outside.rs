//! What a world does for hosts that decide for themselves.

use shallop_core::{Actor, End, Probe, Time};
use shallop_proto::{Endpoint, Middlebox};

use super::World;
use crate::hosts::{Hosts, Outgoing};

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: Hosts<E>> World<'_, E, P, M, H> {
    /// Advances to `end`, no further at any moment than the clock of the hosts.
    pub(super) fn keep_pace(&mut self, end: Time) {
        loop {
            let next = self.agenda.first_deadline().map_or(end, |next| next.min(end));
            let reached = self.hosts.wait(next.max(self.now)).min(end).max(self.now);
            self.arm_hosts();
            self.run_events(reached);
            while let Some(flow) = self.hosts.news() {
                // The hosts' clock may be ahead: of a flow that has not started here, they will tell more.
                if !self.flows.is_open(flow) {
                    continue;
                }
                for end in [End::receiver(flow), End::sender(flow)] {
                    let state = self.flows.get(end);
                    self.hosts.on_news(&mut state.machine);
                    state.report(self.now, end, &mut self.probe);
                }
            }
            if reached >= end {
                return;
            }
        }
    }

    pub(super) fn arm_hosts(&mut self) {
        if H::ANY {
            let actor = Actor(1 + self.interfaces.len() as u32);
            let wakeup = self.hosts.wakeup();
            self.agenda.set(actor, wakeup);
        }
    }

    /// Lets the hosts that decide for themselves run, and puts what they send into the queues of their links. They may
    /// advance up to the next deadline of anybody else, or to `end`.
    pub(super) fn on_hosts(&mut self, mut now: Time, end: Time) {
        loop {
            let horizon = self.agenda.first_deadline().map_or(end, |next| next.min(end)).max(now);
            let Some(Outgoing { at, from, out }) = self.hosts.run(now, horizon) else { break };
            (now, self.now) = (at, at);
            let (_, mut link) = self.link(from);
            let accepted = link.enqueue(now, &out);
            let leaves = accepted.then(|| link.interface.port.drained_at());
            self.hosts.on_sent(&mut self.flows.get(from).machine, leaves);
            let port = self.flows.get(from).port;
            self.arm(port);
            self.collect_dropped(port);
        }
        self.arm_hosts();
    }
}
