//! Round-trip times that senders measured: a histogram and the exact mean. Units: nanoseconds with three significant
//! digits in the histogram; picoseconds in the sum.

use hdrhistogram::Histogram;
use shallop_core::Span;
use shallop_results::summary::Rtt;

/// Round-trip times measured by the senders of a set of flows.
#[derive(Clone, Debug)]
pub struct Rtts {
    /// Histogram in nanoseconds; never `None`, since its settings are constant and valid.
    histogram: Option<Histogram<u64>>,
    sum: u128,
}

impl Default for Rtts {
    fn default() -> Self {
        Self { histogram: Histogram::new(3).ok(), sum: 0 }
    }
}

impl Rtts {
    #[inline]
    pub fn record(&mut self, rtt: Span) {
        self.sum += u128::from(rtt.as_ps());
        if let Some(histogram) = &mut self.histogram {
            // Cannot fail: the histogram grows with its values.
            let recorded = histogram.record(rtt.as_ps() / 1000);
            debug_assert!(recorded.is_ok(), "a growing histogram takes any value");
        }
    }

    /// Adds all samples of `other`.
    pub fn add(&mut self, other: &Self) {
        self.sum += other.sum;
        if let (Some(histogram), Some(other)) = (&mut self.histogram, &other.histogram) {
            let added = histogram.add(other);
            debug_assert!(added.is_ok(), "a growing histogram takes any value");
        }
    }

    /// Mean, median and 99th percentile in seconds; all `None` without samples.
    pub fn summary(&self) -> Rtt {
        let Some(histogram) = self.histogram.as_ref().filter(|h| !h.is_empty()) else {
            return Rtt::default();
        };
        let quantile = |part: f64| Some(histogram.value_at_quantile(part) as f64 * 1e-9);
        let mean = self.sum as f64 / histogram.len() as f64 * 1e-12;
        Rtt { mean_s: Some(mean), p50_s: quantile(0.5), p99_s: quantile(0.99) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_groups_has_the_statistics_of_all_samples() {
        let (mut all, mut parts) = (Rtts::default(), [Rtts::default(), Rtts::default()]);
        for us in 1..=10_000u64 {
            all.record(Span::from_us(us));
            parts[usize::from(us % 7 == 0)].record(Span::from_us(us));
        }
        let mut sum = Rtts::default();
        for part in &parts {
            sum.add(part);
        }
        assert_eq!(sum.summary(), all.summary());
        let Rtt { mean_s: Some(mean), p50_s: Some(p50), p99_s: Some(p99) } = all.summary() else {
            panic!("round trips were measured")
        };
        assert!((mean - 5_000.5e-6).abs() < 1e-12, "{mean}");
        assert!((p50 / 5_000e-6 - 1.0).abs() < 1e-3 && (p99 / 9_900e-6 - 1.0).abs() < 1e-3);
        assert_eq!(Rtts::default().summary(), Rtt::default());
    }
}
