//! Calls from the simulator to real hosts.

use super::Simulator;
use crate::real_hosts::{Outgoing, RealHosts};
use shallop_core::{End, EventTarget, Probe, Time};
use shallop_proto::{Endpoint, Middlebox};

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'_, E, P, M, H> {
    /// Simulates until `end`, but never ahead of the clock that the hosts follow.
    pub(super) fn keep_pace(&mut self, end: Time) {
        loop {
            let next = self.events.first_deadline().map_or(end, |next| next.min(end));
            let reached = self.hosts.wait(next.max(self.now)).min(end).max(self.now);
            self.arm_hosts();
            self.run_events(reached);
            while let Some(flow) = self.hosts.next_report() {
                // The hosts' clock may be ahead: the flow has not started here, and later reports repeat its counts.
                if !self.flows.is_open(flow) {
                    continue;
                }
                for end in [End::receiver(flow), End::sender(flow)] {
                    let state = self.flows.get(end);
                    self.hosts.on_report(&mut state.machine);
                    state.report(self.now, end, &mut self.probe);
                }
            }
            if reached >= end || self.probe.is_over() {
                return;
            }
        }
    }

    pub(super) fn arm_hosts(&mut self) {
        if H::ANY {
            let target = EventTarget(1 + self.interfaces.len() as u32);
            let wakeup = self.hosts.wakeup();
            self.events.set(target, wakeup);
        }
    }

    /// Runs the real hosts and enqueues the packets that they send. They may advance to the next deadline of any other
    /// machine, or to `end`.
    pub(super) fn on_hosts(&mut self, mut now: Time, end: Time) {
        loop {
            let horizon = self.events.first_deadline().map_or(end, |next| next.min(end)).max(now);
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
