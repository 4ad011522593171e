//! A study: a checked scenario with the points, seeds and claims that `run`, `sweep` and `reproduce` work through.

use crate::plan::Plan;
use shallop_results::question::Question;
use shallop_results::{Claim, Design, Job, Point};
use std::collections::BTreeMap;

/// Plans that differ in a few keys, the seeds to run them with, and the claims about the results.
#[derive(Clone, Debug)]
pub struct Study {
    pub title: String,
    /// One line on what the scenario shows; may be empty.
    pub about: String,
    /// Approximate time of all jobs on one core, of the full and the quick form, as the scenario states it; may be
    /// empty.
    pub takes: (String, String),
    /// Whether this is the quick form of the scenario: changes under `[quick]` were applied, or points for full runs
    /// were left out.
    pub quick: bool,
    /// Notes to the user about options that have no effect, a sentence each.
    pub notes: Vec<String>,
    /// The points of the study, at least one. A scenario without points has one point without name and keys.
    pub points: Vec<Variant>,
    /// The run seeds, at least one. Every scheme of every point runs with each seed.
    pub seeds: Vec<u64>,
    pub claims: Vec<Claim>,
    /// The question of `shallop advise`, if the scenario has one.
    pub question: Option<Question>,
}

/// The plan of one point of a study.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The point's name; empty if the scenario has no points.
    pub name: String,
    /// The keys that the point sets, with their values as written.
    pub set: BTreeMap<String, serde_json::Value>,
    pub plan: Plan,
}

impl Study {
    /// The study without its plans: points, labels of schemes, seeds and claims.
    pub fn design(&self) -> Design {
        let point = |variant: &Variant| Point {
            name: variant.name.clone(),
            set: variant.set.clone(),
            schemes: variant.plan.schemes.iter().map(|scheme| scheme.name.clone()).collect(),
        };
        Design {
            points: self.points.iter().map(point).collect(),
            seeds: self.seeds.clone(),
            quick: self.quick,
            claims: self.claims.clone(),
        }
    }

    /// Removes all schemes whose labels are not in `labels`, and the claims about them.
    ///
    /// # Errors
    /// The labels of all schemes, if one of `labels` is unknown.
    pub fn keep_schemes(&mut self, labels: &[String]) -> Result<(), Vec<String>> {
        let known = |study: &Self| -> Vec<String> {
            let schemes = study.points.iter().flat_map(|point| &point.plan.schemes);
            schemes.map(|scheme| scheme.name.clone()).collect()
        };
        let before = known(self);
        if labels.iter().any(|label| !before.contains(label)) {
            return Err(self.points[0].plan.schemes.iter().map(|of| of.name.clone()).collect());
        }
        for point in &mut self.points {
            point.plan.schemes.retain(|scheme| labels.contains(&scheme.name));
        }
        self.claims.retain(|claim| {
            let other = claim.relative_to.iter();
            std::iter::once(&claim.scheme).chain(other).all(|scheme| labels.contains(scheme))
        });
        Ok(())
    }

    /// All runs, in the order of results: by point, then scheme, then seed.
    pub fn jobs(&self) -> Vec<Job> {
        self.design().jobs()
    }
}
