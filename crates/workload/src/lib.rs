//! What flows there are: their sizes, when they start, from whom to whom they go, and traces that say all of it.
//! Each is pure: what is random comes from the stream it is given. docs/workloads.md explains the choices.

pub mod arrivals;
pub mod builtin;
pub mod pairs;
mod parse;
pub mod sizes;
pub mod trace;

pub use arrivals::{Arrivals, ArrivalsError};
pub use pairs::{Pairs, PairsError};
pub use parse::SizesError;
pub use sizes::Sizes;
pub use trace::{TraceError, TraceReader};
