//! Fairness: how flows share the bytes that arrived between two checkpoints.

use crate::{flow_records::FlowRecord, probe::Measurements, series::Checkpoint};
use shallop_results::summary::jain;

/// Jain's index of the bytes in [`shares`]. `None` if not all flows have records.
pub(crate) fn fairness(
    measure: &Measurements, from: &Checkpoint, to: &Checkpoint, counts: impl Fn(&FlowRecord) -> bool,
) -> Option<f64> {
    jain(&shares(measure, from, to, counts)?)
}

/// Bytes that arrived in a window, for each flow for which `counts` returns true and that was active in the window:
/// started by its end, and not complete before its start. `None` if not all flows have records.
pub(crate) fn shares(
    measure: &Measurements, from: &Checkpoint, to: &Checkpoint, counts: impl Fn(&FlowRecord) -> bool,
) -> Option<Vec<f64>> {
    let (from_flows, to_flows) = (from.flows.as_ref()?, to.flows.as_ref()?);
    let shares = measure.flows.all()?.iter().zip(to_flows).enumerate().filter_map(|(number, flow)| {
        let (flow, arrived) = flow;
        let ended = flow.complete.is_some_and(|at| at.since_start() <= from.at);
        let before = from_flows.get(number).copied().unwrap_or(0);
        (!ended && counts(flow)).then_some((arrived - before) as f64)
    });
    Some(shares.collect())
}
