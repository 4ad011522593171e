//! A histogram of fixed size: how long after their planned times packets left.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use shallop_core::Span;

/// The upper bound of the first bucket, as a power of two: 2^10 ns.
const FIRST: u32 = 10;
/// The buckets of each doubling of the delay, as a power of two: 2^2.
const PARTS: u32 = 2;
/// The doublings of the delay above the first bucket, up to 2^33 ns, 8.6 s.
const DOUBLINGS: u32 = 23;
const BUCKETS: usize = ((DOUBLINGS << PARTS) + 1) as usize;

/// A histogram of the delays of departures after their planned times. Quantiles are accurate to 25 % from 1 us on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Lateness {
    counts: [u32; BUCKETS],
}

impl Lateness {
    /// Counts a departure with this delay.
    pub(crate) fn add(&mut self, late: Span) {
        let count = &mut self.counts[bucket(late.as_ps() / 1_000)];
        *count = count.saturating_add(1);
    }

    /// The delay that this fraction (0 to 1) of the departures does not exceed, seconds; 0 without departures.
    pub fn quantile(&self, fraction: f64) -> f64 {
        let total: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let wanted = (total as f64 * fraction).ceil() as u64;
        let mut so_far = 0;
        for (number, &count) in self.counts.iter().enumerate() {
            so_far += u64::from(count);
            if so_far >= wanted.max(1) {
                return bound(number) as f64 / 1e9;
            }
        }
        0.0
    }
}

/// The index of the bucket of a delay.
fn bucket(ns: u64) -> usize {
    let above = ns.checked_ilog2().map_or(0, |log| log.saturating_sub(FIRST));
    if ns < 1 << FIRST {
        return 0;
    }
    let part = (ns >> (FIRST + above - PARTS)) & ((1 << PARTS) - 1);
    ((u64::from(above << PARTS) + part + 1) as usize).min(BUCKETS - 1)
}

/// The upper bound of a bucket, exclusive, ns.
fn bound(bucket: usize) -> u64 {
    let (above, part) = (bucket >> PARTS, bucket as u64 & ((1 << PARTS) - 1));
    ((1 << PARTS) + part) << (FIRST - PARTS) << above
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: [0; BUCKETS] }
    }
}

impl std::fmt::Debug for Lateness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [half, most] = [0.5, 0.99].map(|part| self.quantile(part));
        f.debug_struct("Lateness").field("half", &half).field("most", &most).finish()
    }
}

impl Serialize for Lateness {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("p50_s", &self.quantile(0.5))?;
        map.serialize_entry("p99_s", &self.quantile(0.99))?;
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delay_is_between_the_bounds_of_its_bucket() {
        for ns in (0..200_000).chain((18..33).flat_map(|log| [(1 << log) - 1, 1 << log])) {
            let number = bucket(ns);
            assert!(ns < bound(number), "{ns} {number}");
            assert!(number == 0 || ns >= bound(number - 1), "{ns} {number}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_accurate_to_25_percent() {
        let mut lateness = Lateness::default();
        assert!(lateness.quantile(0.5).abs() < 1e-12);
        for us in 1..=1_000 {
            lateness.add(Span::from_us(us));
        }
        for (part, us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let found = lateness.quantile(part) * 1e6;
            assert!(found >= us && found <= us * 1.25, "{part}: {found}");
        }
    }
}
