//! Paired comparison: the difference of two means over the same seeds. A seed decides the traffic and every random draw
//! of a run, so that two runs with one seed have much of their chance in common, and their difference varies less than
//! either of them. Source: NIST/SEMATECH e-Handbook of Statistical Methods, 7.3.1.1 (paired observations).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::aggregate::{MIN_VALUES, half_width};
use crate::metrics::Figure;

/// The difference of a metric between two schemes (A and B) that ran with the same seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PairedDifference {
    /// The number of seeds with a run of each scheme.
    pub n: u64,
    /// The mean over the seeds in A.
    pub a: f64,
    /// The mean over the seeds in B.
    pub b: f64,
    /// The mean over the seeds of B less A.
    pub difference: f64,
    /// The lower end of the 95 % confidence interval of the difference, clipped where B would have an impossible value.
    /// Null for fewer than three seeds, if the difference is equal for all seeds, and for lower bounds.
    pub low: Option<f64>,
    /// The upper end of the 95 % confidence interval of the difference; null where `low` is.
    pub high: Option<f64>,
    /// Whether the difference is more than chance.
    pub finding: Finding,
}

/// Whether a paired difference is larger than chance explains.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Finding {
    /// Zero lies outside the 95 % confidence interval of the difference.
    #[serde(rename = "significant")]
    Significant,
    /// The difference is not zero, and equal for all of at least three seeds.
    #[serde(rename = "same for all seeds")]
    Constant,
    /// Zero lies inside the 95 % confidence interval of the difference.
    #[serde(rename = "not significant")]
    NotSignificant,
    /// Both values are equal for each seed.
    #[serde(rename = "equal")]
    Equal,
    /// Fewer than three seeds have no confidence interval.
    #[serde(rename = "too few seeds")]
    TooFewSeeds,
    /// A value is only a lower bound, because flows did not finish.
    #[serde(rename = "flows unfinished")]
    Unfinished,
}

impl Finding {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Significant => "significant",
            Self::Constant => "same for all seeds",
            Self::NotSignificant => "not significant",
            Self::Equal => "equal",
            Self::TooFewSeeds => "too few seeds",
            Self::Unfinished => "flows unfinished",
        }
    }

    /// Whether the difference is larger than chance explains.
    pub const fn is_difference(self) -> bool {
        matches!(self, Self::Significant | Self::Constant)
    }
}

impl PairedDifference {
    /// Computes the difference from pairs of A and B, one pair for each seed; `None` without pairs. The mean of B
    /// cannot be less than `least` or more than `most`.
    #[must_use]
    pub fn from_pairs(pairs: &[(Figure, Figure)], (least, most): (f64, f64)) -> Option<Self> {
        let n = pairs.len() as u64;
        let mean =
            |of: &dyn Fn(&(Figure, Figure)) -> f64| pairs.iter().map(of).sum::<f64>() / n as f64;
        let differences = || pairs.iter().map(|(a, b)| b.value - a.value);
        let first = differences().next()?;
        let is_constant = differences().all(|difference| difference.total_cmp(&first).is_eq());
        let difference = if is_constant { first } else { mean(&|(a, b)| b.value - a.value) };
        let half = half_width(differences(), difference, n);
        let finding = if pairs.iter().any(|(a, b)| a.at_least || b.at_least) {
            Finding::Unfinished
        } else if differences().all(|difference| difference == 0.0) {
            Finding::Equal
        } else if n < MIN_VALUES {
            Finding::TooFewSeeds
        } else if is_constant {
            Finding::Constant
        } else if difference.abs() > half {
            Finding::Significant
        } else {
            Finding::NotSignificant
        };
        let interval = matches!(finding, Finding::Significant | Finding::NotSignificant);
        let end = |end: f64| interval.then_some(end);
        let (a, b) = (mean(&|(a, _)| a.value), mean(&|(_, b)| b.value));
        let low = end((difference - half).max(least - a));
        let high = end((difference + half).min(most - a));
        Some(Self { n, a, b, difference, low, high, finding })
    }

    /// The difference as a fraction of the mean of A, with its confidence interval; `None` if that mean is zero.
    pub fn relative(&self) -> Option<(f64, Option<(f64, f64)>)> {
        let of = |value: f64| value / self.a;
        let interval = self.low.zip(self.high).map(|(low, high)| (of(low), of(high)));
        (self.a > 0.0).then(|| (of(self.difference), interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

    fn paired(pairs: &[(f64, f64)]) -> PairedDifference {
        let figure = |value| Figure { value, ..Figure::default() };
        let pairs: Vec<_> = pairs.iter().map(|&(a, b)| (figure(a), figure(b))).collect();
        PairedDifference::from_pairs(&pairs, ANY).unwrap()
    }

    #[test]
    fn the_interval_is_that_of_the_differences() {
        // Differences 1, 2, 3: mean 2, s = 1, 4.303 / sqrt(3) = 2.48434. Each side varies by far more.
        let found = paired(&[(100.0, 101.0), (200.0, 202.0), (300.0, 303.0)]);
        assert_eq!((found.n, found.a, found.b, found.difference), (3, 200.0, 202.0, 2.0));
        assert!((found.low.unwrap() + 0.484_34).abs() < 1e-4, "{found:?}");
        assert_eq!(found.finding, Finding::NotSignificant);
        let found = paired(&[(100.0, 103.0), (200.0, 204.0), (300.0, 305.0)]);
        assert_eq!(found.finding, Finding::Significant);
        assert!((found.low.unwrap() - 1.515_66).abs() < 1e-4, "{found:?}");
        let (relative, interval) = found.relative().unwrap();
        assert!((relative - 0.02).abs() < 1e-12 && interval.unwrap().0 > 0.007);
    }

    #[test]
    fn unpaired_seeds_would_hide_what_pairs_show() {
        // The seeds differ by hundreds, the schemes by one.
        let found = paired(&[(100.0, 101.1), (350.0, 351.0), (720.0, 720.9), (40.0, 41.0)]);
        assert_eq!(found.finding, Finding::Significant);
    }

    #[test]
    fn what_has_no_interval_says_why() {
        let finding = |pairs: &[(f64, f64)]| {
            let found = paired(pairs);
            assert_eq!((found.low, found.high), (None, None));
            found.finding
        };
        assert_eq!(finding(&[(1.0, 9.0), (2.0, 8.0)]), Finding::TooFewSeeds);
        assert_eq!(finding(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]), Finding::Equal);
        assert_eq!(finding(&[(1.0, 2.0), (2.0, 3.0), (3.0, 4.0)]), Finding::Constant);
        let bound = Figure { value: 9.0, at_least: true, few_samples: false };
        let exact = Figure { value: 1.0, ..Figure::default() };
        let found =
            PairedDifference::from_pairs(&[(exact, bound), (exact, exact), (exact, exact)], ANY)
                .unwrap();
        assert_eq!((found.finding, found.low), (Finding::Unfinished, None));
        assert_eq!(PairedDifference::from_pairs(&[], ANY), None);
        assert_eq!(paired(&[(0.0, 1.0)]).relative(), None);
    }

    #[test]
    fn an_interval_ends_where_the_second_would_be_impossible() {
        let figure = |value| Figure { value, ..Figure::default() };
        let pairs = [(0.09, 0.0), (0.10, 0.0), (0.14, 0.001)].map(|(a, b)| (figure(a), figure(b)));
        let free = PairedDifference::from_pairs(&pairs, ANY).unwrap();
        assert!(free.relative().unwrap().1.unwrap().0 < -1.0, "more than all of it: {free:?}");
        let found = PairedDifference::from_pairs(&pairs, (0.0, 1.0)).unwrap();
        let (low, high) = found.relative().unwrap().1.unwrap();
        assert!((low + 1.0).abs() < 1e-12 && high < 0.0, "{found:?}");
        assert_eq!((found.finding, found.high), (free.finding, free.high));
    }

    #[test]
    fn findings_are_stored_as_they_are_printed() {
        for finding in [Finding::Significant, Finding::Constant, Finding::TooFewSeeds] {
            assert_eq!(serde_json::to_value(finding).unwrap(), finding.word());
        }
    }
}
