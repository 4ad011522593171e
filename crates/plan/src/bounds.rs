//! Bounds of the values in a plan, chosen so that no sum or product overflows the simulator's 64-bit integers. Bounds
//! of a network are in [`shallop_topology::bounds`].

use shallop_core::Span;

/// The most flows in a scenario. A flow that has ended takes a few bytes of memory.
pub const MAX_FLOWS: u64 = 100_000_000;
/// The most rows of a time series: duration of the run divided by the sampling interval.
pub const MAX_SAMPLES: u64 = 10_000_000;
pub const DAY: Span = Span::from_secs(86_400);
