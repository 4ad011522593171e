//! The reasons why a run cannot be started.

use crate::network::NoPath;
use shallop_core::Span;

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    NoPath(#[from] NoPath),
    /// `FlashPass` credits would return after the data packets that they allow are due.
    #[error(
        "scheme \"{scheme}\": wait = {wait} is below the largest base round trip, {largest} \
         (from \"{from}\" to \"{to}\"): credits would come too late to be used"
    )]
    ShortWait { scheme: String, wait: Span, largest: Span, from: String, to: String },
    /// Flows of `ExpressPass` and of `FlashPass` in one network: switches queue and meter their credits differently.
    #[error(
        "scheme \"{scheme}\": ExpressPass and FlashPass in one network: both send credits, which switches queue and \
         meter differently"
    )]
    Mix { scheme: String },
    /// Both would be the last queue of a port.
    #[error(
        "scheme \"{scheme}\": switches have a queue for transports without credits (legacy_weight) and one for \
         unscheduled data (unscheduled_drop = \"low-priority\"): only one of the two is possible"
    )]
    Queues { scheme: String },
}
