//! Rates and fractions of what was counted: of packets and of time.

use std::collections::BTreeMap;

use shallop_core::{Bytes, Class, Span};
use shallop_plan::ResolvedRun;
use shallop_switch::Occupancy;

/// Bytes as a rate over a span, in bits per second.
pub(crate) fn rate(bytes: u64, span: Span) -> f64 {
    Bytes::new(bytes).per(span)
}

/// A part as a fraction of a whole; zero if the whole is zero.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The number of data packets among packets counted by class.
pub(crate) fn data(counts: &[u64; Class::COUNT]) -> u64 {
    Class::ALL.iter().filter(|class| class.is_payload()).map(|class| counts[class.index()]).sum()
}

/// The fraction of the time above each of the levels of the plan.
pub(crate) fn above(setup: &ResolvedRun<'_>, held: &Occupancy) -> BTreeMap<String, f64> {
    let levels = setup.plan.levels.iter();
    levels.map(|&level| (level.to_string(), held.fraction_above(level))).collect()
}
