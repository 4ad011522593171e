//! Recorded figures of full runs: what each run of an experiment measured for every claim, without the verdicts. The
//! files are in docs/reproduction/recorded; claims are judged by these figures with the ranges of today.

use serde::{Deserialize, Serialize};

use crate::claim::{Claim, Seeds};
use crate::judged::{Bound, JudgedClaim};

/// The record of a full run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// The version of shallop.
    pub version: String,
    /// The revision of the source code.
    pub revision: String,
    /// A digest of the results of the quick form at that revision. A full run is due when the quick form has another
    /// one. Missing in records that are older than the digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_digest: Option<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The figures of each claim.
    pub claims: Vec<RecordedClaim>,
}

/// The figures of a claim, with what identifies it: the text and the range of a claim may change, the metric may not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedClaim {
    /// [`JudgedClaim::scheme`].
    pub scheme: String,
    /// [`JudgedClaim::point`].
    pub point: Option<String>,
    /// [`JudgedClaim::metric`].
    pub metric: String,
    /// [`JudgedClaim::seeds`].
    pub seeds: Seeds,
    /// [`JudgedClaim::unit`].
    pub unit: String,
    /// [`JudgedClaim::measured`].
    pub measured: Option<f64>,
    /// [`JudgedClaim::bound`]. Left out if the figure is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// [`JudgedClaim::measured_min`].
    pub measured_min: Option<f64>,
    /// [`JudgedClaim::measured_max`].
    pub measured_max: Option<f64>,
}

/// The figures of a claim, all measured, in the unit of the claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedFigures {
    /// [`JudgedClaim::measured`].
    pub measured: f64,
    /// [`JudgedClaim::bound`].
    pub bound: Option<Bound>,
    /// [`JudgedClaim::measured_min`].
    pub min: f64,
    /// [`JudgedClaim::measured_max`].
    pub max: f64,
}

impl RecordedClaim {
    /// Whether these figures are of this claim.
    pub fn is_of(&self, claim: &Claim) -> bool {
        let own = (&self.scheme, &self.point, &self.metric, self.seeds, &self.unit);
        own == (&claim.scheme, &claim.point, &claim.expression(), claim.seeds, &claim.unit)
    }

    /// The figures; `None` if the run did not measure them.
    pub fn figures(&self) -> Option<RecordedFigures> {
        let (min, max) = (self.measured_min?, self.measured_max?);
        Some(RecordedFigures { measured: self.measured?, bound: self.bound, min, max })
    }
}

impl From<JudgedClaim> for RecordedClaim {
    fn from(claim: JudgedClaim) -> Self {
        let JudgedClaim { scheme, point, metric, seeds, unit, .. } = claim;
        let JudgedClaim { measured, bound, measured_min, measured_max, .. } = claim;
        Self { scheme, point, metric, seeds, unit, measured, bound, measured_min, measured_max }
    }
}
