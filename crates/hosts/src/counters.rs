//! Counters of the emulator: whether it kept to the clock, and which packets it could not carry.

use hdrhistogram::Histogram;
use shallop_core::Span;

/// The longest time that a distribution tells apart from longer ones, in nanoseconds.
const LONGEST: u64 = 100_000_000_000;

/// A distribution of times, with three significant digits.
#[derive(Clone, Debug)]
pub struct Times(Option<Histogram<u64>>);

impl Default for Times {
    fn default() -> Self {
        // The library accepts these bounds, so there always is a histogram.
        Self(Histogram::new_with_max(LONGEST, 3).ok())
    }
}

impl Times {
    pub fn record(&mut self, time: Span) {
        if let Some(all) = &mut self.0 {
            all.saturating_record(time.as_ps() / 1_000);
        }
    }

    /// A quantile in seconds, such as 0.99; zero without times.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let all = self.0.as_ref().filter(|all| !all.is_empty());
        all.map_or(0.0, |all| all.value_at_quantile(quantile) as f64 / 1e9)
    }

    /// The longest time in seconds; zero without times.
    pub fn longest(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |all| all.max() as f64 / 1e9)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// The delay of each frame: its delivery to the host after its arrival in the network.
    pub lateness: Times,
    /// The time from one look at the hosts' links to the next, less intended sleep.
    pub gaps: Times,
    pub responses: Times,
    /// Packets that came from hosts, after segmentation.
    pub read: u64,
    /// Packets that were given to hosts.
    pub written: u64,
    /// Malformed frames from hosts, which were dropped.
    pub malformed: u64,
    /// Packets from hosts that belong to no flow, such as neighbour requests, which were dropped.
    pub strays: u64,
    /// Packets that were dropped because the emulator was full.
    pub no_slot: u64,
    /// Packets that a host did not take.
    pub refused: u64,
}
