//! Lateness on purpose. In a rehearsal, hosts and emulator share a machine that is at times too slow. Kernels in
//! virtual time are exact, so that a run with lateness of this kind beside the same run without any shows what lateness
//! does to results. Two things happen, at random times and for exponentially distributed lengths:
//!
//! - **Pauses**: hosts get no packets and send none, and the network goes on. At the end of a pause, everything that
//!   became due in it happens at once. This is an emulator that is late, and hosts that answer late.
//! - **Standstills**: the network stands still, and the clocks of hosts go on. This is an emulator that got no
//!   processor and took that while out of the network's time.

use crate::hosts::Waiting;
use shallop_core::{Seed, Span, Stream, Time};
use shallop_hosts::counters::Times;
use shallop_results::summary::RehearsalOfRun;
use std::collections::VecDeque;

/// The time of the first standstill, at the earliest: kernels start flows by their own clocks, the network by its own.
const STARTED: Span = Span::from_ms(150);

/// The lateness of a run. All shares are zero without any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lateness {
    pub seed: u64,
    /// The mean length of a pause.
    pub pause: Span,
    /// The share of the time that is in pauses, 0 to 1.
    pub paused: f64,
    /// The mean length of a standstill.
    pub standstill: Span,
    /// The sum of all standstills over the network's time.
    pub stood_still: f64,
}

/// Packets that are late, and the times until which they are.
#[derive(Debug)]
pub(crate) struct LateHosts {
    options: Lateness,
    stream: Stream,
    pause: (Time, Time),
    /// Standstills that are still to come: when, and how long in nanoseconds.
    pub(crate) standstills: VecDeque<(Time, u64)>,
    /// Frames to hosts, by host, in order of time.
    pub(crate) deliveries: VecDeque<(u32, Vec<u8>)>,
    /// Packets of hosts, in order of time.
    pub(crate) sends: VecDeque<Waiting>,
    /// When the last delivery and the last packet of a host happen: packets do not overtake each other.
    last: [Time; 2],
    times: [Times; 2],
    pub(crate) stood_still: Times,
}

/// The longest time between two events, in nanoseconds.
const LONGEST: f64 = 1e15;

/// An exponentially distributed time.
fn exponential(stream: &mut Stream, mean: f64) -> Span {
    let seconds = -mean * libm::log(1.0 - stream.unit());
    Span::from_ns((seconds * 1e9).min(LONGEST) as u64)
}

impl LateHosts {
    pub(crate) fn new(options: Lateness, duration: Span) -> Self {
        let seed = Seed::new(options.seed);
        let mut stream = seed.stream("standstills", 0);
        let mean = options.standstill.as_secs_f64();
        let gap = mean / options.stood_still.max(f64::MIN_POSITIVE);
        let mut after = Time::after_start(STARTED);
        let standstills = std::iter::from_fn(|| {
            after = after.saturating_add(exponential(&mut stream, gap));
            let is_in_run = gap > 0.0 && after.since_start() < duration;
            is_in_run.then(|| (after, exponential(&mut stream, mean).as_ps() / 1_000))
        });
        let standstills = standstills.collect();
        let mut all = Self {
            options,
            stream: seed.stream("pauses", 0),
            pause: (Time::ZERO, Time::ZERO),
            standstills,
            deliveries: VecDeque::new(),
            sends: VecDeque::new(),
            last: [Time::ZERO; 2],
            times: [Times::default(), Times::default()],
            stood_still: Times::default(),
        };
        all.next_pause();
        all
    }

    /// The sum of all standstills that are to come, in nanoseconds.
    pub(crate) fn total(&self) -> u64 {
        self.standstills.iter().map(|&(_, length)| length).sum()
    }

    fn next_pause(&mut self) {
        let Lateness { pause, paused, .. } = self.options;
        let mean = pause.as_secs_f64();
        if paused <= 0.0 || mean <= 0.0 {
            self.pause = (Time::LAST, Time::LAST);
            return;
        }
        let gap = mean * (1.0 - paused) / paused;
        let from = self.pause.1.saturating_add(exponential(&mut self.stream, gap));
        self.pause = (from, from.saturating_add(exponential(&mut self.stream, mean)));
    }

    /// When something happens that is due at `due`: a delivery (0), or a packet of a host (1).
    pub(crate) fn happens(&mut self, due: Time, which: usize) -> Time {
        while self.pause.1 < due {
            self.next_pause();
        }
        let (from, until) = self.pause;
        let at = if due >= from { until } else { due }.max(self.last[which]);
        self.last[which] = at;
        self.times[which].record(at.saturating_since(due));
        at
    }

    /// The lateness of the run, in the fields that a rehearsal has for it.
    pub(crate) fn result(&self) -> RehearsalOfRun {
        let [late, responses] = &self.times;
        RehearsalOfRun {
            scale: 1.0,
            stretch: 1,
            packets_written: late.count(),
            packets_read: responses.count(),
            lateness_mean_s: late.mean(),
            lateness_rms_s: late.root_mean_square(),
            lateness_p50_s: late.quantile(0.5),
            lateness_p99_s: late.quantile(0.99),
            lateness_p999_s: late.quantile(0.999),
            lateness_max_s: late.longest(),
            longest_gap_s: self.stood_still.longest(),
            standstills: self.stood_still.count(),
            stood_still_s: self.stood_still.total(),
            response_mean_s: responses.mean(),
            response_rms_s: responses.root_mean_square(),
            response_p99_s: responses.quantile(0.99),
            ..RehearsalOfRun::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_time_in_pauses_makes_a_fifth_of_the_packets_late_by_their_mean_length() {
        let options = Lateness {
            seed: 1,
            pause: Span::from_us(100),
            paused: 0.2,
            standstill: Span::from_us(500),
            stood_still: 0.1,
        };
        let mut late = LateHosts::new(options, Span::from_secs(10));
        assert!((late.total() as f64 / 1e9 - 1.0).abs() < 0.1, "{}", late.total());
        let mut last = Time::ZERO;
        for us in 0..2_000_000 {
            let at = late.happens(Time::after_start(Span::from_us(us)), 0);
            assert!(at >= last);
            last = at;
        }
        // The rest of an exponentially distributed pause is as long as a whole one.
        let of = late.result();
        assert!((of.lateness_mean_s - 0.2 * 100e-6).abs() < 2e-6, "{}", of.lateness_mean_s);
        assert!(of.lateness_p50_s < 1e-9, "{}", of.lateness_p50_s);
        assert_eq!(late.happens(last, 1), last);
    }

    #[test]
    fn hosts_without_lateness_are_on_time() {
        let none = Lateness { seed: 1, pause: Span::ZERO, paused: 0.0, standstill: Span::ZERO, stood_still: 0.0 };
        let mut late = LateHosts::new(none, Span::from_secs(1));
        let at = Time::after_start(Span::from_ms(3));
        assert_eq!((late.happens(at, 0), late.total()), (at, 0));
    }
}
