//! The observer of a run, which receives its progress and the rows of the flow log.

use shallop_core::{Span, Time};

use crate::flow_log::FlowRow;
use crate::live_snapshot::LiveSnapshot;

/// An observer of a run.
pub trait Observer {
    /// The run has simulated the time up to `now`. Returns false to end the run.
    fn on_progress(&mut self, now: Time) -> bool;

    /// Rows of flows that have retired, or that are in progress when the run ends. Chunks arrive roughly in order of
    /// the flows' ends; the rows of a chunk are in order of the flows' starts.
    fn on_flows(&mut self, rows: Vec<FlowRow>);

    /// Whether the state of the run at this time is wanted. It is asked when series are sampled.
    fn wants_snapshot(&self, _: Span) -> bool {
        false
    }

    /// The state of the run, if it was wanted.
    fn on_snapshot(&mut self, _: LiveSnapshot) {}
}

/// An observer that keeps nothing and lets the run go to its end.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn on_progress(&mut self, _: Time) -> bool {
        true
    }

    fn on_flows(&mut self, _: Vec<FlowRow>) {}
}
