//! Bounds of what a plan may hold. They keep sums and products within the simulator's 64 bits, with room to spare.
//! Bounds of a network are in [`shallop_topology::bounds`].

use shallop_core::Span;

/// The most flows in a scenario. A flow that has ended takes a few bytes of memory.
pub const MAX_FLOWS: u64 = 100_000_000;
/// The most rows of a time series.
pub const MAX_SAMPLES: u64 = 10_000_000;
pub const DAY: Span = Span::from_secs(86_400);
