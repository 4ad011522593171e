//! Bytes in a queue or pool over time: exact maximum and time-weighted mean, and quantiles to one percent. Units:
//! bytes, picoseconds.

use hdrhistogram::Histogram;
use shallop_core::{Bytes, Span, Time};

/// Significant decimal digits of the histogram, which make quantiles exact to one percent.
const DIGITS: u8 = 2;

#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    recorded_to: Time,
    held: Bytes,
    max: Bytes,
    /// Maximum since the last call of [`Occupancy::take_peak`], in bytes.
    peak: Bytes,
    /// Integral of the occupancy over time, in bytes times picoseconds.
    area: u128,
    /// Length of time that is recorded.
    covered: Span,
    /// Picoseconds spent at each occupancy above zero; allocated when the queue is first used.
    time_at: Option<Histogram<u64>>,
}

impl Occupancy {
    /// Records that the queue or pool holds `held` bytes from `now` on.
    pub fn set(&mut self, now: Time, held: Bytes) {
        self.advance_to(now);
        self.held = held;
        self.max = self.max.max(held);
        self.peak = self.peak.max(held);
    }

    /// Extends the record to `now` with the present occupancy.
    pub fn advance_to(&mut self, now: Time) {
        let span = now.saturating_since(self.recorded_to);
        if span.is_zero() {
            return;
        }
        self.recorded_to = now;
        self.covered += span;
        if self.held == Bytes::ZERO {
            return;
        }
        self.area += u128::from(self.held.get()) * u128::from(span.as_ps());
        if self.time_at.is_none() {
            self.time_at = Histogram::new(DIGITS).ok();
        }
        if let Some(time_at) = &mut self.time_at {
            let recorded = time_at.record_n(self.held.get(), span.as_ps());
            debug_assert!(recorded.is_ok(), "a histogram that resizes itself takes any value");
        }
    }

    pub fn max(&self) -> Bytes {
        self.max
    }

    /// Present occupancy in bytes.
    pub fn held(&self) -> Bytes {
        self.held
    }

    /// Time-weighted mean of the occupancy, in bytes.
    pub fn mean(&self) -> f64 {
        if self.covered.is_zero() {
            return 0.0;
        }
        self.area as f64 / self.covered.as_ps() as f64
    }

    /// Occupancy in bytes that is not exceeded for `fraction` of the time, exact to one percent and never above the
    /// maximum.
    pub fn quantile(&self, fraction: f64) -> Bytes {
        let Some(time_at) = &self.time_at else { return Bytes::ZERO };
        let (covered, filled) = (self.covered.as_ps(), time_at.len());
        // The histogram lacks the time at an occupancy of zero, which ranks first.
        let rank = fraction * covered as f64 - covered.saturating_sub(filled) as f64;
        if rank <= 0.0 {
            return Bytes::ZERO;
        }
        Bytes::new(time_at.value_at_quantile(rank / filled as f64)).min(self.max)
    }

    /// Fraction of the time in which the occupancy is above `threshold`. Buckets of the histogram are one percent wide;
    /// the bucket that contains `threshold` does not count.
    pub fn fraction_above(&self, threshold: Bytes) -> f64 {
        let Some(time_at) = &self.time_at else { return 0.0 };
        let beyond = time_at.highest_equivalent(threshold.get()).saturating_add(1);
        if beyond > time_at.max() {
            return 0.0;
        }
        time_at.count_between(beyond, time_at.max()) as f64 / self.covered.as_ps() as f64
    }

    /// Returns the maximum occupancy since the last call, so that a time series does not miss a peak between two
    /// samples.
    pub fn take_peak(&mut self) -> Bytes {
        std::mem::replace(&mut self.peak, self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_quantiles_weight_each_length_by_its_duration() {
        let at = |us| Time::after_start(Span::from_us(us));
        let mut queue = Occupancy::default();
        queue.set(at(10), Bytes::new(100_000));
        queue.set(at(11), Bytes::new(1_000));
        queue.set(at(20), Bytes::ZERO);
        queue.advance_to(at(100));
        assert_eq!(queue.max(), Bytes::new(100_000));
        assert!((queue.mean() - 1_090.0).abs() < 1e-9, "{}", queue.mean());
        assert_eq!(queue.quantile(0.5), Bytes::ZERO);
        let p95 = queue.quantile(0.95).get();
        assert!((990..=1_010).contains(&p95), "{p95}");
        let p999 = queue.quantile(0.999).get();
        assert!((99_000..=100_000).contains(&p999), "{p999}");
        let above = [0, 2_000, 99_000, 100_000].map(|level| queue.fraction_above(Bytes::new(level)) * 100.0);
        assert_eq!(above.map(|part| part.round() as u64), [10, 1, 1, 0], "{above:?}");
        assert_eq!((queue.take_peak(), queue.take_peak()), (Bytes::new(100_000), Bytes::ZERO));
    }
}
