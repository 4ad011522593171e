//! What the emulator counts of itself: whether it kept to the clock, and what it could not carry.

use hdrhistogram::Histogram;
use shallop_core::Span;

/// The longest time that is told apart, in nanoseconds.
const LONGEST: u64 = 100_000_000_000;

/// Times, as quantiles with three digits.
#[derive(Clone, Debug)]
pub struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        // The bounds are constants that the library accepts; without them it would grow as needed.
        Self(Histogram::new_with_max(LONGEST, 3).unwrap_or_else(|_| fallback()))
    }
}

#[expect(clippy::unwrap_used, reason = "three digits are allowed, whatever the values")]
fn fallback() -> Histogram<u64> {
    Histogram::new(3).unwrap()
}

impl Times {
    /// Counts a time.
    pub fn record(&mut self, time: Span) {
        self.0.saturating_record(time.as_ps() / 1_000);
    }

    /// The time below which this part of all lie, in seconds; zero if none was counted.
    #[must_use]
    pub fn quantile(&self, part: f64) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.value_at_quantile(part) as f64 / 1e9 }
    }

    /// The longest, in seconds.
    #[must_use]
    pub fn longest(&self) -> f64 {
        self.0.max() as f64 / 1e9
    }

    /// How many were counted.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether none was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What the emulator has counted.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// How long after its arrival each frame was written.
    pub lateness: Times,
    /// The times between two looks at the lines, without those that the emulator meant to sleep.
    pub gaps: Times,
    /// The times from data that was written to a host to the acknowledgement that was read of it.
    pub responses: Times,
    /// Packets that were read, after the cut of segmentation offload.
    pub read: u64,
    /// Packets that were written.
    pub written: u64,
    /// Frames that are malformed, and were dropped.
    pub malformed: u64,
    /// Packets of no flow, such as neighbour requests, which were dropped.
    pub strays: u64,
    /// Packets that were dropped because the emulator held too many.
    pub no_slot: u64,
    /// Packets that a host did not take.
    pub refused: u64,
}
