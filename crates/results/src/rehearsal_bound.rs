//! How far lateness can have moved the results of a rehearsal.
//!
//! Kernels in virtual time ran hundreds of small networks with and without lateness on purpose
//! (`data/late_hosts.csv`, made by `crates/workbench/examples/late_hosts.rs`). For goodput, loss and mean queue, the
//! logarithm of the ratio of the two runs has an upper bound that holds in 98 of 100 runs: a sum of causes, each with a
//! factor, that the test `rehearsal_bound` fits to the rows. The sum of the terms of lateness is the **bound**. The
//! remaining terms are the spread between two exact runs with different seeds; both together are the **interval**.

use crate::summary::{FigureIntervals, Interval, LatenessBounds, RehearsalOfRun, Run};

/// A run counts if lateness can have moved its goodput by at most this fraction.
pub const MOST: f64 = 0.10;

/// The part of the goodput by which lateness may change it in spite of saturated bottlenecks.
pub const LEAST_HEADROOM: f64 = 0.01;
/// Loss rates and queues (in bytes) that are smaller than these do not differ.
pub const LEAST_LOSS: f64 = 1e-5;
pub const LEAST_QUEUE: f64 = 100.0;

/// The number of causes of lateness, and of terms of spread.
pub const CAUSES: usize = 4;
pub const SPREADS: usize = 3;

/// The factors of the causes and of the spread, by figure: goodput, loss, mean queue.
pub const FACTORS: [([f64; CAUSES], [f64; SPREADS]); 3] = [
    ([1.0, 0.268, 3.082, 0.0], [5.439, 0.0, 0.045]),
    ([3.332, 0.875, 0.0, 0.137], [0.0, 4.56, 0.328]),
    ([1.0, 0.0, 0.373, 0.0], [16.187, 7.592, 0.0]),
];

/// The half widths, by figure, for which hosts of a rehearsal differ from kernels in virtual time for other reasons
/// than lateness: another release of Linux, and other network interfaces. With them, the intervals of twelve rehearsals
/// hold the figures in virtual time (`data/rehearsed.csv`).
pub const OTHER_HOSTS: [f64; 3] = [0.0, 0.06, 0.0];

/// What a network has to do with the effects of lateness.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkTimes {
    /// The shortest round trip of an empty network, in seconds.
    pub rtt_s: f64,
    /// The shortest time in which the full buffer of a bottleneck drains, in seconds.
    pub drain_s: f64,
    /// The duration of the run, in seconds.
    pub duration_s: f64,
    /// The lowest utilization of a bottleneck, 0 to 1.
    pub utilization: f64,
}

impl NetworkTimes {
    /// The logarithm of the factor by which the goodput could grow at most: bottlenecks carry no more than their rate.
    pub fn headroom(&self) -> f64 {
        -libm::log(self.utilization.clamp(1e-3, 1.0)) + LEAST_HEADROOM
    }
}

/// The causes of an effect of lateness, without units.
pub fn causes(of: &RehearsalOfRun, network: NetworkTimes) -> [f64; CAUSES] {
    let NetworkTimes { rtt_s, drain_s, duration_s, .. } = network;
    let late = of.lateness_mean_s + of.response_mean_s;
    let bursts = libm::hypot(of.lateness_rms_s, of.response_rms_s);
    [late / rtt_s, bursts / drain_s, of.stood_still_s / duration_s, (of.longest_gap_s / rtt_s).min(1.0)]
}

/// The terms of the spread between exact runs of different seeds, which fall with the number of round trips in the run
/// or of dropped packets. The first is zero for full links.
pub fn spreads(network: NetworkTimes, drops: u64) -> [f64; SPREADS] {
    let round_trips = (network.rtt_s / network.duration_s).sqrt();
    [network.headroom() * round_trips, round_trips, 1.0 / (drops as f64 + 1.0).sqrt()]
}

fn sum<const N: usize>(factors: [f64; N], terms: [f64; N]) -> f64 {
    factors.iter().zip(terms).map(|(factor, term)| factor * term).sum()
}

/// The bounds of the effect of lateness.
pub fn bounds(of: &RehearsalOfRun, network: NetworkTimes) -> LatenessBounds {
    let causes = causes(of, network);
    let [goodput, loss, queue] = FACTORS.map(|(factors, _)| sum(factors, causes));
    // What flows did not send for want of a processor at their sockets.
    let missing = of.starved + of.starts_late_s / network.duration_s;
    let goodput = (goodput + missing).min(network.headroom());
    LatenessBounds { goodput, loss: loss + missing, queue: queue + missing }
}

/// The intervals of a run's figures, from its bounds.
pub fn intervals(run: &Run, bounds: LatenessBounds, network: NetworkTimes) -> FigureIntervals {
    let spreads = spreads(network, run.drops.data);
    let interval = |figure: usize, value: f64, bound: f64, least: f64, most: f64| {
        let other = OTHER_HOSTS[figure];
        let factor = libm::exp(sum(FACTORS[figure].1, spreads) + bound + other);
        let (low, high) = ((value + least) / factor - least, (value + least) * factor - least);
        Interval { low: low.max(0.0), high: high.min(most) }
    };
    FigureIntervals {
        goodput_bps: interval(0, run.goodput_bps, bounds.goodput, 0.0, f64::MAX),
        loss_rate: interval(1, run.loss_rate, bounds.loss, LEAST_LOSS, 1.0),
        mean_queue_bytes: interval(2, run.mean_queue_bytes, bounds.queue, LEAST_QUEUE, f64::MAX),
    }
}
