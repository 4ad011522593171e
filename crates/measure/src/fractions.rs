//! Rates and fractions of what was counted: of packets, of time, and among flows.

use std::collections::BTreeMap;

use shallop_core::{Bytes, Class, Span};
use shallop_plan::Setup;
use shallop_results::summary::jain;
use shallop_switch::Occupancy;

use crate::flow_records::FlowRecord;
use crate::probe::Measurements;
use crate::series::Checkpoint;

/// Bytes as a rate over a span, in bits per second.
#[must_use]
pub(crate) fn rate(bytes: u64, span: Span) -> f64 {
    Bytes::new(bytes).per(span)
}

/// A part as a fraction of a whole; zero if the whole is zero.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The data among packets counted by class.
pub(crate) fn data(counts: &[u64; Class::COUNT]) -> u64 {
    Class::ALL.iter().filter(|class| class.is_payload()).map(|class| counts[class.index()]).sum()
}

/// The fraction of the time above each of the levels of the plan.
pub(crate) fn above(setup: &Setup<'_>, held: &Occupancy) -> BTreeMap<String, f64> {
    let levels = setup.plan.levels.iter();
    levels.map(|&level| (level.to_string(), held.fraction_above(level))).collect()
}

/// Jain's index of [`shares`]. `None` if not all flows have records.
pub(crate) fn fairness(
    measure: &Measurements,
    window: (&Checkpoint, &Checkpoint),
    counts: impl Fn(&FlowRecord) -> bool,
) -> Option<f64> {
    jain(&shares(measure, window, counts)?)
}

/// The bytes that arrived in a window, of each flow for which `counts` holds and that was active in it: started by its
/// end, and not complete before its start. `None` if not all flows have records.
pub(crate) fn shares(
    measure: &Measurements,
    (from, to): (&Checkpoint, &Checkpoint),
    counts: impl Fn(&FlowRecord) -> bool,
) -> Option<Vec<f64>> {
    let (from_flows, to_flows) = (from.flows.as_ref()?, to.flows.as_ref()?);
    let shares =
        measure.flows.all()?.iter().zip(to_flows).enumerate().filter_map(|(number, flow)| {
            let (flow, arrived) = flow;
            let ended = flow.complete.is_some_and(|at| at.since_start() <= from.at);
            let before = from_flows.get(number).copied().unwrap_or(0);
            (!ended && counts(flow)).then_some((arrived - before) as f64)
        });
    Some(shares.collect())
}
