//! Means over seeds with 95 % confidence intervals, by Student's t: seeds are independent draws of one experiment.
//! Sources: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.2 (the interval) and 1.3.6.7.2 (its table of t);
//! Abramowitz and Stegun, 26.7.5 (beyond that table).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::design::Job;
use crate::summary::Run;

/// Means over all finished seeds of one scheme at one point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aggregate {
    /// Label of the scheme.
    pub scheme: String,
    /// The keys that differ between points, with their values here.
    pub point: BTreeMap<String, Value>,
    /// The number of runs.
    pub n: u64,
    /// Every number of a run by its name, with dots: `throughput_bps`, `fct.all.p99_s`; without lists, values by port
    /// and the computing time.
    pub metrics: BTreeMap<String, Estimate>,
}

/// A mean with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The mean of the runs that have the figure.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval around it; null for a single run.
    pub ci95: Option<f64>,
    /// The number of runs that have the figure; it is null in the others.
    pub n: u64,
}

impl Estimate {
    /// The estimate from these figures; `None` if there are none.
    #[must_use]
    pub fn of(figures: &[f64]) -> Option<Self> {
        let n = figures.len();
        let mean = figures.iter().sum::<f64>() / n as f64;
        let squares: f64 = figures.iter().map(|figure| (figure - mean) * (figure - mean)).sum();
        let half = || {
            let deviation = (squares / (n - 1) as f64).sqrt();
            quantile(n as u64 - 1) * deviation / (n as f64).sqrt()
        };
        (n > 0).then(|| Self { mean, ci95: (n > 1).then(half), n: n as u64 })
    }
}

/// Fields that are no measurements, or differ between repetitions.
const EXCLUDED: [&str; 5] = ["seed", "point", "loss_by_place", "left_out", "wall_s"];

/// Aggregates of runs in the order of their jobs, for each scheme at each point.
#[must_use]
pub fn aggregate(runs: &[(Job, &Run)]) -> Vec<Aggregate> {
    let groups = runs.chunk_by(|(a, _), (b, _)| (a.point, a.scheme) == (b.point, b.scheme));
    let one = |group: &[(Job, &Run)]| {
        let first = group.first()?.1;
        let mut figures: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for (_, run) in group {
            if let Ok(Value::Object(fields)) = serde_json::to_value(run) {
                let fields = fields.iter().filter(|(name, _)| !EXCLUDED.contains(&name.as_str()));
                fields.for_each(|(name, value)| collect(name, value, &mut figures));
            }
        }
        let estimates = figures.into_iter();
        let metrics = estimates.filter_map(|(name, all)| Some((name, Estimate::of(&all)?)));
        Some(Aggregate {
            scheme: first.scheme.clone(),
            point: first.point.clone(),
            n: group.len() as u64,
            metrics: metrics.collect(),
        })
    };
    groups.filter_map(one).collect()
}

fn collect(name: &str, value: &Value, figures: &mut BTreeMap<String, Vec<f64>>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(inner, value)| {
                collect(&format!("{name}.{inner}"), value, figures);
            });
        }
        Value::Number(number) => {
            figures.entry(name.to_owned()).or_default().extend(number.as_f64());
        }
        _ => {}
    }
}

/// t for 1 to 30 degrees of freedom, 0.975.
const TABLE: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The quantile of Student's t that 97.5 % lie below, for so many degrees of freedom; infinite for none.
#[must_use]
pub fn quantile(freedom: u64) -> f64 {
    const NORMAL: f64 = 1.959_963_985;
    if let Some(at) = freedom.checked_sub(1) {
        if let Some(t) = TABLE.get(at as usize) {
            return *t;
        }
        // The expansion around the normal quantile, to the third term: exact to five digits from here on.
        let (x, n) = (NORMAL, freedom as f64);
        let (x3, x5) = (x * x * x, x * x * x * x * x);
        let x7 = x5 * x * x;
        let first = (x3 + x) / 4.0;
        let second = (5.0 * x5 + 16.0 * x3 + 3.0 * x) / 96.0;
        let third = (3.0 * x7 + 19.0 * x5 + 17.0 * x3 - 15.0 * x) / 384.0;
        return x + first / n + second / (n * n) + third / (n * n * n);
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_handbook() {
        let table = [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (30, 2.042)];
        let beyond = [(31, 2.040), (40, 2.021), (60, 2.000), (100, 1.984), (1_000_000, 1.960)];
        for (freedom, t) in table.into_iter().chain(beyond) {
            assert!((quantile(freedom) - t).abs() < 6e-4, "{freedom}: {}", quantile(freedom));
        }
        assert!(quantile(0).is_infinite());
    }

    #[test]
    fn the_interval_of_three_figures_is_as_by_hand() {
        let estimate = Estimate::of(&[8.0, 9.0, 10.0]).unwrap();
        // s = 1; 4.303 / sqrt(3) = 2.48434
        assert!((estimate.mean - 9.0).abs() < 1e-12);
        assert!((estimate.ci95.unwrap() - 2.484_34).abs() < 1e-4, "{estimate:?}");
        assert_eq!(estimate.n, 3);
    }

    #[test]
    fn one_figure_has_no_interval_and_equal_ones_an_empty_one() {
        assert_eq!(Estimate::of(&[7.0]), Some(Estimate { mean: 7.0, ci95: None, n: 1 }));
        assert_eq!(Estimate::of(&[7.0; 4]), Some(Estimate { mean: 7.0, ci95: Some(0.0), n: 4 }));
        assert_eq!(Estimate::of(&[]), None);
    }

    #[test]
    fn names_have_dots_and_nulls_do_not_count() {
        let mut figures = BTreeMap::new();
        for value in [Value::Null, 2.5.into()] {
            let run = serde_json::json!({ "all": { "p99_s": value }, "small": null, "list": [1] });
            collect("fct", &run, &mut figures);
        }
        assert_eq!(figures, BTreeMap::from([("fct.all.p99_s".to_owned(), vec![2.5])]));
    }
}
