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
    /// The figure lies outside both, or a run that ended did not measure it.
    #[serde(rename = "fails")]
    Fails,
    /// Not all of the runs that the claim is about were made, or it is judged in full runs only.
    #[serde(rename = "not run")]
    NotRun,
}

impl Verdict {
    /// All verdicts, in the order in which they are counted.
    pub const ALL: [Self; 5] =
        [Self::Reported, Self::Holds, Self::Differs, Self::Fails, Self::NotRun];

    /// The verdict as it is printed and stored.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Reported => "reported",
            Self::Holds => "holds",
            Self::Differs => "differs",
            Self::Fails => "fails",
            Self::NotRun => "not run",
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
    pub paper: Option<f64>,
    /// The lower end of the accepted range; null for no bound.
    pub low: Option<f64>,
    /// The upper end of the accepted range; null for no bound.
    pub high: Option<f64>,
    /// The measured figure: the mean, or of several figures the one that decides.
    pub measured: Option<f64>,
    /// The smallest figure of any seed and point.
    pub measured_min: Option<f64>,
    /// The largest figure of any seed and point.
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
            measured_min: None,
            measured_max: None,
            unit: claim.unit.clone(),
            verdict,
            why,
            source: claim.source.clone(),
        }
    }

    /// The claim as text, after its subject.
    #[must_use]
    pub fn label(&self) -> String {
        format!("{}: {}", self.subject, self.what)
    }
}
