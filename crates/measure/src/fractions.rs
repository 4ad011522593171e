//! Rates and fractions of counts.

use shallop_core::{Bytes, Span};

/// Bytes as a rate over a span, in bits per second.
#[must_use]
pub(crate) fn rate(bytes: u64, span: Span) -> f64 {
    Bytes::new(bytes).per(span)
}

/// A part as a fraction of a whole; zero if the whole is zero.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
