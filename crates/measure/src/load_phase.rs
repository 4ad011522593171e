//! The load phase of a run, from the start of the first flow to the start of the last, and the stragglers after it. The
//! throughput of a run with a finite workload depends on the flow that completes last; the throughput of the load phase
//! does not.

use crate::fractions::rate;
use shallop_core::{Span, Time};

/// Least number of flows for a warning about stragglers: five percent of fewer flows are less than one flow.
const MIN_FLOWS: usize = 20;

/// Times and counts that delimit the load phase: the start of the first flow to the start of the last.
#[derive(Clone, Debug, Default)]
pub struct LoadPhase {
    /// Number of counted flows that start before the end of the run; `None` if some flows never end.
    counted: Option<usize>,
    /// Start of the first flow; `None` before.
    first: Option<Time>,
    /// Start of the last flow so far, and the IP bytes of data that had arrived by then.
    last: (Time, u64),
    /// Time at which 95 % of the counted flows were complete.
    nearly_all: Option<Time>,
    /// In a part of a network: when counted flows completed.
    completions: Option<Vec<Time>>,
}

impl LoadPhase {
    /// `counted` is the number of counted flows that start; `None` if some flows never end.
    pub(crate) fn new(counted: Option<usize>) -> Self {
        Self { counted, ..Self::default() }
    }

    /// The load phase of a part of a network.
    pub(crate) fn of_part() -> Self {
        Self { completions: Some(Vec::new()), ..Self::default() }
    }

    /// Takes the times and counts of all parts of the network.
    pub(crate) fn gather<'a>(&mut self, parts: impl Iterator<Item = &'a Self>) {
        let mut completions = Vec::new();
        self.last = (Time::ZERO, 0);
        for part in parts {
            self.first = part.first;
            self.last = (part.last.0, self.last.1 + part.last.1);
            completions.extend(part.completions.iter().flatten());
        }
        completions.sort_unstable();
        for (complete, &at) in (1..).zip(&completions) {
            self.on_complete(at, complete);
        }
    }

    /// Records the start of a flow, and the IP bytes of data that have arrived by then.
    pub(crate) fn on_start(&mut self, now: Time, ip_bytes: u64) {
        self.first.get_or_insert(now);
        self.last = (now, ip_bytes);
    }

    /// Records that `complete` counted flows are complete.
    pub(crate) fn on_complete(&mut self, now: Time, complete: usize) {
        if let Some(completions) = &mut self.completions {
            completions.push(now);
        }
        if self.counted.is_some_and(|flows| complete == flows - flows / 20) {
            self.nearly_all = Some(now);
        }
    }

    /// Throughput in the load phase, in bit/s; `None` if some flows never end, or all start at once.
    pub(crate) fn throughput(&self) -> Option<f64> {
        self.counted?;
        let (last, ip_bytes) = self.last;
        let span = last.saturating_since(self.first?);
        (!span.is_zero()).then(|| rate(ip_bytes, span))
    }

    /// Warns if the last five percent of the flows take more than half of the run, which lasts until `end`.
    pub(crate) fn warning(&self, end: Span) -> Option<String> {
        let flows = self.counted.filter(|flows| *flows >= MIN_FLOWS)?;
        let alone = end.saturating_sub(self.nearly_all?.since_start());
        let part = alone.ratio(end);
        let instead = match self.throughput() {
            Some(_) => ": throughput is that of the whole run; load_throughput_bps that of the load phase",
            None => ": throughput is that of the whole run",
        };
        (part > 0.5)
            .then(|| format!("the last {} of {flows} flows take {:.0} % of the run{instead}", flows / 20, part * 100.0))
    }
}
