//! Claims with their verdicts and measured figures.

use crate::claim::{Claim, Kind, Seeds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether the measured figures agree with a claim. Verdicts are ordered: each is worse than those above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The figure was measured, but the claim has no accepted range.
    Reported,
    /// The figure lies in the accepted range.
    Holds,
    /// The figure lies outside the accepted range, but inside another range where it is known to lie, for a reason that
    /// was traced.
    Differs,
    /// Flows did not finish, so that the figure is only a bound: the exact one may lie inside or outside the range.
    Undecided,
    /// The figure lies outside the accepted range and outside the one where it is known to lie, or a finished run has
    /// no such figure.
    Fails,
    /// Not all runs that the claim is about were made, or this is a quick run and only full runs judge the claim.
    #[serde(rename = "not run")]
    NotRun,
}

// In the order in which summaries count them.
names! { Verdict::word {
    Reported = "reported", Holds = "holds", Differs = "differs", Undecided = "undecided", Fails = "fails",
    NotRun = "not run",
} }

/// How the exact value may differ from a figure that depends on unfinished flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Bound {
    /// The figure is a lower bound: it can only grow when the flows complete.
    #[serde(rename = "at least")]
    AtLeast,
    /// The figure is an upper bound: it is a ratio to, or a difference from, a base with unfinished flows.
    #[serde(rename = "at most")]
    AtMost,
    /// The exact value may be larger or smaller: the figure and the base of its comparison both have unfinished flows.
    #[serde(rename = "open")]
    Open,
}

impl Bound {
    /// The sign before the figure in tables: ≥, ≤ or ?.
    pub const fn sign(self) -> &'static str {
        match self {
            Self::AtLeast => "≥",
            Self::AtMost => "≤",
            Self::Open => "?",
        }
    }
}

/// A claim with its verdict. All figures are in `unit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedClaim {
    /// The claim in words, without scheme and point.
    pub what: String,
    /// What the claim is evidence of.
    #[serde(default)]
    pub kind: Kind,
    /// The scheme and the point that the claim is about, and those of the base of a comparison.
    pub subject: String,
    /// The label of the scheme that the claim is about.
    pub scheme: String,
    /// The name of the point that the claim is about; null for all points.
    pub point: Option<String>,
    /// The metric, by its path in `Run`; a comparison has the paths of both metrics, such as `fct.small.p99_s /
    /// fct.small.p99_s of cubic`.
    pub metric: String,
    /// How the figures of several seeds and points are judged.
    pub seeds: Seeds,
    /// The figure in the paper; null if the paper gives none.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub paper: Option<f64>,
    /// The second end of the paper's range, whose first end is `paper`; null if the paper gives one figure.
    #[serde(default)]
    #[schemars(extend("unit" = "as `unit` says"))]
    pub paper_to: Option<f64>,
    /// The lower end of the accepted range; null if there is none.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub low: Option<f64>,
    /// The upper end of the accepted range; null if there is none.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub high: Option<f64>,
    /// The measured figure: the mean over seeds and points, or the one that decides if each is judged. Null if none was
    /// measured.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub measured: Option<f64>,
    /// How the exact value may differ from `measured`, since flows did not finish; null if `measured` is exact.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// The smallest of the figures of all seeds and points.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub measured_min: Option<f64>,
    /// The largest of the figures of all seeds and points.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub measured_max: Option<f64>,
    /// The unit of all figures of the claim; empty for ratios and plain numbers.
    pub unit: String,
    /// Whether the claim holds, by the measured figure.
    pub verdict: Verdict,
    /// Why the claim has its verdict; empty if it simply holds.
    pub why: String,
    /// The shipped experiment whose recorded runs show why the claim differs; null if there is none.
    #[serde(default)]
    pub run: Option<String>,
    /// Where the paper has the figure.
    pub source: String,
}

impl JudgedClaim {
    /// A judged claim with no measured figure; `why` is the reason.
    #[must_use]
    pub fn without_figure(claim: &Claim, verdict: Verdict, why: String) -> Self {
        Self {
            what: claim.what.clone(),
            kind: claim.kind,
            subject: claim.subject(),
            scheme: claim.scheme.clone(),
            point: claim.point.clone(),
            metric: claim.expression(),
            seeds: claim.seeds,
            paper: claim.paper,
            paper_to: claim.paper_to,
            low: claim.range.low,
            high: claim.range.high,
            measured: None,
            bound: None,
            measured_min: None,
            measured_max: None,
            unit: claim.unit.clone(),
            verdict,
            why,
            run: claim.differs.as_ref().filter(|_| verdict == Verdict::Differs).and_then(|it| it.run.clone()),
            source: claim.source.clone(),
        }
    }

    /// The subject and the claim in words: `cubic, load 0.4: ...`.
    pub fn label(&self) -> String {
        format!("{}: {}", self.subject, self.what)
    }
}
