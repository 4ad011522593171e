//! Claims beside what was measured: the verdicts, and a claim with its verdict.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Seeds};

/// Whether the measured figures agree with a claim. The verdicts are in order: each is worse than those before it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Verdict {
    /// The figure was measured, and the claim has no accepted range to judge it by.
    #[serde(rename = "reported")]
    Reported,
    /// The figure lies in the accepted range.
    #[serde(rename = "holds")]
    Holds,
    /// The figure lies outside the accepted range, but inside the band where it is known to lie, for a reason that was
    /// traced.
    #[serde(rename = "differs")]
    Differs,
    /// The figure is a bound, because flows did not finish, and values on both sides of an end of the range are
    /// possible.
    #[serde(rename = "undecided")]
    Undecided,
    /// The figure lies outside both, or a run that ended did not measure it.
    #[serde(rename = "fails")]
    Fails,
    /// Not all of the runs that the claim is about were made, or it is judged in full runs only.
    #[serde(rename = "not run")]
    NotRun,
}

impl Verdict {
    /// All verdicts, in the order in which they are counted.
    pub const ALL: [Self; 6] =
        [Self::Reported, Self::Holds, Self::Differs, Self::Undecided, Self::Fails, Self::NotRun];

    /// The verdict as it is printed and stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::Undecided => "undecided",
            Self::Fails => "fails",
            Self::NotRun => "not run",
        }
    }
}

/// How a figure is limited if flows that it depends on did not finish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Bound {
    /// It is a lower bound: complete flows could only make it larger.
    #[serde(rename = "at least")]
    AtLeast,
    /// It is an upper bound: the flows of what it is compared with did not finish.
    #[serde(rename = "at most")]
    AtMost,
    /// It may be larger or smaller: flows of both sides did not finish.
    #[serde(rename = "open")]
    Open,
}

impl Bound {
    /// The sign before the figure in tables.
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
    /// The claim as text, without its subject.
    pub what: String,
    /// The subject of the claim as text: its scheme and point, and those with which they are compared.
    pub subject: String,
    /// The name of its scheme.
    pub scheme: String,
    /// The name of its point; null for all points together.
    pub point: Option<String>,
    /// The metric: a field of a run, possibly compared with another one, such as
    /// `fct.small.p99_s / fct.small.p99_s of cubic`.
    pub metric: String,
    /// How figures of several seeds and points are combined.
    pub seeds: Seeds,
    /// The value of the paper; null if it gives none.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub paper: Option<f64>,
    /// The lower end of the accepted range; null for no bound.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub low: Option<f64>,
    /// The upper end of the accepted range; null for no bound.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub high: Option<f64>,
    /// The measured figure: the mean, or of several figures the one that decides.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub measured: Option<f64>,
    /// How `measured` is limited if flows that it depends on did not finish; null if it is exact.
    #[serde(default)]
    pub bound: Option<Bound>,
    /// The smallest figure of any seed and point.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub measured_min: Option<f64>,
    /// The largest figure of any seed and point.
    #[schemars(extend("unit" = "as `unit` says"))]
    pub measured_max: Option<f64>,
    /// The unit of these figures.
    pub unit: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it differs, fails or was not run; may be empty.
    pub why: String,
    /// The place in the paper.
    pub source: String,
}

impl JudgedClaim {
    /// A claim without a figure, and the reason.
    #[must_use]
    pub fn without_figure(claim: &Claim, verdict: Verdict, why: String) -> Self {
        Self {
            what: claim.what.clone(),
            subject: claim.subject(),
            scheme: claim.scheme.clone(),
            point: claim.point.clone(),
            metric: claim.expression(),
            seeds: claim.seeds,
            paper: claim.paper,
            low: claim.range.low,
            high: claim.range.high,
            measured: None,
            bound: None,
            measured_min: None,
            measured_max: None,
            unit: claim.unit.clone(),
            verdict,
            why,
            source: claim.source.clone(),
        }
    }

    /// The claim as text, after its subject.
    pub fn label(&self) -> String {
        format!("{}: {}", self.subject, self.what)
    }
}
