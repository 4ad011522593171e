//! Flow-size distributions: points of a cumulative distribution, with straight lines between them.
//!
//! A draw interpolates linearly between two points and rounds up to whole bytes, at least one, like the empirical
//! random variable of ns-2 (`interpolation_` 2). Points of equal size are a mass at that size; the share of the first
//! point is a mass at its size. Means, shares and quantiles describe the rounded draws. State: the points, shared by
//! all copies. Units: payload bytes, shares of one.

use shallop_core::Stream;
use std::sync::Arc;

pub use super::parse::CdfPoint;
use super::parse::{self, SizesError};

/// A distribution of flow sizes. Clones share one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(Arc<Table>);

#[derive(Debug, PartialEq)]
struct Table {
    name: String,
    points: Vec<CdfPoint>,
    mean: f64,
}

impl Sizes {
    /// A distribution in which every flow has `bytes` bytes, at least one.
    pub fn fixed(bytes: u64) -> Self {
        Self::from_points(format!("{bytes} B"), vec![CdfPoint { size: bytes, share: 1.0 }])
    }

    /// A uniform distribution of the whole numbers of bytes from `low` to `high`, both included.
    ///
    /// # Errors
    /// [`SizesError::Range`] unless 1 <= `low` <= `high`.
    pub fn uniform(low: u64, high: u64) -> Result<Self, SizesError> {
        if low == 0 || low > high {
            return Err(SizesError::Range { low, high });
        }
        // Draws between points are rounded up, so the lower point itself is never drawn.
        let points = vec![CdfPoint { size: low - 1, share: 0.0 }, CdfPoint { size: high, share: 1.0 }];
        Ok(Self::from_points(format!("{low} B to {high} B"), points))
    }

    /// Parses a distribution; docs/workloads.md, "Formats", describes the text.
    ///
    /// # Errors
    /// The first error, with its line.
    pub fn parse(name: impl Into<String>, text: &str) -> Result<Self, SizesError> {
        Ok(Self::from_points(name.into(), parse::points(text)?))
    }

    /// Makes a distribution from points, which must ascend and end at a share of one.
    fn from_points(name: String, points: Vec<CdfPoint>) -> Self {
        let mean = segments(&points).map(|segment| segment.bytes_up_to(u64::MAX)).sum();
        Self(Arc::new(Table { name, points, mean }))
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn points(&self) -> &[CdfPoint] {
        &self.0.points
    }

    /// Draws the size of the next flow in bytes, at least one.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let unit = stream.unit();
        let points = &self.0.points;
        let above = points.partition_point(|point| point.share <= unit);
        self.between(above, unit, f64::ceil)
    }

    /// Mean size of [`Sizes::draw`] in bytes, including its rounding; exact up to the precision of doubles.
    pub fn mean(&self) -> f64 {
        self.0.mean
    }

    /// Fraction of flows of at most `bytes` bytes, in [0, 1].
    pub fn fraction_up_to(&self, bytes: u64) -> f64 {
        segments(&self.0.points).map(|segment| segment.flows_up_to(bytes)).sum()
    }

    /// Fraction of all bytes that belong to flows of at most `bytes` bytes, in [0, 1].
    pub fn bytes_fraction_up_to(&self, bytes: u64) -> f64 {
        let up_to: f64 = segments(&self.0.points).map(|segment| segment.bytes_up_to(bytes)).sum();
        up_to / self.0.mean
    }

    /// Smallest size in bytes that a fraction `p` of flows does not exceed. `p` is clamped to [0, 1].
    pub fn quantile(&self, p: f64) -> u64 {
        let p = p.clamp(0.0, 1.0);
        let above = self.0.points.partition_point(|point| point.share < p || point.share <= 0.0);
        // A size within the error of doubles of a whole number is that number.
        let up = |size: f64| {
            let whole = size.round();
            if (size - whole).abs() <= whole * 1e-12 { whole } else { size.ceil() }
        };
        self.between(above, p, up)
    }

    /// Interpolates the size at `share`, which lies between point `above` and the point before it.
    fn between(&self, above: usize, share: f64, up: impl Fn(f64) -> f64) -> u64 {
        let points = &self.0.points;
        let high = points[above.min(points.len() - 1)];
        let Some(low) = above.checked_sub(1).map(|index| points[index]) else {
            return high.size.max(1);
        };
        if low.share >= high.share || low.size == high.size {
            return high.size.max(1);
        }
        let part = (share - low.share) / (high.share - low.share);
        let size = low.size as f64 + part * (high.size - low.size) as f64;
        (up(size) as u64).clamp(low.size + 1, high.size)
    }
}

/// Part of the distribution between two points: sizes are uniform above `low` and up to `high`. Equal sizes are a mass.
struct Segment {
    low: u64,
    high: u64,
    share: f64,
}

/// The mass at the first point, then one segment between each two successive points.
fn segments(points: &[CdfPoint]) -> impl Iterator<Item = Segment> + '_ {
    let first = points.first().map(|&CdfPoint { size, share }| Segment { low: size, high: size, share });
    let others = points.windows(2).map(|pair| Segment {
        low: pair[0].size,
        high: pair[1].size,
        share: pair[1].share - pair[0].share,
    });
    first.into_iter().chain(others)
}

impl Segment {
    /// Fraction of all flows that are in this segment and have at most `bytes` bytes.
    fn flows_up_to(&self, bytes: u64) -> f64 {
        if bytes >= self.high.max(1) {
            return self.share;
        }
        let part = bytes.saturating_sub(self.low) as f64;
        if self.low == self.high { 0.0 } else { self.share * part / (self.high - self.low) as f64 }
    }

    /// Contribution to the mean flow size, in bytes, of flows in this segment with at most `bytes` bytes.
    fn bytes_up_to(&self, bytes: u64) -> f64 {
        let top = bytes.min(self.high);
        // Mean of the whole numbers above `low` and up to `top`.
        let mean =
            if self.low == self.high { self.high.max(1) as f64 } else { (self.low as f64 + top as f64 + 1.0) / 2.0 };
        self.flows_up_to(bytes) * mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use shallop_core::Seed;
    use std::fmt::Write as _;

    fn drawn(sizes: &Sizes, seed: u64, count: usize) -> Vec<u64> {
        let mut stream = Seed::new(seed).stream("sizes", 0);
        (0..count).map(|_| sizes.draw(&mut stream)).collect()
    }

    #[test]
    fn all_whole_sizes_of_a_uniform_range_are_equally_likely() {
        let sizes = Sizes::uniform(3, 6).unwrap();
        assert!((sizes.mean() - 4.5).abs() < 1e-12);
        let shares: f64 = (2..=6).map(|bytes| sizes.fraction_up_to(bytes)).sum();
        assert!((shares - 2.5).abs() < 1e-12);
        assert_eq!([0.0, 0.25, 0.26, 1.0].map(|p| sizes.quantile(p)), [3, 3, 4, 6]);
        let mut counts = [0; 7];
        for size in drawn(&sizes, 1, 100_000) {
            counts[size as usize] += 1;
        }
        assert_eq!(counts[..3], [0, 0, 0]);
        assert!(counts[3..].iter().all(|&n| (24_400..25_600).contains(&n)), "{counts:?}");
        assert!(matches!(Sizes::uniform(5, 4), Err(SizesError::Range { low: 5, high: 4 })));
        assert!(matches!(Sizes::uniform(0, 4), Err(SizesError::Range { .. })));
    }

    #[test]
    fn a_fixed_size_is_at_least_one_byte() {
        let sizes = Sizes::fixed(10_000_000);
        assert_eq!(drawn(&sizes, 1, 3), [10_000_000; 3]);
        assert_eq!((sizes.mean(), sizes.quantile(0.5)), (1e7, 10_000_000));
        assert_eq!((sizes.fraction_up_to(9_999_999), sizes.fraction_up_to(10_000_000)), (0.0, 1.0));
        assert_eq!((drawn(&Sizes::fixed(0), 1, 1), Sizes::fixed(0).mean()), (vec![1], 1.0));
    }

    #[test]
    fn points_of_equal_size_are_a_mass_and_points_of_equal_share_a_gap() {
        let sizes = Sizes::parse("masses", "100,0.2\n200,0.2\n200,0.7\n300,0.7\n300,1").unwrap();
        let all = drawn(&sizes, 5, 100_000);
        let count = |size| all.iter().filter(|&&s| s == size).count() as f64 / 1e5;
        assert!((count(100) - 0.2).abs() < 0.005, "{}", count(100));
        assert!((count(200) - 0.5).abs() < 0.005, "{}", count(200));
        assert!((count(300) - 0.3).abs() < 0.005, "{}", count(300));
        assert!((sizes.mean() - 210.0).abs() < 1e-9);
        assert!((sizes.bytes_fraction_up_to(200) - 120.0 / 210.0).abs() < 1e-12);
        assert_eq!([0.1, 0.2, 0.21, 0.7, 0.9].map(|p| sizes.quantile(p)), [100, 100, 200, 200, 300]);
    }

    #[test]
    fn a_mass_at_zero_bytes_is_drawn_as_one_byte() {
        let sizes = Sizes::parse("zero", "0 0.5\n2 1").unwrap();
        assert!((sizes.mean() - (0.5 + 0.25 + 0.5)).abs() < 1e-12);
        assert!((sizes.fraction_up_to(1) - 0.75).abs() < 1e-12);
        assert!(drawn(&sizes, 2, 1_000).iter().all(|size| (1..=2).contains(size)));
    }

    #[test]
    fn equal_streams_give_equal_sizes() {
        let sizes = Sizes::uniform(1, 1 << 40).unwrap();
        assert_eq!(drawn(&sizes, 9, 100), drawn(&sizes.clone(), 9, 100));
        assert_ne!(drawn(&sizes, 9, 100), drawn(&sizes, 10, 100));
    }

    prop_compose! {
        /// Random tables whose sizes and shares ascend by steps, some of zero.
        fn tables()(steps in prop::collection::vec((0u64..5_000, 0u32..100), 1..12)) -> Sizes {
            let total = f64::from(steps.iter().map(|step| step.1).sum::<u32>()).max(1.0);
            let (mut size, mut share) = (0, 0);
            let mut text = String::new();
            for (by, more) in steps {
                (size, share) = (size + by, share + more);
                writeln!(text, "{size} {}", f64::from(share) / total).unwrap();
            }
            writeln!(text, "{size} 1").unwrap();
            Sizes::parse("drawn", &text).unwrap()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn draws_have_the_mean_and_the_shares_of_the_table(sizes in tables(), seed: u64) {
            let all = drawn(&sizes, seed, 20_000);
            let mean = all.iter().map(|&size| size as f64).sum::<f64>() / 2e4;
            let largest = sizes.points().last().unwrap().size as f64;
            // Six standard deviations of the mean of 20,000 draws from the widest range.
            prop_assert!((mean - sizes.mean()).abs() < 0.022 * largest + 1e-9);
            for share in [0.1, 0.5, 0.9] {
                let at = sizes.quantile(share);
                let counted = all.iter().filter(|&&size| size <= at).count() as f64 / 2e4;
                prop_assert!((counted - sizes.fraction_up_to(at)).abs() < 0.022);
            }
        }

        #[test]
        fn shares_rise_to_one_and_quantiles_are_their_inverse(sizes in tables(), p in 0.0..1.0) {
            let top = sizes.points().last().unwrap().size.max(1);
            prop_assert!((sizes.fraction_up_to(top) - 1.0).abs() < 1e-12);
            prop_assert!((sizes.bytes_fraction_up_to(top) - 1.0).abs() < 1e-12);
            let at = sizes.quantile(p);
            prop_assert!(sizes.fraction_up_to(at) >= p - 1e-9);
            prop_assert!(at == 1 || sizes.fraction_up_to(at - 1) <= p + 1e-9);
            prop_assert!(sizes.bytes_fraction_up_to(at) <= sizes.fraction_up_to(at) + 1e-9);
        }

        #[test]
        fn the_mean_is_the_sum_of_the_tail_over_all_sizes(sizes in tables()) {
            let top = sizes.points().last().unwrap().size.max(1);
            let tail: f64 = (0..top).map(|size| 1.0 - sizes.fraction_up_to(size)).sum();
            prop_assert!((tail - sizes.mean()).abs() < 1e-6 * tail.max(1.0));
        }
    }
}
