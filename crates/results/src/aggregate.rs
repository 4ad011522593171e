//! Means over seeds with 95 % confidence intervals, by Student's t: seeds are independent draws of one experiment.
//! Sources: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.2 (the interval); Abramowitz and Stegun, 26.7.3 and
//! 26.7.4 (the distribution of t), 26.7.5 (the expansion).

use crate::design::Job;
use crate::metrics::{Figure, Metric, WALL, estimates};
use crate::summary::{Run, is_false};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Means over all finished seeds of one scheme at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// The label of the scheme whose runs were averaged.
    pub scheme: String,
    /// Values of the varied scenario keys at this point, by key.
    pub point: BTreeMap<String, Value>,
    /// The number of runs averaged, one for each seed.
    #[schemars(extend("unit" = "runs"))]
    pub n: u64,
    /// The mean of each metric by its path in `Run`, such as `throughput_bps` or `fct.all.p99_s`; also of `loss_by_set`
    /// and `utilization_by_place`. Lists and the computing time have no mean.
    pub metrics: BTreeMap<String, Estimate>,
}

impl Aggregate {
    /// The mean of a metric; `None` if no run has the metric.
    pub fn get(&self, metric: &Metric) -> Option<&Estimate> {
        self.metrics.get(metric.path)
    }
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean over the runs that have the metric.
    #[schemars(extend("unit" = "as the metric"))]
    pub mean: f64,
    /// Half the width of the 95 % confidence interval around `mean`, not clipped to possible values; null where `low`
    /// is.
    #[schemars(extend("unit" = "as the metric"))]
    pub ci95: Option<f64>,
    /// The lower end of the 95 % confidence interval, clipped to values that the metric can take. Null for fewer than
    /// three runs, for a value that is equal in all runs, and if the mean is a lower bound.
    #[serde(default)]
    #[schemars(extend("unit" = "as the metric"))]
    pub low: Option<f64>,
    /// The upper end of the 95 % confidence interval, clipped to values that the metric can take; null where `low` is.
    #[serde(default)]
    #[schemars(extend("unit" = "as the metric"))]
    pub high: Option<f64>,
    /// The smallest value of a run.
    #[serde(default)]
    #[schemars(extend("unit" = "as the metric"))]
    pub min: f64,
    /// The largest value of a run.
    #[serde(default)]
    #[schemars(extend("unit" = "as the metric"))]
    pub max: f64,
    /// The number of runs that have the metric; in the others its value is null.
    #[schemars(extend("unit" = "runs"))]
    pub n: u64,
    /// True if the value of a run is a lower bound because flows did not finish; the mean is then a lower bound, too.
    /// Left out otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_least: bool,
    /// True if the metric is a percentile beyond which less than one flow of a run is expected. Left out otherwise.
    #[serde(default, skip_serializing_if = "is_false")]
    pub few_samples: bool,
}

/// Fewer values have no confidence interval. With two, the interval would reach 12.7 times (Student's t) as far from
/// the mean as the values.
pub const MIN_VALUES: u64 = 3;

impl Estimate {
    /// The mean of `figures`, with its interval clipped to possible values (`least` to `most`); `None` without figures.
    #[must_use]
    pub fn from_figures(figures: &[Figure], (least, most): (f64, f64)) -> Option<Self> {
        let n = figures.len() as u64;
        let values = || figures.iter().map(|figure| figure.value);
        let (min, max) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        // The sum of equal values, divided by their number, need not be that value.
        let equal = min.total_cmp(&max).is_eq();
        let mean = if equal { min } else { values().sum::<f64>() / n as f64 };
        let at_least = figures.iter().any(|figure| figure.at_least);
        let ci95 = (n >= MIN_VALUES && !equal && !at_least).then(|| half_width(values(), mean, n));
        let few_samples = figures.iter().any(|figure| figure.few_samples);
        let (low, high) = (ci95.map(|half| mean - half), ci95.map(|half| mean + half));
        let (low, high) = (low.map(|low| low.max(least)), high.map(|high| high.min(most)));
        (n > 0).then_some(Self { mean, ci95, low, high, min, max, n, at_least, few_samples })
    }

    /// Whether there are several runs and all have one value.
    pub fn is_equal(&self) -> bool {
        self.n > 1 && self.min.total_cmp(&self.max).is_eq()
    }
}

/// Half the width of the 95 % confidence interval of a mean of `n` values.
pub(crate) fn half_width(values: impl Iterator<Item = f64>, mean: f64, n: u64) -> f64 {
    let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
    let deviation = (squares / (n - 1) as f64).sqrt();
    quantile(n - 1) * deviation / (n as f64).sqrt()
}

/// Averages runs for each scheme at each point, in the order of the jobs.
pub fn aggregate(runs: &[(Job, &Run)]) -> Vec<Aggregate> {
    let groups = runs.chunk_by(|(a, _), (b, _)| (a.point, a.scheme) == (b.point, b.scheme));
    let one = |group: &[(Job, &Run)]| {
        let runs: Vec<&Run> = group.iter().map(|(_, run)| *run).collect();
        let first = *runs.first()?;
        let mut metrics = estimates(&runs);
        // The computing time differs between repetitions.
        metrics.remove(WALL.path);
        let (scheme, point) = (first.scheme.clone(), first.point.clone());
        Some(Aggregate { scheme, point, n: runs.len() as u64, metrics })
    };
    groups.filter_map(one).collect()
}

/// A quantile of Student's t for one level of confidence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StudentT {
    /// The part of the distribution within the quantile of zero.
    pub level: f64,
    /// The quantile of the normal distribution.
    pub normal: f64,
}

impl StudentT {
    /// With this number of degrees of freedom; infinite for zero. Up to 30 the quantile is found by bisection, as the
    /// tangent of an angle.
    pub fn quantile(self, freedom: u64) -> f64 {
        if freedom > 30 {
            return normal_expansion(self.normal, freedom);
        }
        let (mut low, mut high) = (0.0, std::f64::consts::FRAC_PI_2);
        for _ in 0..52 {
            let middle = f64::midpoint(low, high);
            *(if within(middle, freedom) < self.level { &mut low } else { &mut high }) = middle;
        }
        if freedom == 0 { f64::INFINITY } else { libm::tan(high) * libm::sqrt(freedom as f64) }
    }
}

/// The part of Student's t within the tangent of this angle, times the root of the degrees of freedom, of zero.
fn within(angle: f64, freedom: u64) -> f64 {
    let (sine, cosine, is_odd) = (libm::sin(angle), libm::cos(angle), freedom % 2 == 1);
    let (mut term, mut sum) = (if is_odd { cosine } else { 1.0 }, 0.0);
    for step in (2 + freedom % 2..=freedom).step_by(2) {
        sum += term;
        term *= cosine * cosine * (step - 1) as f64 / step as f64;
    }
    if is_odd { (angle + sine * sum) * std::f64::consts::FRAC_2_PI } else { sine * sum }
}

/// The 97.5 % quantile of Student's t with `freedom` degrees of freedom; infinite for zero.
pub fn quantile(freedom: u64) -> f64 {
    StudentT { level: 0.95, normal: 1.959_963_985 }.quantile(freedom)
}

/// The quantile of Student's t of which `x` is that of the normal distribution, by the expansion around it to the third
/// term: exact to five digits beyond 30 degrees of freedom.
fn normal_expansion(x: f64, freedom: u64) -> f64 {
    let n = freedom as f64;
    let (x3, x5) = (x * x * x, x * x * x * x * x);
    let x7 = x5 * x * x;
    let first = (x3 + x) / 4.0;
    let second = (5.0 * x5 + 16.0 * x3 + 3.0 * x) / 96.0;
    let third = (3.0 * x7 + 19.0 * x5 + 17.0 * x3 - 15.0 * x) / 384.0;
    x + first / n + second / (n * n) + third / (n * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_handbook() {
        let of_95 =
            [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042), (31, 2.040), (60, 2.0), (100, 1.984)];
        for (freedom, t) in of_95 {
            assert!((quantile(freedom) - t).abs() < 6e-4, "{freedom}: {}", quantile(freedom));
        }
        assert!(quantile(0).is_infinite());
        let t98 = StudentT { level: 0.98, normal: 2.326_347_874 };
        let of_98 = [(1, 31.821), (2, 6.965), (3, 4.541), (10, 2.764), (30, 2.457), (40, 2.423), (100, 2.364)];
        let t99 = StudentT { level: 0.99, normal: 2.575_829_304 };
        let of_99 = [(1, 63.657), (2, 9.925), (3, 5.841), (10, 3.169), (30, 2.750), (40, 2.704), (100, 2.626)];
        for (level, table) in [(t98, of_98), (t99, of_99)] {
            for (freedom, t) in table {
                assert!((level.quantile(freedom) - t).abs() < 6e-4, "{freedom}: {}", level.quantile(freedom));
            }
            // Where the expansion begins, it continues what is found by bisection.
            let next = normal_expansion(level.normal, 30) - level.quantile(30);
            assert!(next.abs() < 5e-5, "{next}");
        }
    }
}
