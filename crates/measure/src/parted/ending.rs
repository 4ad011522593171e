//! Until when a run cannot be over. It is over when all counted flows are complete, so it lasts at least until the last
//! one has started, and until the link of its receiver could have carried what a flow lacks.

use crate::probe::Measurements;
use shallop_core::{BitsPerSec, Bytes, Pace, Span, Time};
use shallop_plan::{resolved::ResolvedRun, sources};
use shallop_proto::{Endpoint, Middlebox};
use shallop_sim::{Ending, Glance, Simulator};

/// Payload bytes that may arrive at one instant, after they have crossed the link.
const AT_ONCE: u64 = 1 << 17;

pub(super) struct RunEnding {
    /// For each node, the rate at which data arrives at most; `None` if its links do not have constant rates.
    rates: Vec<Option<u64>>,
    /// Number of counted flows; `None` if some flows never end.
    counted: Option<usize>,
    /// A time at which the run is not over.
    not_before: Time,
    /// Time before which no later one is looked for.
    retry: Time,
}

impl RunEnding {
    pub fn new(setup: &ResolvedRun<'_>, counted: Option<usize>) -> Self {
        let end = setup.plan.duration;
        let starts = |group| {
            let arrivals = sources::arrivals(setup, group).take_while(|arrival| arrival.start.since_start() < end);
            arrivals.filter(|arrival| arrival.counted).map(|arrival| arrival.start).last()
        };
        let last = (0..setup.plan.groups.len()).filter_map(starts).max();
        let not_before = last.filter(|_| counted.is_some()).unwrap_or(Time::ZERO);
        let graph = &setup.network.graph;
        let mut rates = vec![Some(0); graph.nodes.len()];
        for (port, config) in (0..).zip(&setup.layout.ports) {
            let plain = config.impairment.is_none() && config.changes.is_empty();
            let plain = plain && config.queues.iter().all(|queue| queue.aggregate.is_none());
            let rate = &mut rates[graph.far(port).0 as usize];
            *rate = rate.filter(|_| plain).map(|sum| sum + config.rate.get());
        }
        Self { rates, counted, not_before, retry: Time::ZERO }
    }

    /// A time at which this flow is not complete.
    fn incomplete_at<E: Endpoint, M: Middlebox<Head = E::Head>>(
        &self, now: Time, flow: u32, parts: &[Simulator<'_, E, Measurements, M>],
    ) -> Option<Time> {
        let mut records = parts.iter().filter_map(|sim| sim.probe.flows.get(flow));
        let facts = records.clone().next()?.facts;
        if !facts.counted || records.any(|record| record.complete.is_some()) {
            return None;
        }
        let flow = Glance::of(flow, parts)?;
        if flow.in_network == 0 && flow.next > now {
            return Some(flow.next - Span::from_ps(1));
        }
        let missing = facts.size?.saturating_sub(flow.received?).saturating_sub(AT_ONCE);
        let rate = self.rates[facts.to.0 as usize]?;
        Some(now + Pace::new(BitsPerSec::new(rate)?).quote(Bytes::new(missing)))
    }
}

impl<'f, E: Endpoint, M: Middlebox<Head = E::Head>> Ending<Simulator<'f, E, Measurements, M>> for RunEnding {
    fn is_over(&self, parts: &[Simulator<'f, E, Measurements, M>]) -> bool {
        self.counted == Some(parts.iter().map(|sim| sim.probe.complete).sum())
    }

    fn not_before(&mut self, now: Time, lookahead: Span, parts: &[Simulator<'f, E, Measurements, M>]) -> Time {
        if self.counted.is_none() {
            return Time::LAST;
        }
        if self.not_before < now.saturating_add(lookahead) && self.retry <= now {
            let flows = parts.iter().take(1).flat_map(Simulator::in_progress);
            let times = flows.filter_map(|flow| self.incomplete_at(now, flow, parts));
            self.not_before = times.max().map_or(self.not_before, |time| time.max(self.not_before));
            self.retry = now.saturating_add(lookahead / 4);
        }
        self.not_before.max(now)
    }
}
