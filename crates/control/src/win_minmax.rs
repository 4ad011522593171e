//! Windowed minimum and maximum filters (kernel: `lib/win_minmax.c`, Kathleen Nichols' algorithm). State: the best, the
//! second best and the third best sample, each from a later part of the window than the better one, so that time and
//! memory per sample do not depend on the length of the window. The estimate is never older than the window and never
//! worse than the newest sample. When the best sample expires, the second best replaces it, although a better sample of
//! the window may have been forgotten. Units of values and of time are the caller's; time may be a count of rounds.

use shallop_core::{Span, Time};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    t: u64,
    v: u64,
}

/// Maximum of the samples in a sliding window. The three samples are the best, second and third best.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMax([Sample; 3]);

impl WindowedMax {
    /// Maximum over the window; zero before the first sample.
    pub fn get(&self) -> u64 {
        self.0[0].v
    }

    /// Adds sample `v`, taken at time `t`. `window` is the length of the sliding window.
    pub fn update(&mut self, t: u64, v: u64, window: u64) {
        let sample = Sample { t, v };
        let [first, second, third] = &mut self.0;
        if v >= first.v || t.saturating_sub(third.t) > window {
            self.0 = [sample; 3];
            return;
        }
        if v >= second.v {
            (*second, *third) = (sample, sample);
        } else if v >= third.v {
            *third = sample;
        }
        self.update_subwindows(sample, window);
    }

    /// Drops expired samples. Keeps the second sample from the last three quarters of the window and the third from its
    /// last half (kernel: `minmax_subwin_update`).
    fn update_subwindows(&mut self, sample: Sample, window: u64) {
        let [first, second, third] = &mut self.0;
        let age = sample.t.saturating_sub(first.t);
        if age > window {
            (*first, *second, *third) = (*second, *third, sample);
            if sample.t.saturating_sub(first.t) > window {
                (*first, *second, *third) = (*second, *third, sample);
            }
        } else if second.t == first.t && age > window / 4 {
            (*second, *third) = (sample, sample);
        } else if third.t == second.t && age > window / 2 {
            *third = sample;
        }
    }
}

/// Maximum RTT over a window of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMaxRtt(WindowedMax);

impl WindowedMaxRtt {
    /// Maximum RTT over the window; zero before the first sample.
    pub fn get(&self) -> Span {
        Span::from_ps(self.0.get())
    }

    /// Adds an RTT sample. `window` is the length of the sliding window.
    pub fn update(&mut self, now: Time, rtt: Span, window: Span) {
        self.0.update(now.since_start().as_ps(), rtt.as_ps(), window.as_ps());
    }
}

/// Minimum RTT over a window of time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowedMinRtt(WindowedMax);

impl WindowedMinRtt {
    /// Minimum RTT over the window; [`Span::MAX`] before the first sample.
    pub fn get(&self) -> Span {
        Span::from_ps(u64::MAX - self.0.get())
    }

    /// Adds an RTT sample. `window` is the length of the sliding window.
    pub fn update(&mut self, now: Time, rtt: Span, window: Span) {
        self.0.update(now.since_start().as_ps(), u64::MAX - rtt.as_ps(), window.as_ps());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_estimate_is_a_sample_of_the_window_and_at_least_the_newest(
            steps in prop::collection::vec((1u64..20, 0u64..1_000), 1..200),
            window in 8u64..200,
        ) {
            let (mut filter, mut now, mut samples) = (WindowedMax::default(), 0, vec![]);
            for (gap, value) in steps {
                now += gap;
                samples.push((now, value));
                filter.update(now, value, window);
                let recent = samples.iter().filter(|(t, _)| t + window >= now);
                let max = recent.map(|&(_, value)| value).max().unwrap_or(0);
                prop_assert!((value..=max).contains(&filter.get()), "at {now}: {filter:?}");
            }
        }
    }

    #[test]
    fn a_minimum_expires_after_one_window() {
        let (mut min, mut max) = (WindowedMinRtt::default(), WindowedMaxRtt::default());
        let [short, long, window] = [10, 30, 100].map(Span::from_ms);
        assert_eq!((min.get(), max.get()), (Span::MAX, Span::ZERO));
        let mut minima = vec![];
        for ms in 0..150 {
            let now = Time::after_start(Span::from_ms(ms));
            let rtt = if ms < 20 { short } else { long };
            min.update(now, rtt, window);
            max.update(now, rtt, window);
            if minima.last() != Some(&min.get()) {
                minima.push(min.get());
                assert!(ms == 0 || (100..=120).contains(&ms), "at {ms} ms");
            }
        }
        assert_eq!((minima, max.get()), (vec![short, long], long));
    }
}
