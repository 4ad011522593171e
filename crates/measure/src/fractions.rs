//! Rates, fractions and sums of counts.

use shallop_core::{Bytes, Class, Span};

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
