//! The load phase of a run, from the start of its first flow to that of its last, and the stragglers behind it. The
//! throughput of a run with a finite workload is set by the flow that completes last; that of the load phase is not.

use shallop_core::{Span, Time};

use crate::fractions::rate;

/// Flows in a run below which a last part of five percent is no flow.
const MIN_FLOWS: usize = 20;

/// Counts of the load phase, which lasts from the start of the first flow to the start of the last.
#[derive(Clone, Debug, Default)]
pub struct LoadPhase {
    /// The counted flows that start before the end of the run, if all flows have an end.
    counted: Option<usize>,
    /// The start of the first flow.
    first: Option<Time>,
    /// The start of the last flow so far, and the IP bytes of data that had arrived then.
    last: (Time, u64),
    /// When all counted flows but the last five percent were complete.
    nearly_all: Option<Time>,
}

impl LoadPhase {
    /// The load phase of a run in which this number of counted flows start; `None` if some have no end.
    pub(crate) fn new(counted: Option<usize>) -> Self {
        Self { counted, ..Self::default() }
    }

    /// Notes the start of a flow, and the IP bytes of data that have arrived by then.
    pub(crate) fn on_start(&mut self, now: Time, ip_bytes: u64) {
        self.first.get_or_insert(now);
        self.last = (now, ip_bytes);
    }

    /// So many counted flows are complete.
    pub(crate) fn on_complete(&mut self, now: Time, complete: usize) {
        if self.counted.is_some_and(|flows| complete == flows - flows / 20) {
            self.nearly_all = Some(now);
        }
    }

    /// The throughput in the load phase, in bits per second; `None` if flows have no end, or all start at once.
    pub(crate) fn throughput(&self) -> Option<f64> {
        self.counted?;
        let (last, ip_bytes) = self.last;
        let span = last.saturating_since(self.first?);
        (!span.is_zero()).then(|| rate(ip_bytes, span))
    }

    /// Rule: the last five percent of the flows take more than half of the run, which lasts until `end`.
    pub(crate) fn warning(&self, end: Span) -> Option<String> {
        let flows = self.counted.filter(|flows| *flows >= MIN_FLOWS)?;
        let alone = end.saturating_sub(self.nearly_all?.since_start());
        let part = alone.ratio(end);
        let instead = match self.throughput() {
            Some(_) => {
                ": throughput is that of the whole run; load_throughput_bps that of the load phase"
            }
            None => ": throughput is that of the whole run",
        };
        (part > 0.5).then(|| {
            format!(
                "the last {} of {flows} flows take {:.0} % of the run{instead}",
                flows / 20,
                part * 100.0
            )
        })
    }
}
