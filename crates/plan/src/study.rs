//! A study: a checked scenario with the points, seeds and claims that `run`, `sweep` and `reproduce` work through.

use std::collections::BTreeMap;

use shallop_results::{Claim, Design, Job, Point};

use crate::plan::Plan;

/// A study: plans that differ in a few keys, the seeds to run them with, and the claims about the results.
#[derive(Clone, Debug)]
pub struct Study {
    /// The title in tables.
    pub title: String,
    /// A line on what the scenario shows; empty if it has none.
    pub about: String,
    /// The approximate time of all jobs on one core, in full and quick, as the scenario states it; may be empty.
    pub takes: (String, String),
    /// True if the changes under `[quick]` were applied, or points left out that are for full runs only.
    pub quick: bool,
    /// Options that had no effect, as sentences.
    pub notes: Vec<String>,
    /// The points, at least one; a scenario without points has one without a name and without keys.
    pub points: Vec<Variant>,
    /// The seeds, at least one. Every scheme of every point runs with each.
    pub seeds: Vec<u64>,
    /// The claims.
    pub claims: Vec<Claim>,
}

/// A variant of a study: the plan of one point.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The name of the point; empty if the scenario has no points.
    pub name: String,
    /// The keys that it sets, with their values as written.
    pub set: BTreeMap<String, serde_json::Value>,
    /// The plan with these keys set.
    pub plan: Plan,
}

impl Study {
    /// The design: points with the labels of their schemes, seeds and claims.
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

    /// Leaves only the schemes with these labels, and the claims that are about them alone.
    ///
    /// # Errors
    /// The labels that there are, if one of these is not.
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

    /// All runs in the order of the results: by point, then scheme, then seed.
    pub fn jobs(&self) -> Vec<Job> {
        self.design().jobs()
    }
}
