//! Measured figures of claims, with the range in which the exact value lies while flows are unfinished.

use crate::{claim::Range, judged::Bound};

/// A measured figure, and the range of values that it can take while unfinished flows complete.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    pub value: f64,
    low: f64,
    high: f64,
}

impl Measured {
    /// A figure that is exact (`None`) or limited on one side.
    pub fn new(value: f64, bound: Option<Bound>) -> Self {
        let (low, high) = match bound {
            None => (value, value),
            Some(Bound::AtLeast) => (value, f64::INFINITY),
            Some(Bound::AtMost) => (f64::NEG_INFINITY, value),
            Some(Bound::Open) => (f64::NEG_INFINITY, f64::INFINITY),
        };
        Self { value, low, high }
    }

    /// Divides the figure by the size of a unit.
    pub fn in_unit(self, scale: f64) -> Self {
        Self { value: self.value / scale, low: self.low / scale, high: self.high / scale }
    }

    /// The difference from `base`; its range is that of all differences of both ranges.
    pub fn minus(self, base: Self) -> Self {
        Self { value: self.value - base.value, low: self.low - base.high, high: self.high - base.low }
    }

    /// The ratio to `base`; neither figure may be negative.
    pub fn over(self, base: Self) -> Self {
        Self { value: self.value / base.value, low: self.low / base.high, high: self.high / base.low }
    }

    /// The mean of at least one figure.
    pub fn mean(figures: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| figures.iter().map(of).sum::<f64>() / figures.len() as f64;
        Self { value: mean(|figure| figure.value), low: mean(|figure| figure.low), high: mean(|figure| figure.high) }
    }

    /// The figure of this rank, from the least as 1; of fewer figures the largest.
    pub fn ranked(figures: &[Self], rank: usize) -> Self {
        let nth = |of: fn(&Self) -> f64| {
            let mut all: Vec<f64> = figures.iter().map(of).collect();
            all.sort_by(f64::total_cmp);
            all[rank.clamp(1, all.len()) - 1]
        };
        Self { value: nth(|figure| figure.value), low: nth(|figure| figure.low), high: nth(|figure| figure.high) }
    }

    /// The side on which the exact value may lie; `None` if the figure is exact.
    pub fn bound(self) -> Option<Bound> {
        match (self.low < self.value, self.high > self.value) {
            (false, false) => None,
            (false, true) => Some(Bound::AtLeast),
            (true, false) => Some(Bound::AtMost),
            (true, true) => Some(Bound::Open),
        }
    }

    /// Whether every possible value lies in `range`.
    pub fn is_within(self, range: Range) -> bool {
        range.low.is_none_or(|low| self.low >= low) && range.high.is_none_or(|high| self.high <= high)
    }

    /// Whether no possible value lies in `range`.
    pub fn is_outside(self, range: Range) -> bool {
        range.low.is_some_and(|low| self.high < low) || range.high.is_some_and(|high| self.low > high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(value: f64) -> Measured {
        Measured::new(value, None)
    }

    fn at_least(value: f64) -> Measured {
        Measured::new(value, Some(Bound::AtLeast))
    }

    #[test]
    fn a_comparison_of_bounds_is_a_bound_in_the_direction_that_is_left() {
        assert_eq!(exact(3.0).over(exact(2.0)), exact(1.5));
        assert_eq!(at_least(3.0).over(exact(2.0)).bound(), Some(Bound::AtLeast));
        assert_eq!(exact(3.0).over(at_least(2.0)).bound(), Some(Bound::AtMost));
        assert_eq!(at_least(3.0).over(at_least(2.0)).bound(), Some(Bound::Open));
        assert_eq!(exact(3.0).minus(at_least(2.0)).bound(), Some(Bound::AtMost));
        assert_eq!(at_least(3.0).minus(exact(2.0)).in_unit(0.001).bound(), Some(Bound::AtLeast));
        assert_eq!(Measured::mean(&[exact(1.0), at_least(2.0)]).bound(), Some(Bound::AtLeast));
        let all = [at_least(3.0), exact(1.0), exact(4.0)];
        let second = Measured { value: 3.0, low: 3.0, high: 4.0 };
        let ranked = [1, 2, 3, 9].map(|rank| Measured::ranked(&all, rank));
        assert_eq!(ranked, [exact(1.0), second, at_least(4.0), at_least(4.0)]);
        // A ratio of times is not negative.
        let range = Range { low: Some(0.0), high: Some(1.5) };
        assert!(exact(3.0).over(at_least(2.0)).is_within(range));
    }
}
