//! The question of `[advise]`: an objective and bounds, on the metrics of claims.

use crate::claim_fields;
use crate::table::significant;
use crate::units::{NONE, Quantity, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the best candidate has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Question {
    /// The path of the objective in a run, such as `fct.all.p99_s`.
    pub metric: String,
    /// Whether the largest objective is the best one; otherwise the smallest.
    pub maximise: bool,
    /// The bounds that the best candidate meets.
    pub bounds: Vec<Bounded>,
    /// The computing time of the race, in minutes.
    #[schemars(extend("unit" = "min"))]
    pub minutes: f64,
    /// The number of runs of the full duration that the race may cost, in place of `minutes`.
    #[schemars(extend("unit" = "runs"))]
    pub runs: Option<u64>,
}

/// A bound of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounded {
    /// The bound as written: `loss_rate <= 1e-5`.
    pub text: String,
    /// The path of the metric.
    pub metric: String,
    /// Whether `bound` is the least value that is accepted; otherwise it is the largest.
    pub at_least: bool,
    /// The bound, in the unit of the metric.
    #[schemars(extend("unit" = "as the metric"))]
    pub bound: f64,
}

impl Bounded {
    /// Reads `METRIC <= NUMBER UNIT` or `METRIC >= NUMBER UNIT`.
    ///
    /// # Errors
    /// In words, if the text has no comparison, no number, or a unit that the metric does not have.
    pub fn parse(text: &str) -> Result<Self, String> {
        // Names of ports have a `>`: `queues.left>right.p99_bytes <= 30 KB`.
        let signs = ["<=", ">="].into_iter().filter_map(|sign| Some((text.rfind(sign)?, sign)));
        let Some((at, sign)) = signs.max() else {
            return Err(format!("\"{text}\" has no <= and no >="));
        };
        let (metric, right) = (canonical(text[..at].trim()), text[at + sign.len()..].trim());
        let number = |end: &usize| right.is_char_boundary(*end) && right[..*end].trim().parse::<f64>().is_ok();
        let end = (1..=right.len()).rev().find(number).ok_or_else(|| format!("\"{right}\" is no number"))?;
        let (value, unit) = (right[..end].trim().parse().unwrap_or(f64::NAN), right[end..].trim());
        let quantity = claim_fields::quantity(&metric);
        let factor = quantity.factor(unit).ok_or_else(|| {
            let units: Vec<String> = quantity.units().map(Unit::ascii).filter(|name| !name.is_empty()).collect();
            let units = if units.is_empty() { "a bare number".to_owned() } else { units.join(", ") };
            format!("\"{unit}\" is no unit of {metric}: {units}")
        })?;
        let bound: f64 = value * factor;
        if !bound.is_finite() {
            return Err(format!("\"{right}\" is no bound"));
        }
        Ok(Self { text: text.trim().to_owned(), metric, at_least: sign == ">=", bound })
    }

    /// By which fraction a value misses the bound; not above zero if it meets the bound. For a bound of zero, the
    /// distance.
    pub fn excess(&self, value: Option<f64>) -> f64 {
        let size = if self.bound.abs() > 0.0 { self.bound.abs() } else { 1.0 };
        let over = value.map_or(f64::INFINITY, |value| (value - self.bound) / size);
        if self.at_least && value.is_some() { -over } else { over }
    }
}

impl Bounded {
    /// The unit in which a column shows the values: the one of the bound, or one that suits them.
    pub fn unit(&self, values: impl IntoIterator<Item = f64>) -> Unit {
        let quantity = claim_fields::quantity(&self.metric);
        let name = self.text.rsplit(|c: char| c.is_ascii_digit() || c == '.' || c == ' ').next().unwrap_or_default();
        match quantity.units().find(|unit| !name.is_empty() && unit.is_named(name)) {
            Some(unit) => unit,
            None if matches!(quantity, Quantity::Share | Quantity::Fraction) => NONE,
            None => unit_of(&self.metric, values.into_iter().chain([self.bound.abs()])),
        }
    }
}

/// The path of a metric as `summary.json` has it: with `groups.` for the `group.` of `--set`, and with the class `all`
/// for completion times without a class of sizes.
#[must_use]
pub fn canonical(path: &str) -> String {
    let path = path.strip_prefix("group.").map_or_else(|| path.to_owned(), |rest| format!("groups.{rest}"));
    let known = |rest: &str| ["all.", "small.", "medium.", "large."].iter().any(|class| rest.starts_with(class));
    match path.rfind("fct.") {
        Some(at) if (at == 0 || path[..at].ends_with('.')) && !known(&path[at + 4..]) => {
            format!("{}fct.all.{}", &path[..at], &path[at + 4..])
        }
        _ => path,
    }
}

/// The unit of the metric that suits the largest value.
pub fn unit_of(path: &str, values: impl IntoIterator<Item = f64>) -> Unit {
    let quantity = claim_fields::quantity(path);
    let most = values.into_iter().map(f64::abs).filter(|value| value.is_finite()).fold(0.0, f64::max);
    // Small fractions of packets are not rounded to 0 %.
    let is_small = matches!(quantity, Quantity::Share | Quantity::Fraction) && most < 1e-3;
    if is_small { NONE } else { Unit::for_largest([most], quantity.shown()) }
}

/// A value with its unit: "5.31 ms".
pub fn shown(unit: Unit, value: f64, interval: Option<(f64, f64)>) -> String {
    let space = if unit.name.is_empty() { "" } else { " " };
    let put = |value: f64| significant(unit.put(value));
    let interval = interval.map_or_else(String::new, |(low, high)| format!(" [{}, {}]", put(low), put(high)));
    format!("{}{interval}{space}{}", put(value), unit.ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_a_metric_a_comparison_and_a_number_with_a_unit() {
        for (text, metric, bound, met, missed) in [
            ("loss_rate <= 1e-5", "loss_rate", 1e-5, 0.0, 2e-5),
            ("utilization>=90%", "utilization", 0.9, 0.95, 0.8),
            ("group.web.fct.p99_s <= 5 ms", "groups.web.fct.all.p99_s", 5e-3, 4e-3, 6e-3),
            ("queues.left>right.p99_bytes <= 30KB", "queues.left>right.p99_bytes", 3e4, 1.0, 4e4),
        ] {
            let read = Bounded::parse(text).unwrap();
            assert_eq!(read.metric, metric);
            assert!((read.bound - bound).abs() < 1e-12, "{read:?}");
            assert!(read.excess(Some(met)) <= 0.0 && read.excess(Some(missed)) > 0.0 && read.excess(None) > 0.0);
        }
        for (text, word) in [("loss_rate", "<="), ("loss_rate <= few", "number"), ("loss_rate <= 3 ms", "loss_rate: %")]
        {
            assert!(Bounded::parse(text).unwrap_err().contains(word), "{text}");
        }
    }

    #[test]
    fn values_are_shown_in_units_that_suit_them() {
        let of = |path: &str, value: f64| shown(unit_of(path, [value]), value, Some((0.005, 0.006)));
        assert_eq!(of("fct.small.p99_s", 0.00531), "5.310 [5, 6] ms");
        assert_eq!(
            (of("loss_rate", 2.5e-6), of("loss_rate", 0.25)),
            ("2.500e-6 [5.000e-3, 6.000e-3]".into(), "25 [0.5000, 0.6000] %".into())
        );
        // All of a column have the unit of the bound, or one that suits the largest.
        for (text, values, unit) in [
            ("loss_rate <= 1e-3", [3e-4, 0.3], ""),
            ("loss_rate <= 0.1 %", [3e-4, 3e-6], "%"),
            ("goodput_bps >= 900Mbps", [2e9, 3e9], "Mb/s"),
            ("rtt.mean_s <= 0.005", [1e-4, 2.0], "s"),
        ] {
            assert_eq!(Bounded::parse(text).unwrap().unit(values).name, unit, "{text}");
        }
    }
}
