//! The reasons why a run cannot be set up.

use shallop_core::Span;

use crate::network::NoPath;

/// Why a run cannot be set up.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupError {
    /// There is no path from a sender to its receiver.
    #[error(transparent)]
    NoPath(#[from] NoPath),
    /// Credits would return too late.
    #[error(
        "scheme \"{scheme}\": wait = {wait} is below the largest base round trip, {largest} \
         (from \"{from}\" to \"{to}\"): credits would come too late to be used"
    )]
    ShortWait {
        /// The scheme.
        scheme: String,
        /// The waiting time.
        wait: Span,
        /// The largest base round trip, which it must not be below.
        largest: Span,
        /// The sender of that flow.
        from: String,
        /// Its receiver.
        to: String,
    },
    /// Two transports would use one class of packets for different things.
    #[error(
        "scheme \"{scheme}\": ExpressPass and FlashPass in one network: both send credits, which switches queue and \
         meter differently"
    )]
    Mix {
        /// The scheme.
        scheme: String,
    },
}
