//! One simulation in several parts, by conservative synchronisation: each part simulates a window of time alone, then
//! parts exchange the packets that crossed between them. A window is no longer than the delay of the links that are
//! cut, so a packet that leaves in a window arrives after it. Results do not depend on the number of parts.

mod cut;

pub use cut::{Cut, cut};

use crate::Retired;
use crate::simulator::{Glance, Part, Simulator};
use shallop_core::{Probe, Span, Time};
use shallop_proto::{Endpoint, Middlebox};

/// Threads that work together.
pub trait Team: Sync {
    /// Calls all tasks, at once as far as there are threads, and returns when all are done.
    fn run(&self, tasks: &mut [&mut (dyn FnMut() + Send)]);
}

/// The simulators of all parts of a network.
pub struct Parts<'f, E: Endpoint, P: Probe, M: Middlebox<Head = E::Head>> {
    pub sims: Vec<Simulator<'f, E, P, M>>,
    lookahead: Span,
    now: Time,
    /// Flows in progress of which an endpoint has completed.
    completed: Vec<u32>,
}

/// Tells when a run ends before its time is over.
pub trait Ending<S> {
    /// Whether the run is over.
    fn is_over(&self, parts: &[S]) -> bool;

    /// A time before which the run cannot end. It is at least `now`, up to which all parts have been
    /// simulated. Parts do not look further ahead than `lookahead`.
    fn not_before(&mut self, now: Time, lookahead: Span, parts: &[S]) -> Time;
}

impl<'f, E: Endpoint + Send, P: Probe + Send, M: Middlebox<Head = E::Head> + Send> Parts<'f, E, P, M> {
    /// Limits each simulator to its part of the network. All simulators have the whole network and all flows.
    pub fn new(mut sims: Vec<Simulator<'f, E, P, M>>, cut: &Cut) -> Self {
        for (number, sim) in (0..).zip(&mut sims) {
            sim.set_part(Part::new(number, cut));
        }
        Self { sims, lookahead: cut.lookahead, now: Time::ZERO, completed: Vec::new() }
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Simulates until `end`, or until the run is over.
    pub fn advance(&mut self, end: Time, team: &dyn Team, ending: &mut impl Ending<Simulator<'f, E, P, M>>) {
        while self.now < end && !ending.is_over(&self.sims) {
            let next = self.sims.iter_mut().filter_map(|sim| Some(sim.part()?.next)).min().unwrap_or(Time::LAST);
            let safe = ending.not_before(self.now, self.lookahead, &self.sims);
            // Close to the end of the run a window is one instant, so that no part simulates more.
            let until = self.now.max(next).saturating_add(self.lookahead).min(safe).max(next).min(end);
            if until > next {
                let mut steps: Vec<_> = self.sims.iter_mut().map(|sim| move || sim.step(until)).collect();
                let mut tasks: Vec<_> = steps.iter_mut().map(|step| step as &mut (dyn FnMut() + Send)).collect();
                team.run(&mut tasks);
            } else {
                self.sims.iter_mut().for_each(|sim| sim.step(until));
            }
            self.now = until;
            self.exchange();
        }
    }

    /// Hands over the packets that crossed between parts.
    fn exchange(&mut self) {
        for number in 1..self.sims.len() {
            let (before, from) = self.sims.split_at_mut(number);
            let Some(part) = from[0].part() else { continue };
            for other in before.iter_mut().filter_map(Simulator::part) {
                part.exchange(other);
            }
        }
    }

    /// Lets ports send the packets whose transmission starts by now.
    pub fn catch_up(&mut self) {
        for sim in &mut self.sims {
            sim.run_until(self.now);
        }
    }

    /// Retires flows that have no further events. Returns the counters of their endpoints.
    pub fn take_retired(&mut self) -> Vec<Retired> {
        for part in self.sims.iter_mut().filter_map(Simulator::part) {
            self.completed.append(&mut part.completed);
        }
        self.completed.sort_unstable();
        self.completed.dedup();
        let sims = &self.sims;
        let is_quiescent = |flow: &mut u32| Glance::of(*flow, sims).is_some_and(|glance| glance.is_quiescent());
        let quiescent: Vec<u32> = self.completed.extract_if(.., is_quiescent).collect();
        let retire = |flow| {
            let (mut sender, mut receiver) = (None, None);
            for sim in &mut self.sims {
                let [from, to] = sim.retire_part(flow);
                (sender, receiver) = (sender.or(from), receiver.or(to));
            }
            Some(Retired { flow, sender: sender?, receiver: receiver? })
        };
        quiescent.into_iter().filter_map(retire).collect()
    }
}
