//! How full a queue or a pool was, weighted by time: exact maximum and mean; quantiles to one percent. Units: bytes,
//! picoseconds.

use hdrhistogram::Histogram;
use shallop_core::{Bytes, Span, Time};

/// Two significant digits: quantiles are right to one percent.
const DIGITS: u8 = 2;

/// The history of a queue's length.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    since: Time,
    held: Bytes,
    max: Bytes,
    /// The longest since the last sample.
    peak: Bytes,
    /// Bytes times picoseconds.
    area: u128,
    watched: Span,
    /// Picoseconds spent at each length but none; made when there is the first.
    spent: Option<Histogram<u64>>,
}

impl Occupancy {
    /// The queue holds this much from `now` on.
    pub fn set(&mut self, now: Time, held: Bytes) {
        self.pass(now);
        self.held = held;
        self.max = self.max.max(held);
        self.peak = self.peak.max(held);
    }

    /// Brings the history up to `now`.
    pub fn pass(&mut self, now: Time) {
        let span = now.saturating_since(self.since);
        if span.is_zero() {
            return;
        }
        self.since = now;
        self.watched += span;
        if self.held == Bytes::ZERO {
            return;
        }
        self.area += u128::from(self.held.get()) * u128::from(span.as_ps());
        if self.spent.is_none() {
            self.spent = Histogram::new(DIGITS).ok();
        }
        if let Some(spent) = &mut self.spent {
            // Cannot fail: the histogram grows with the values it meets.
            let recorded = spent.record_n(self.held.get(), span.as_ps());
            debug_assert!(recorded.is_ok(), "a growing histogram takes any value");
        }
    }

    /// The longest the queue ever was, exactly.
    #[must_use]
    pub fn max(&self) -> Bytes {
        self.max
    }

    /// What the queue holds now.
    #[must_use]
    pub fn held(&self) -> Bytes {
        self.held
    }

    /// Mean length over time, in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.watched.is_zero() {
            return 0.0;
        }
        self.area as f64 / self.watched.as_ps() as f64
    }

    /// The length not exceeded for this fraction of the time, to one percent and never above the maximum.
    #[must_use]
    pub fn quantile(&self, fraction: f64) -> Bytes {
        let Some(spent) = &self.spent else { return Bytes::ZERO };
        let (watched, filled) = (self.watched.as_ps(), spent.len());
        // The shortest times are those at no length at all.
        let rank = fraction * watched as f64 - watched.saturating_sub(filled) as f64;
        if rank <= 0.0 {
            return Bytes::ZERO;
        }
        Bytes::new(spent.value_at_quantile(rank / filled as f64)).min(self.max)
    }

    /// The fraction of time at more than this length. Lengths count by classes one percent wide: the class that `level`
    /// lies in does not count as more.
    #[must_use]
    pub fn above(&self, level: Bytes) -> f64 {
        let Some(spent) = &self.spent else { return 0.0 };
        let beyond = spent.highest_equivalent(level.get()).saturating_add(1);
        if beyond > spent.max() {
            return 0.0;
        }
        spent.count_between(beyond, spent.max()) as f64 / self.watched.as_ps() as f64
    }

    /// The longest since the last call, for series that must not miss a peak between samples.
    pub fn take_peak(&mut self) -> Bytes {
        std::mem::replace(&mut self.peak, self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_for_as_long_as_they_last() {
        let at = |us| Time::after_start(Span::from_us(us));
        let mut queue = Occupancy::default();
        queue.set(at(10), Bytes::new(100_000));
        queue.set(at(11), Bytes::new(1_000));
        queue.set(at(20), Bytes::ZERO);
        queue.pass(at(100));
        assert_eq!(queue.max(), Bytes::new(100_000));
        assert!((queue.mean() - 1_090.0).abs() < 1e-9, "{}", queue.mean());
        assert_eq!(queue.quantile(0.5), Bytes::ZERO);
        let p95 = queue.quantile(0.95).get();
        assert!((990..=1_010).contains(&p95), "{p95}");
        let p999 = queue.quantile(0.999).get();
        assert!((99_000..=100_000).contains(&p999), "{p999}");
        let above = [0, 2_000, 99_000, 100_000].map(|level| queue.above(Bytes::new(level)) * 100.0);
        assert_eq!(above.map(|part| part.round() as u64), [10, 1, 1, 0], "{above:?}");
        assert_eq!((queue.take_peak(), queue.take_peak()), (Bytes::new(100_000), Bytes::ZERO));
    }
}
