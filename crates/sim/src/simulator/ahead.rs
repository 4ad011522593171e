//! Metered packets that an endpoint sends ahead of time. With thousands of flows, neither an endpoint nor its port is
//! in the processor's cache when a packet is due. So an endpoint that has the link of its host for itself sends several
//! packets in one event, each with its own time. If the endpoint gets a packet or another endpoint comes to use the
//! link, endpoint and port return to their state before these packets, and send those that were due until then again.
//! Nothing else reads this state, so results equal a run that sends its packets one by one.

use super::Simulator;
use crate::{flow_table::EndState, link::Interface, real_hosts::RealHosts};
use shallop_core::{End, Probe, Span, Time};
use shallop_proto::{Endpoint, MeteredState, Middlebox, Nic};
use shallop_switch::PortState;

/// The largest number of packets that are sent ahead: with the packet before, they fill 16 slots of the wire.
const MAX_AHEAD: usize = 15;
/// The smallest number of packets for which it pays.
const MIN_AHEAD: usize = 4;

/// The packets of one endpoint that a port has sent ahead of time.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    end: End,
    /// When the packets are sent; empty if there are none.
    times: Vec<Time>,
    /// State of the endpoint and of the port before the first of the packets.
    before: Option<(MeteredState, PortState)>,
    /// The number of packets to send ahead next time: twice as many as last time, or those that were not taken back.
    /// Below [`MIN_AHEAD`], it counts the packets that are sent one by one.
    limit: usize,
}

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'_, E, P, M, H> {
    /// Lets an endpoint that has the link of its host for itself send its next packets ahead of time.
    pub(super) fn send_ahead(&mut self, end: End) {
        if !E::SENDS_METERED || H::ANY || !self.probe.allows_sending_ahead() {
            return;
        }
        let EndState { machine, port: number, .. } = self.flows.get(end);
        let number = *number;
        let Interface { port, buffer, waiting, users, ahead, .. } = &mut self.interfaces[number as usize];
        if *users != 1 || !waiting.is_empty() || buffer.member().is_some() {
            return;
        }
        let Some(next) = machine.next_metered() else { return };
        if !port.sends_ahead(next.at, next.class, next.max_size) {
            return;
        }
        let new = || Box::new(Ahead { end, times: Vec::with_capacity(MAX_AHEAD), before: None, limit: 0 });
        let mut ahead = ahead.take().unwrap_or_else(new);
        if ahead.limit < MIN_AHEAD {
            ahead.limit += 1;
        } else {
            let port = port.state(next.class);
            ahead.before = machine.metered_state().map(|machine| (machine, port));
            ahead.end = end;
            self.send_packets_ahead(&mut ahead);
            self.arm(number);
        }
        self.interfaces[number as usize].ahead = Some(ahead);
    }

    fn send_packets_ahead(&mut self, ahead: &mut Ahead) {
        let (machine, mut link) = self.link(ahead.end);
        let mut last = Time::ZERO;
        while ahead.times.len() < ahead.limit {
            let next = machine.next_metered().filter(|next| next.at > last);
            let Some(next) = next.filter(|next| link.interface.port.sends_ahead(next.at, next.class, next.max_size))
            else {
                break;
            };
            last = next.at;
            machine.on_timer(last);
            if let Some(out) = machine.poll_metered(last) {
                link.meter(last, out);
                ahead.times.push(last);
            }
        }
        let wakeup = machine.wakeup().map(|at| at.max(last));
        self.set_deadline(ahead.end, wakeup);
    }

    /// Takes back the packets that the port of an endpoint has sent ahead for `now` or later.
    #[inline]
    pub(super) fn take_back_of(&mut self, now: Time, end: End) {
        if E::SENDS_METERED {
            let port = self.flows.get(end).port;
            self.take_back(now, port);
        }
    }

    /// Takes back the packets that a port has sent ahead for `now` or later.
    #[inline]
    pub(super) fn take_back(&mut self, now: Time, number: u32) {
        if let Some(ahead) = &self.interfaces[number as usize].ahead
            && !ahead.times.is_empty()
        {
            self.take_back_from(now, number);
        }
    }

    #[inline(never)]
    fn take_back_from(&mut self, now: Time, number: u32) {
        let Some(mut ahead) = self.interfaces[number as usize].ahead.take() else { return };
        let (count, kept) = (ahead.times.len(), ahead.times.partition_point(|&at| at < now));
        ahead.limit = if kept < count { kept } else { MAX_AHEAD.min(2 * count) };
        if kept < count
            && let Some((endpoint, port)) = &ahead.before
        {
            let (machine, mut link) = self.link(ahead.end);
            machine.restore_metered(endpoint);
            let crossed = link.interface.port.restore(port, count);
            for &at in &ahead.times[..kept] {
                machine.on_timer(at);
                if let Some(out) = machine.poll_metered(at) {
                    link.meter(at, out);
                }
            }
            link.interface.port.drop_first(crossed);
            *link.in_network -= count as u32;
            let wakeup = machine.wakeup();
            self.set_deadline(ahead.end, wakeup);
            self.arm(number);
        }
        ahead.times.clear();
        self.interfaces[number as usize].ahead = Some(ahead);
    }

    /// Takes back all packets that were sent ahead for a time after the present.
    pub(super) fn take_back_all(&mut self) {
        if !E::SENDS_METERED {
            return;
        }
        let after = self.now.saturating_add(Span::from_ps(1));
        for number in 0..self.interfaces.len() as u32 {
            self.take_back(after, number);
        }
    }
}
