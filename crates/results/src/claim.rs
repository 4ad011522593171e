//! Claims of papers as data: a metric of some runs, the figure in the paper, and the accepted range.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A claim about a metric of one scheme, perhaps compared with another run, and the range in which it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim in words, without its scheme and point.
    pub what: String,
    /// What the claim is evidence of.
    pub kind: Kind,
    /// The label of the scheme that the claim is about.
    pub scheme: String,
    /// The name of the point that the claim is about; `None` for all points.
    pub point: Option<String>,
    /// The path of the metric in `Run`: `throughput_bps`, `drops.data`, `credit.loss_rate`.
    pub metric: String,
    /// The start and the end of a window, in seconds, if `metric` is a metric of that window.
    pub window: Option<(f64, f64)>,
    /// The label of another scheme whose run, at the same seed, is the base of the comparison. Its point is the same,
    /// too, unless `relative_point` names another.
    pub relative_to: Option<String>,
    /// The name of another point whose run is the base of the comparison, under the scheme of `relative_to` or
    /// `scheme`.
    pub relative_point: Option<String>,
    /// Another metric that is the base of the comparison. Its run is the same unless `relative_to` or `relative_point`
    /// name another.
    pub relative_metric: Option<String>,
    /// The base of the comparison is the figure of this rank: 1 is the smallest. All schemes are ranked, at the point
    /// and the seed of the claim's run.
    pub relative_rank: Option<usize>,
    /// Whether the claim is about the difference from the base, in `unit`, and not about the ratio.
    pub difference: bool,
    /// Divides `metric`, in the unit of `summary.json`, to convert it to `unit`.
    pub scale: f64,
    /// The unit of `paper`, `range` and measured figures, such as `ms`; empty for the unit of `summary.json` and for
    /// ratios.
    pub unit: String,
    /// How the figures of several seeds and points are judged: each or their mean.
    pub seeds: Seeds,
    /// The figure in the paper, in `unit`; `None` if the paper has no number.
    pub paper: Option<f64>,
    /// The second end of the paper's range, whose first end is `paper`; `None` if the paper has one number.
    pub paper_to: Option<f64>,
    /// Where the paper has the figure.
    pub source: String,
    /// The range, in `unit`, in which the claim holds.
    pub range: Range,
    /// The range in which the figure lies instead, for a known reason.
    pub differs: Option<Differs>,
    /// True if quick runs do not judge the claim.
    pub full_only: bool,
}

impl Claim {
    /// What the claim is about, in words: `flashpass against cubic, load 0.4`.
    pub fn subject(&self) -> String {
        let sign = if self.difference { "less" } else { "against" };
        let against =
            |other: &Option<String>| other.as_ref().map_or_else(String::new, |other| format!(" {sign} {other}"));
        let scheme = format!("{}{}", self.scheme, against(&self.relative_to));
        let rank = self.relative_rank.map_or_else(String::new, |rank| format!(" {sign} number {rank} of all"));
        let scheme = scheme + &rank;
        match &self.point {
            None => format!("{scheme}{}", against(&self.relative_point)),
            Some(point) => format!("{scheme}, {point}{}", against(&self.relative_point)),
        }
    }

    /// What the claim measures, as an expression: `drops.data`, or `fct.small.p99_s / fct.small.p99_s of cubic`.
    pub fn expression(&self) -> String {
        let window = self.window.map_or_else(String::new, |(from, to)| format!(" from {from} s to {to} s"));
        let own = format!("{}{window}", self.metric);
        let (scheme, point) = (self.relative_to.as_ref(), self.relative_point.as_ref());
        if !self.is_relative() {
            return own;
        }
        let sign = if self.difference { "-" } else { "/" };
        let metric = self.relative_metric.as_ref().unwrap_or(&self.metric);
        let scheme = scheme.map_or_else(String::new, |name| format!(" of {name}"));
        let point = point.map_or_else(String::new, |name| format!(" at {name}"));
        let rank = self.relative_rank.map_or_else(String::new, |rank| format!(", number {rank} of all"));
        format!("{own} {sign} {metric}{window}{scheme}{point}{rank}")
    }

    /// Whether the claim compares a figure with another, by ratio or difference.
    pub fn is_relative(&self) -> bool {
        let others = [&self.relative_to, &self.relative_point, &self.relative_metric];
        self.relative_rank.is_some() || others.into_iter().any(Option::is_some)
    }
}

/// A range of numbers from `low` to `high`, both included.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The smallest number in the range; `None` if any is small enough.
    pub low: Option<f64>,
    /// The largest number in the range; `None` if any is large enough.
    pub high: Option<f64>,
}

/// What a claim is evidence of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The value in the paper, a number or a range.
    Paper,
    /// What the paper says without a number: who is better than whom, a trend, a rank.
    Order,
    /// What real kernels do, beside the simulator's model of them.
    Kernel,
    /// A statement of the scenario's author.
    #[default]
    Own,
    /// What cannot fail whatever the transports do: a test of the simulator, and no evidence.
    Invariant,
}

// In the order in which summaries count them.
names! { Kind::word {
    Paper = "paper", Order = "order", Kernel = "kernel", Own = "own", Invariant = "invariant",
} }

/// A known deviation from a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// The range in which the figure is expected in place of the range of the claim.
    pub range: Range,
    /// The reason, in a line; docs/reproduction.md has the details.
    pub why: String,
    /// The shipped experiment whose recorded runs show the reason.
    pub run: Option<String>,
}

/// How the figures of several seeds and points are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Seeds {
    /// Every figure must lie in the range. The one nearest to an end of the range, or farthest outside, is shown.
    #[default]
    Each,
    /// The mean of the figures must lie in the range.
    Mean,
}
