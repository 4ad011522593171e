//! Helpers to compute rates and fractions from counts.

use shallop_core::{Bytes, Class, Span};
use shallop_plan::ResolvedRun;
use shallop_switch::Occupancy;
use std::collections::BTreeMap;

/// Mean rate of `bytes` over `span`, in bit/s.
pub(crate) fn rate(bytes: u64, span: Span) -> f64 {
    Bytes::new(bytes).per(span)
}

/// `part` divided by `whole`; zero if `whole` is zero.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Number of packets with payload, given the numbers of packets by class.
pub(crate) fn data(counts: &[u64; Class::COUNT]) -> u64 {
    Class::ALL.iter().filter(|class| class.is_payload()).map(|class| counts[class.index()]).sum()
}

/// Fraction of the time for which the occupancy is above each level in the plan's `levels`, keyed by the level.
pub(crate) fn above(setup: &ResolvedRun<'_>, held: &Occupancy) -> BTreeMap<String, f64> {
    let levels = setup.plan.levels.iter();
    levels.map(|&level| (level.to_string(), held.fraction_above(level))).collect()
}
