//! What seeds show of two schemes: that one mean is larger, that both are equal but for a practical bound, or neither.
//! The evidence is the 98 % confidence interval of the paired differences of the logarithms, over the seeds that both
//! have. Logarithms, because completion times of seeds differ by factors: an interval of plain differences holds zero
//! whenever one seed of five takes a hundred times longer than the others. 98 %, because a headline makes several
//! statements: with 95 %, 23 of 2,000 random headlines were false, with 98 % 11, with 99 % 5 but twice as many clear
//! differences were not decided (`view/tests/it/true_words`).
//! Where a workload has several groups, the headline makes three times as many statements, so the level is 99.3 %; in a
//! sweep five times as many, and the level is 99.7 %. The standard deviation of three seeds is sometimes small by
//! chance. It is therefore combined with the median of the other schemes' ([`Level::beside`]; Smyth 2004), which
//! decides more clear differences than a level of 99 % alone, with fewer errors.
//! A bootstrap over seeds, and over the flows within each, was tried for 99th percentiles and is not used: three seeds
//! are too few to draw from. Of what its 98 % intervals ranked with three seeds, 48 of 1,153 pairs were ranked falsely;
//! of what Student's t ranked, 19 of 750.
//! Sources: Smyth 2004 (moderated t: a prior variance that counts as much as some degrees of freedom);
//! NIST/SEMATECH e-Handbook of Statistical Methods, 7.3.1.1 (paired observations);
//! Schuirmann 1987 (equivalence: the interval lies within the bound).

use crate::aggregate::{MIN_VALUES, StudentT};
use libm::{log, sqrt};

/// Means that differ by a smaller fraction are equal for every practical purpose.
pub const BOUND: f64 = 0.05;

/// What is shown of the second mean, compared with the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The second is smaller.
    Less,
    /// The second is larger.
    More,
    /// They differ by less than [`BOUND`].
    Alike,
    /// The seeds do not tell.
    Nothing,
}

/// The paired differences of two schemes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The number of seeds that both have.
    pub n: u64,
    /// The second mean less the first, as a fraction of the larger one.
    means: f64,
    /// The mean of the differences of the logarithms; of the plain differences, as fractions of the larger mean, if a
    /// value is not positive.
    difference: f64,
    /// The standard deviation of these differences; zero for less than two seeds.
    deviation: f64,
    /// The logarithm of `1 + BOUND`, or `BOUND` for plain differences.
    bound: f64,
}

/// The mean and the standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, if values.len() < 2 { 0.0 } else { sqrt(squares / (n - 1.0)) })
}

impl Contrast {
    /// The contrast of pairs of values, one for each seed; `None` without pairs.
    #[must_use]
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        let n = pairs.len() as u64;
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n as f64;
        let (a, b) = (mean(|pair| pair.0), mean(|pair| pair.1));
        let largest = a.abs().max(b.abs());
        let fraction = |difference: f64| if largest > 0.0 { difference / largest } else { 0.0 };
        let is_positive = pairs.iter().all(|&(a, b)| a > 0.0 && b > 0.0);
        let differences = pairs.iter().map(|&(a, b)| if is_positive { log(b / a) } else { fraction(b - a) });
        let (difference, deviation) = moments(&differences.collect::<Vec<f64>>());
        let bound = if is_positive { log(1.0 + BOUND) } else { BOUND };
        (n > 0).then_some(Self { n, means: fraction(b - a), difference, deviation, bound })
    }

    /// What the seeds show. The means and the mean of the logarithms must agree on which is larger.
    pub fn shown(&self, level: Level) -> Shown {
        if self.n < MIN_VALUES {
            return Shown::Nothing;
        }
        let half = level.half_width(self.n, self.deviation);
        match self.difference {
            of if of.abs() + half <= self.bound && self.is_near() => Shown::Alike,
            of if of > half && self.means > 0.0 => Shown::More,
            of if of < -half && self.means < 0.0 => Shown::Less,
            _ => Shown::Nothing,
        }
    }

    /// The standard deviation of the differences, if there are enough for one.
    pub fn deviation(&self) -> Option<f64> {
        (self.n >= MIN_VALUES).then_some(self.deviation)
    }

    /// Whether the means differ by less than [`BOUND`].
    pub fn is_near(&self) -> bool {
        self.means.abs() <= BOUND
    }

    /// The number of seeds that would do, if these differences are typical; `None` for less than three seeds, whose
    /// deviation says too little, for more than [`MAX_SEEDS`], and if means and logarithms contradict each other.
    pub fn seeds_needed(&self, level: Level) -> Option<u64> {
        let size = self.difference.abs();
        let is_one_way = (self.difference > 0.0) == (self.means > 0.0) || self.is_near();
        // Either the difference or its distance from the bound has to be told from zero.
        let target = size.max(self.bound - size);
        let enough = |n: &u64| level.half_width(*n, self.deviation) <= target;
        let can_tell = self.n >= MIN_VALUES && is_one_way;
        if can_tell { (self.n + 1..=MAX_SEEDS).find(enough) } else { None }
    }
}

/// The largest number of seeds that is given as advice.
pub const MAX_SEEDS: u64 = 1000;

/// How sure a statement has to be.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    quantiles: StudentT,
    /// The deviation of other differences, which counts as much as one degree of freedom.
    typical: Option<f64>,
}

impl Level {
    /// For a headline with few statements.
    pub const USUAL: Self = Self { quantiles: T98, typical: None };
    /// For differences that are told because they are the largest of many, of which chance makes some large.
    pub const FIRM: Self = Self { quantiles: T99, typical: None };

    /// For a headline with many statements: 99.3 %, and 99.7 % for a sweep, moderated by the median deviation of other
    /// differences, if there are any, of two the smaller one.
    #[must_use]
    pub fn beside(mut deviations: Vec<f64>, is_sweep: bool) -> Self {
        deviations.sort_by(f64::total_cmp);
        let typical = deviations.get(deviations.len().saturating_sub(1) / 2).copied();
        Self { quantiles: if is_sweep { T997 } else { T993 }, typical }
    }

    /// Half the width of the confidence interval of a mean of `n` differences, at least two.
    fn half_width(self, n: u64, deviation: f64) -> f64 {
        let freedom = (n - 1) as f64;
        let Some(typical) = self.typical else {
            return self.quantiles.quantile(n - 1) * deviation / sqrt(n as f64);
        };
        let variance = (typical * typical + freedom * deviation * deviation) / (freedom + 1.0);
        self.quantiles.quantile(n) * sqrt(variance / n as f64)
    }
}

const T98: StudentT = StudentT { level: 0.98, normal: 2.326_347_874 };
const T99: StudentT = StudentT { level: 0.99, normal: 2.575_829_304 };
const T993: StudentT = StudentT { level: 0.993, normal: 2.696_844_261 };
const T997: StudentT = StudentT { level: 0.997, normal: 2.967_737_925 };
