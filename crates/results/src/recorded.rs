//! Records of full runs of the experiments (docs/reproduction/recorded): the measured figures of every claim, without
//! verdicts. Verdicts are computed from them with the accepted ranges of today.

use crate::claim::{Claim, Seeds};
use crate::judged::{Bound, JudgedClaim};
use serde::{Deserialize, Serialize};

/// The record of one full run of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// The version of shallop that made the run.
    pub version: String,
    /// The git revision of the source code that made the run.
    pub revision: String,
    /// A digest of the results of the quick form at `revision`. When the quick form of today has another digest, a new
    /// full run is due. Missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quick_digest: Option<String>,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    pub claims: Vec<RecordedClaim>,
}

/// The measured figures of one claim, with the fields that identify the claim: its words and its range may change
/// later. Fields are as in [`JudgedClaim`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedClaim {
    pub scheme: String,
    pub point: Option<String>,
    pub metric: String,
    pub seeds: Seeds,
    pub unit: String,
    pub measured: Option<f64>,
    /// Left out if `measured` is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    pub measured_min: Option<f64>,
    pub measured_max: Option<f64>,
}

/// The measured figures of a claim whose runs measured them, in the claim's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedFigures {
    pub measured: f64,
    /// How the exact value may differ from `measured`, since flows did not finish.
    pub bound: Option<Bound>,
    /// The smallest of the figures of all seeds and points.
    pub min: f64,
    /// The largest of the figures of all seeds and points.
    pub max: f64,
}

impl RecordedClaim {
    /// Whether the record is of this claim: scheme, point, metric, seeds and unit are equal.
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
