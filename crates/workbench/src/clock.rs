//! A stopwatch for the computing time of runs.

#![expect(clippy::disallowed_types, reason = "how long something takes is asked here and nowhere else")]

#[derive(Clone, Copy, Debug)]
pub struct Clock(std::time::Instant);

impl Clock {
    #[must_use]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Seconds since the stopwatch was started.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
