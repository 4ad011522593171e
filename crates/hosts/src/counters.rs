//! Counters of the emulator: whether it kept to the clock, and which packets it could not carry.

use hdrhistogram::Histogram;
use shallop_core::Span;

/// The longest time that a distribution tells apart from longer ones, in nanoseconds.
const LONGEST: u64 = 100_000_000_000;

/// A distribution of times, with three significant digits.
#[derive(Clone, Debug)]
pub struct Times {
    all: Option<Histogram<u64>>,
    /// The sum of all times, in nanoseconds.
    sum: u64,
    /// The sum of their squares, in square seconds.
    squares: f64,
    count: u64,
}

impl Default for Times {
    fn default() -> Self {
        // The library accepts these bounds, so there always is a histogram.
        Self { all: Histogram::new_with_max(LONGEST, 3).ok(), sum: 0, squares: 0.0, count: 0 }
    }
}

impl Times {
    pub fn record(&mut self, time: Span) {
        let nanoseconds = time.as_ps() / 1_000;
        self.sum = self.sum.saturating_add(nanoseconds);
        let seconds = nanoseconds as f64 / 1e9;
        self.squares += seconds * seconds;
        self.count += 1;
        if let Some(all) = &mut self.all {
            all.saturating_record(nanoseconds);
        }
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum in seconds.
    pub fn total(&self) -> f64 {
        self.sum as f64 / 1e9
    }

    /// The root of the mean square in seconds; zero without times.
    pub fn root_mean_square(&self) -> f64 {
        (self.squares / self.count.max(1) as f64).sqrt()
    }

    /// The mean in seconds; zero without times.
    pub fn mean(&self) -> f64 {
        self.total() / self.count.max(1) as f64
    }

    /// A quantile in seconds, such as 0.99; zero without times.
    pub fn quantile(&self, quantile: f64) -> f64 {
        let all = self.all.as_ref().filter(|all| !all.is_empty());
        all.map_or(0.0, |all| all.value_at_quantile(quantile) as f64 / 1e9)
    }

    /// The longest time in seconds; zero without times.
    pub fn longest(&self) -> f64 {
        self.all.as_ref().map_or(0.0, |all| all.max() as f64 / 1e9)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// The delay of each frame: its delivery to the host after its arrival in the network.
    pub lateness: Times,
    /// The time from one look at the hosts' links to the next, less intended sleep, except standstills.
    pub gaps: Times,
    /// The gaps that were taken out of the network's time, because the machine stood still.
    pub standstills: Times,
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
