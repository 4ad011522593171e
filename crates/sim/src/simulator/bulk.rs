//! Metered packets in bulk. Metered packets are credits and emulation packets: switches give them a share of each link.
//! A credit transport with many flows makes most of them only to be dropped. So an endpoint has no event for each.
//!
//! - A [`MeteredRun`] is the packets that an endpoint sends by its own clock until its next input.
//! - A [`Source`] is such a run at the queue that meters its packets, with those that are on their way to it.
//! - The queue pulls packets from its sources when its state must be known: in order of their arrival and, at one
//!   instant, in the order that events of their own would have. While the queue is full, arrivals are only counted.
//!
//! The queue is at the host or, if the endpoint has the link of its host for itself, at the next switch. Any input of
//! the endpoint ends its run: packets that the run has sent by then are real from then on. Results equal a run that
//! sends its packets one by one.

use super::Simulator;
use crate::sources::{CALM, Source, Sources};
use crate::{flow_table::EndState, link::Interface, real_hosts::RealHosts};
use shallop_core::{End, Envelope, Packet, Probe, Span, Time};
use shallop_proto::{Endpoint, MeteredRun, Middlebox};
use shallop_topology::NodeKind;

impl<E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>, H: RealHosts<E>> Simulator<'_, E, P, M, H> {
    /// Lets an endpoint send its next metered packets as a run.
    #[inline]
    pub(super) fn begin_run(&mut self, end: End) {
        if !E::SENDS_METERED || H::ANY || !self.probe.allows_bulk() {
            return;
        }
        let EndState { machine, complete, waiting, calm, source, .. } = self.flows.get(end);
        if *complete {
            if source.is_some() {
                self.remove_source(end);
            }
        } else if *calm < CALM {
            *calm += 1;
        } else if waiting.is_none()
            && let Some(run) = machine.metered_run()
        {
            self.add_run(end, run);
        }
    }

    fn add_run(&mut self, end: End, run: MeteredRun) {
        let (host, until) = (self.flows.get(end).port, run.until);
        let forecasts = self.forecast_target(end, host, &run);
        let number = forecasts.unwrap_or(host);
        if self.interfaces[number as usize].buffer.member().is_some() {
            return;
        }
        let mut forecast = None;
        if forecasts.is_some() {
            let Interface { port, buffer, forecast_user, .. } = &mut self.interfaces[host as usize];
            forecast = port.forecast(run.class, run.min_size, buffer);
            if forecast.is_none() {
                return;
            }
            *forecast_user = Some(end);
        }
        if self.flows.get(end).source.is_some_and(|(at, _)| at != number) {
            self.remove_source(end);
        }
        let key = if forecasts.is_some() { host + 1 } else { self.target(end).0 };
        let sources = &mut self.interfaces[number as usize].sources;
        let sources = sources.get_or_insert_with(|| Box::new(Sources::new(run.class)));
        if sources.class != run.class {
            return;
        }
        sources.min_size = sources.min_size.min(run.min_size);
        let (_, index) = *self.flows.get(end).source.get_or_insert_with(|| (number, sources.add(end, key)));
        let source = &mut sources.list[index as usize];
        (source.run, source.forecast) = (Some(run), forecast);
        sources.update(index as usize);
        self.set_deadline(end, Some(until));
        if !self.interfaces[number as usize].port.has_packet_on_wire() {
            self.arm(number);
        }
    }

    /// The port that queues the packets of a run after the link of its host, if the run has that link for itself and
    /// all that happens on it can be computed late.
    fn forecast_target(&mut self, end: End, host: u32, run: &MeteredRun) -> Option<u32> {
        let Interface { port, buffer, users, peer, .. } = &self.interfaces[host as usize];
        let fits = *users == 1 && buffer.member().is_none() && port.can_be_forecast(run.class, run.sizes, buffer);
        let plain = !M::HAS_EGRESS && self.middleboxes.get(peer.0 as usize).is_none_or(Vec::is_empty);
        if !fits || !plain || self.nodes[peer.0 as usize] == NodeKind::Host || self.probe.watches(host) {
            return None;
        }
        let (to, path) = self.flows.destination(end.peer());
        let number = self.routes.next(*peer, to, path)?;
        let Interface { port, buffer, .. } = &self.interfaces[number as usize];
        (port.queues_plainly(run.class) && buffer.member().is_none()).then_some(number)
    }

    /// Ends the run of an endpoint before it gets an input. Returns whether there was a run.
    #[inline]
    pub(super) fn interrupt(&mut self, end: End) -> bool {
        E::SENDS_METERED
            && self.flows.get(end).source.is_some_and(|(number, index)| self.end_run(end, number, index as usize))
    }

    /// Ends the run of an endpoint before it gets a packet.
    pub(super) fn interrupt_by_packet(&mut self, end: End) {
        if E::SENDS_METERED && !self.interrupt(end) {
            self.flows.get(end).calm = 0;
        }
    }

    fn end_run(&mut self, end: End, number: u32, index: usize) -> bool {
        let Some(mut sources) = self.interfaces[number as usize].sources.take() else { return false };
        let source = &mut sources.list[index];
        let run = source.run.take();
        if let Some(mut run) = run.clone() {
            self.send_begun(source, &mut run, sources.keys[index]);
            let state = self.flows.get(end);
            if state.machine.end_run(&run) < u64::from(CALM) {
                state.calm = 0;
            }
            sources.update(index);
        }
        self.interfaces[number as usize].sources = Some(sources);
        run.is_some()
    }

    /// Sends the packets of a run up to the present.
    fn send_begun(&mut self, source: &mut Source<E::Head>, run: &mut MeteredRun, key: u32) {
        let (limit, target) = ((self.now, self.current), self.target(source.end).0);
        let mut forecast = source.forecast.take();
        let host = self.flows.get(source.end).port;
        // Whether the run's next packet would be queued at its host.
        let mut queues = false;
        if forecast.is_some() {
            let Interface { port, buffer, .. } = &mut self.interfaces[host as usize];
            port.catch_up(limit.0, buffer, &mut self.probe);
            queues = port.queued() > 0;
        }
        while run.at < run.until && (run.at, target) < limit {
            let size = run.size();
            let (state, in_network) = self.flows.get_counted(source.end);
            let packet = packet(state, source.end, run, size);
            match (&mut forecast, packet) {
                (None, Some(packet)) => source.past.push_back((run.at, packet)),
                (Some(forecast), Some(packet)) => {
                    if !forecast.offer(run.at, size) {
                        forecast.drop_offered();
                        run.advance();
                        continue;
                    }
                    let Interface { port, buffer, .. } = &mut self.interfaces[host as usize];
                    if !queues && forecast.start > limit.0 {
                        port.take_over(forecast, run.class);
                        queues = true;
                    }
                    forecast.send(run.at, size);
                    if queues {
                        *in_network += u32::from(port.enqueue(limit.0, &packet, buffer, &mut self.probe).is_ok());
                    } else if (forecast.arrival, key) < limit {
                        source.past.push_back((forecast.arrival, packet));
                    } else {
                        port.put_on_wire(forecast.arrival, &packet);
                        *in_network += 1;
                    }
                }
                (_, None) => {}
            }
            run.advance();
        }
        if let Some(mut forecast) = forecast {
            let port = &mut self.interfaces[host as usize].port;
            if !queues {
                port.take_over(&mut forecast, run.class);
            }
            port.report_dropped(&forecast, run.class, &mut self.probe);
            self.arm(host);
        }
    }

    /// Whether the deadline of an endpoint has come. If not, sets its next one.
    pub(super) fn is_due(&mut self, now: Time, end: End) -> bool {
        let wakeup = self.flows.get(end).machine.wakeup();
        if wakeup != Some(now) {
            self.set_end(end, now, wakeup);
        }
        wakeup == Some(now)
    }

    /// Ends the run that has the link of this host for itself.
    pub(super) fn end_forecast(&mut self, number: u32) {
        if let Some(end) = self.interfaces[number as usize].forecast_user.take()
            && self.interrupt(end)
        {
            let wakeup = self.flows.get(end).machine.wakeup();
            self.set_end(end, self.now, wakeup);
        }
    }

    /// Removes an endpoint that is in no run from the sources of its queue.
    fn remove_source(&mut self, end: End) {
        let state = self.flows.get(end);
        let (Some((number, index)), host) = (state.source.take(), state.port) else { return };
        self.pull(number);
        let interface = &mut self.interfaces[number as usize];
        if let Some(sources) = &mut interface.sources {
            // The queue drops all packets that it has not pulled.
            let past = std::mem::take(&mut sources.list[index as usize].past).len() as u64;
            if let Some(cause) = sources.full.filter(|_| past > 0) {
                interface.port.drop_in_bulk(sources.class, cause, past, &mut self.probe);
            }
            sources.update(index as usize);
            sources.remove(index);
        }
        let forecast_user = &mut self.interfaces[host as usize].forecast_user;
        *forecast_user = forecast_user.filter(|&user| user != end);
    }

    /// Pulls the packets that reach the queue of an endpoint's host.
    #[inline]
    pub(super) fn pull_for(&mut self, end: End) {
        if E::SENDS_METERED {
            let port = self.flows.get(end).port;
            self.pull(port);
        }
    }

    /// Pulls the metered packets that have reached a port by now, as far as they matter.
    #[inline]
    pub(super) fn pull(&mut self, number: u32) {
        if E::SENDS_METERED
            && let Some(sources) = &self.interfaces[number as usize].sources
            && sources.quiet_until <= self.now
        {
            self.pull_now(number);
        }
    }

    #[inline(never)]
    fn pull_now(&mut self, number: u32) {
        let limit = (self.now, self.current);
        let Some(mut sources) = self.interfaces[number as usize].sources.take() else { return };
        let was_idle = !self.interfaces[number as usize].port.has_packet_on_wire();
        while sources.quiet_until <= limit.0 {
            self.drop_arrivals(number, &mut sources, None);
            let (at, key, index) = sources.first();
            if (at, key) >= limit {
                (sources.quiet_until, sources.full) = (at, None);
                break;
            }
            self.enqueue_pulled(number, at, &mut sources.list[index]);
            let Interface { port, buffer, .. } = &mut self.interfaces[number as usize];
            let full = port.drops_until(sources.class, sources.min_size, buffer);
            (sources.quiet_until, sources.full) = full.map_or((at, None), |(until, cause)| (until, Some(cause)));
            sources.update(index);
        }
        self.interfaces[number as usize].sources = Some(sources);
        if was_idle {
            self.arm(number);
        }
    }

    /// Drops arrivals before the time until which the queue is full, or before `until` if that is earlier.
    fn drop_arrivals(&mut self, number: u32, sources: &mut Sources<E::Head>, until: Option<Time>) {
        let Some(cause) = sources.full else { return };
        let until = until.map_or(sources.quiet_until, |until| until.min(sources.quiet_until));
        let count = sources.drop_before(until);
        if count > 0 {
            self.interfaces[number as usize].port.drop_in_bulk(sources.class, cause, count, &mut self.probe);
        }
    }

    /// Enqueues the next packet of a source, which arrives at `at`.
    fn enqueue_pulled(&mut self, number: u32, at: Time, source: &mut Source<E::Head>) {
        let (state, in_network) = self.flows.get_counted(source.end);
        let packet = if let Some((_, packet)) = source.past.pop_front() {
            Some(packet)
        } else {
            let packet = source.run.as_ref().and_then(|run| packet(state, source.end, run, run.size()));
            if source.advance() { packet } else { None }
        };
        let Interface { port, buffer, .. } = &mut self.interfaces[number as usize];
        if let Some(packet) = packet {
            *in_network += u32::from(port.enqueue(at, &packet, buffer, &mut self.probe).is_ok());
        }
    }

    /// Lets endpoints and ports send all metered packets up to the present, so that they and the probe have the state
    /// of the present. [`Simulator::run_until`] does so.
    pub fn catch_up_metered(&mut self) {
        self.current = u32::MAX;
        for number in 0..self.interfaces.len() as u32 {
            if !E::SENDS_METERED || self.interfaces[number as usize].sources.is_none() {
                continue;
            }
            self.pull(number);
            let Some(mut sources) = self.interfaces[number as usize].sources.take() else { continue };
            let after = self.now.saturating_add(Span::from_ps(1));
            self.drop_arrivals(number, &mut sources, Some(after));
            let running = |source: &&Source<_>| source.run.is_some();
            let ends: Vec<End> = sources.list.iter().filter(running).map(|source| source.end).collect();
            self.interfaces[number as usize].sources = Some(sources);
            for end in ends {
                let calm = self.flows.get(end).calm;
                self.interrupt(end);
                self.flows.get(end).calm = calm;
                let wakeup = self.flows.get(end).machine.wakeup();
                self.set_end(end, self.now, wakeup);
                self.begin_run(end);
            }
        }
    }
}

/// The next packet of a run.
fn packet<E: Endpoint>(state: &EndState<E>, end: End, run: &MeteredRun, size: u16) -> Option<Packet<E::Head>> {
    let out = state.machine.metered_packet(run.at, run.sent, size)?;
    let envelope = Envelope { end: end.peer(), size: out.size, class: out.class, ecn: out.ecn };
    Some(Packet { envelope, cargo: out.head })
}
