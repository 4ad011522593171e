//! Claims of papers as data: a metric of certain runs, the value of the paper, and the accepted range.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim about the results.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim as text.
    pub what: String,
    /// The label of its scheme.
    pub scheme: String,
    /// Its point; `None` for all points together.
    pub point: Option<String>,
    /// The field of a run, as in the summary: `throughput_bps`, `drops.data`, `credit.loss_rate`.
    pub metric: String,
    /// The start and the end of the window, in seconds, if it is a field of a window.
    pub window: Option<(f64, f64)>,
    /// The label of another scheme that the claim compares with, at the same seed. Also at the same point, unless
    /// `relative_point` names one.
    pub relative_to: Option<String>,
    /// The name of another point that the claim compares with, under the scheme of `relative_to` or its own.
    pub relative_point: Option<String>,
    /// Another field that the claim compares with, of the same run unless `relative_to` or `relative_point` name
    /// another.
    pub relative_metric: Option<String>,
    /// Whether the comparison is a difference in `unit`, and not a ratio.
    pub difference: bool,
    /// The divisor that converts the field to `unit`.
    pub scale: f64,
    /// The unit of the figures.
    pub unit: String,
    /// How figures of several seeds and points are combined.
    pub seeds: Seeds,
    /// The value of the paper, in `unit`.
    pub paper: Option<f64>,
    /// The place in the paper.
    pub source: String,
    /// The accepted range, both ends included.
    pub range: Range,
    /// The known difference from the paper, if there is one.
    pub differs: Option<Differs>,
    /// True if the claim is not judged in a quick run.
    pub full_only: bool,
}

impl Claim {
    /// The subject as text: `flashpass against cubic, load 0.4`.
    pub fn subject(&self) -> String {
        let sign = if self.difference { "less" } else { "against" };
        let against = |other: &Option<String>| {
            other.as_ref().map_or_else(String::new, |other| format!(" {sign} {other}"))
        };
        let scheme = format!("{}{}", self.scheme, against(&self.relative_to));
        match &self.point {
            None => format!("{scheme}{}", against(&self.relative_point)),
            Some(point) => format!("{scheme}, {point}{}", against(&self.relative_point)),
        }
    }

    /// The metric as an expression of fields of runs: `drops.data`, or
    /// `fct.small.p99_s / fct.small.p99_s of cubic`.
    pub fn expression(&self) -> String {
        let window =
            self.window.map_or_else(String::new, |(from, to)| format!(" from {from} s to {to} s"));
        let own = format!("{}{window}", self.metric);
        let (scheme, point) = (self.relative_to.as_ref(), self.relative_point.as_ref());
        if scheme.is_none() && point.is_none() && self.relative_metric.is_none() {
            return own;
        }
        let sign = if self.difference { "-" } else { "/" };
        let metric = self.relative_metric.as_ref().unwrap_or(&self.metric);
        let scheme = scheme.map_or_else(String::new, |name| format!(" of {name}"));
        let point = point.map_or_else(String::new, |name| format!(" at {name}"));
        format!("{own} {sign} {metric}{window}{scheme}{point}")
    }
}

/// A range of numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The smallest; `None` for no bound.
    pub low: Option<f64>,
    /// The largest; `None` for no bound.
    pub high: Option<f64>,
}

impl Range {
    /// True if this number lies in the range.
    pub fn holds(&self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }
}

/// A known difference from a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// The range in which the figure is expected instead.
    pub range: Range,
    /// The reason, in a line; docs/reproduction.md has the details.
    pub why: String,
}

/// How figures of several seeds are combined.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Seeds {
    /// Every figure must lie in the range; the one nearest to an end, or farthest outside, is shown.
    #[default]
    Each,
    /// The mean must lie in the range.
    Mean,
}
