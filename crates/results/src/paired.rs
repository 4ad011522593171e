//! Paired comparison: the difference of two means over the same seeds. A seed decides the traffic and every random draw
//! of a run, so that two runs with one seed have much of their chance in common, and their difference varies less than
//! either of them. Whether it is more than chance is tested on the logarithm, where all values are positive: completion
//! times differ by factors, and one slow seed of five would hide a factor of 500 from a test of plain differences.
//! Source: NIST/SEMATECH e-Handbook of Statistical Methods, 7.3.1.1 (paired observations).

use crate::aggregate::{MIN_VALUES, half_width};
use crate::metrics::Figure;
use libm::{exp, log};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// The geometric mean over the seeds of B / A; null if a value is not positive.
    #[serde(default)]
    #[schemars(extend("unit" = "ratio"))]
    pub ratio: Option<f64>,
    /// The lower end of the 95 % confidence interval of the ratio, from the differences of the logarithms; null where
    /// `ratio` or `low` is. Cut off as `low` is.
    #[serde(default)]
    #[schemars(extend("unit" = "ratio"))]
    pub ratio_low: Option<f64>,
    /// The upper end of that interval.
    #[serde(default)]
    #[schemars(extend("unit" = "ratio"))]
    pub ratio_high: Option<f64>,
    /// Whether the difference is more than chance: by the interval of the ratio, or by that of the difference if there
    /// is no ratio.
    pub finding: Finding,
}

/// Whether a paired difference is larger than chance explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Finding {
    /// No difference, a ratio of one, lies outside the confidence interval.
    #[serde(rename = "significant")]
    Significant,
    /// The difference is not zero, and equal for all of at least three seeds.
    #[serde(rename = "same for all seeds")]
    Constant,
    /// No difference lies inside the confidence interval.
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

names! { Finding::word {
    Significant = "significant", Constant = "same for all seeds", NotSignificant = "not significant", Equal = "equal",
    TooFewSeeds = "too few seeds", Unfinished = "flows unfinished",
} }

impl Finding {
    /// Whether the difference has a row in a long table: it is not chance, or an estimate from few seeds.
    pub const fn is_told(self) -> bool {
        self.is_difference() || matches!(self, Self::TooFewSeeds)
    }

    /// Whether there is a difference that is not chance.
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
        let mean = |of: &dyn Fn(&(Figure, Figure)) -> f64| pairs.iter().map(of).sum::<f64>() / n as f64;
        let differences = || pairs.iter().map(|(a, b)| b.value - a.value);
        let first = differences().next()?;
        let is_constant = differences().all(|difference| difference.total_cmp(&first).is_eq());
        let difference = if is_constant { first } else { mean(&|(a, b)| b.value - a.value) };
        let half = half_width(differences(), difference, n);
        let ratio = Ratio::of(pairs);
        let is_shown = ratio.map_or(difference.abs() > half, |ratio| {
            // Means and ratios may contradict each other.
            ratio.log.abs() > ratio.half && (ratio.log > 0.0) == (difference > 0.0)
        });
        let finding = if pairs.iter().any(|(a, b)| a.at_least || b.at_least) {
            Finding::Unfinished
        } else if differences().all(|difference| difference == 0.0) {
            Finding::Equal
        } else if n < MIN_VALUES {
            Finding::TooFewSeeds
        } else if is_constant {
            Finding::Constant
        } else if is_shown {
            Finding::Significant
        } else {
            Finding::NotSignificant
        };
        let interval = matches!(finding, Finding::Significant | Finding::NotSignificant);
        let end = |end: f64| interval.then_some(end);
        let (a, b) = (mean(&|(a, _)| a.value), mean(&|(_, b)| b.value));
        let low = end((difference - half).max(least - a));
        let high = end((difference + half).min(most - a));
        let ends = ratio
            .filter(|_| interval)
            .map(|Ratio { log, half }| (exp(log - half).max(least / a), exp(log + half).min(most / a)));
        let (ratio_low, ratio_high) = ends.unzip();
        let ratio = ratio.map(|ratio| exp(ratio.log));
        Some(Self { n, a, b, difference, low, high, ratio, ratio_low, ratio_high, finding })
    }

    /// The change from A to B as a fraction of A, with its confidence interval: by the ratios of the seeds, or by the
    /// means without ratios; `None` if the mean of A is zero.
    pub fn relative(&self) -> Option<(f64, Option<(f64, f64)>)> {
        if let Some(ratio) = self.ratio {
            let interval = self.ratio_low.zip(self.ratio_high);
            return Some((ratio - 1.0, interval.map(|(low, high)| (low - 1.0, high - 1.0))));
        }
        let of = |value: f64| value / self.a;
        let interval = self.low.zip(self.high).map(|(low, high)| (of(low), of(high)));
        (self.a > 0.0).then(|| (of(self.difference), interval))
    }
}

/// The mean of the logarithms of ratios, with half its 95 % confidence interval.
#[derive(Clone, Copy)]
struct Ratio {
    log: f64,
    half: f64,
}

impl Ratio {
    /// The ratios of these pairs; `None` if a value is not positive. Infinitely wide for less than two pairs.
    fn of(pairs: &[(Figure, Figure)]) -> Option<Self> {
        let n = pairs.len() as u64;
        let is_positive = pairs.iter().all(|(a, b)| a.value > 0.0 && b.value > 0.0);
        let logs = || pairs.iter().map(|(a, b)| log(b.value / a.value));
        let log = logs().sum::<f64>() / n as f64;
        let half = if n < MIN_VALUES { f64::INFINITY } else { half_width(logs(), log, n) };
        is_positive.then_some(Self { log, half })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_stored_as_they_are_printed() {
        for finding in [Finding::Significant, Finding::Constant, Finding::TooFewSeeds] {
            assert_eq!(serde_json::to_value(finding).unwrap(), finding.word());
        }
    }
}
