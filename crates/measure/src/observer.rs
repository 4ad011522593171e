//! The observer of a run, which receives progress and the rows of the flow log.

use crate::{flow_log::FlowRow, live_snapshot::LiveSnapshot};
use shallop_core::{Span, Time};

/// Receives progress, flow rows and snapshots of a run.
pub trait Observer {
    /// Called when the run has simulated the time up to `now`. Returns false to stop the run.
    fn on_progress(&mut self, now: Time) -> bool;

    /// Receives rows of flows that have retired, or that are in progress when the run ends. Chunks arrive roughly in
    /// order of the flows' ends; the rows of a chunk are in order of the flows' starts.
    fn on_flows(&mut self, rows: Vec<FlowRow>);

    /// Whether the observer wants a snapshot of the run at this time. Called whenever series are sampled.
    fn wants_snapshot(&self, _: Span) -> bool {
        false
    }

    /// Receives a message for the user.
    fn on_note(&mut self, _: &str) {}

    /// Receives the snapshot, if [`Observer::wants_snapshot`] returned true.
    fn on_snapshot(&mut self, _: LiveSnapshot) {}
}

/// An observer that ignores everything and never stops the run.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn on_progress(&mut self, _: Time) -> bool {
        true
    }

    fn on_flows(&mut self, _: Vec<FlowRow>) {}
}
