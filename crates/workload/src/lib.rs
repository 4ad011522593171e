//! Workloads: flow sizes, arrival processes, patterns of senders and receivers, and traces. Random draws come from a
//! stream that the caller supplies. docs/workloads.md explains the choices.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod arrivals;
pub mod builtin;
pub mod pairs;
mod parse;
pub mod rate_trace;
pub mod sizes;
pub mod trace;

pub use arrivals::{Arrivals, ArrivalsError};
pub use pairs::{Pairs, PairsError};
pub use parse::SizesError;
pub use sizes::Sizes;
pub use trace::{TraceError, TraceReader};
