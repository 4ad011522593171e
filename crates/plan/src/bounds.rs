//! Bounds of what a plan may hold. They keep sums and products within the simulator's 64 bits, with room to spare.
//! Those of a network are in [`shallop_topology::bounds`].

use shallop_core::Span;

/// Flows in a scenario. Those that are over take a few bytes each.
pub const MAX_FLOWS: u64 = 100_000_000;
/// Rows of a series.
pub const MAX_SAMPLES: u64 = 10_000_000;
/// The longest run.
pub const DAY: Span = Span::from_secs(86_400);
