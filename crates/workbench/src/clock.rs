//! A wall clock for the computing time of runs.

#![expect(
    clippy::disallowed_types,
    reason = "how long something takes is asked here and nowhere else"
)]

/// A clock since its start.
#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// Starts a clock.
    #[must_use]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Seconds since the start.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
