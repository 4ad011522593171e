//! The part of the status page about claims that were measured with real packets: docs/recorded/real-forms.toml.

use super::{RecordedExperiment, status};
use serde::Deserialize;
use shallop_results::verdict::judge_recorded;
use shallop_results::{JudgedClaim, recorded::RecordedFigures};
use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

const FILE: &str = "docs/recorded/real-forms.toml";

const HEAD: &str = "## Real packets

Claims whose figures were measured with real packets, at the scale that a small machine carries: rehearsals with hosts
that are network namespaces ([Rehearse](../rehearse.md)). The verdict is by the accepted range of the claim. Figures in
brackets are the least and the largest of the runs.
";

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    form: Vec<Measurement>,
    missing: Vec<Missing>,
}

/// Claims of an experiment that one command measured with real packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measurement {
    experiment: String,
    /// What sent the packets.
    form: String,
    scale: String,
    command: String,
    commit: String,
    date: String,
    /// How many runs there were, and what else the machine did.
    runs: String,
    claims: Vec<RealFigures>,
}

/// The figures of a claim, in its unit, at the scale of the experiment.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RealFigures {
    /// The claim's label.
    claim: String,
    /// The simulator's figure in the network of the rehearsal.
    simulator: Option<f64>,
    real: f64,
    least: Option<f64>,
    most: Option<f64>,
}

/// An experiment without a rehearsal that counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Missing {
    experiment: String,
    why: String,
}

/// Cells of the table of experiments, by experiment, and the tables of claims.
#[derive(Debug, Default)]
pub(super) struct RealForms {
    cells: BTreeMap<String, String>,
    pub(super) tables: String,
}

impl RealForms {
    /// # Errors
    /// If the file cannot be read, or a row names no experiment with a record or no claim.
    pub(super) fn read(root: &Path, all: &[RecordedExperiment]) -> Result<Self, String> {
        let text = fs::read_to_string(root.join(FILE)).map_err(|why| format!("{FILE}: {why}"))?;
        Self::of(&text, all).map_err(|why| format!("{FILE}: {why}"))
    }

    fn of(text: &str, all: &[RecordedExperiment]) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|why| why.to_string())?;
        let mut forms = Self { tables: HEAD.to_owned(), ..Self::default() };
        for form in &file.form {
            let table = table(form, all)?;
            let anchor = format!("real-packets-of-{}", form.experiment.replace('.', ""));
            // Further forms of an experiment follow its heading.
            if forms.cells.contains_key(&form.experiment) {
                forms.tables += &table;
            } else {
                let _ = write!(forms.tables, "\n### Real packets of {}\n{table}", form.experiment);
            }
            let cell = format!("[{}](#{anchor})", form.form);
            let cells = forms.cells.entry(form.experiment.clone());
            cells.and_modify(|before| *before = format!("{before}; {cell}")).or_insert(cell);
        }
        for Missing { experiment, why } in file.missing {
            if !all.iter().any(|one| one.id == experiment) {
                return Err(format!(
                    "a row of [[missing]] names the experiment \"{experiment}\", which does not exist"
                ));
            }
            if forms.cells.insert(experiment.clone(), format!("not yet: {why}")).is_some() {
                return Err(format!("\"{experiment}\" has rows of [[form]] and of [[missing]]: remove one kind"));
            }
        }
        Ok(forms)
    }

    /// The cell of an experiment in the table of all experiments.
    pub(super) fn cell(&self, id: &str) -> &str {
        self.cells.get(id).map_or("", String::as_str)
    }
}

fn table(form: &Measurement, all: &[RecordedExperiment]) -> Result<String, String> {
    let Measurement { experiment: id, form: what, scale, command, commit, date, runs, claims } = form;
    let mut lines = format!(
        "\n{what}. {scale}. {runs}. `{command}` (commit {commit}, {date}).\n\n\
         | claim | paper | accepted | simulator, the experiment | simulator, this network | real packets | verdict |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for figures in claims {
        let simulated = status::labelled(all, id, &figures.claim)?;
        let judged = judged(figures, all, id)?;
        let [paper, accepted, simulator] = [
            status::with_unit(simulated.paper, simulated.paper_to, &simulated),
            status::accepted(&simulated),
            status::with_unit(simulated.measured, None, &simulated),
        ];
        let [own, mut real] =
            [figures.simulator, Some(figures.real)].map(|value| status::with_unit(value, None, &simulated));
        if let (Some(least), Some(most)) = (figures.least, figures.most) {
            let _ = write!(real, " ({} to {})", status::figure(least), status::figure(most));
        }
        let (claim, verdict) = (figures.claim.replace('|', "\\|"), judged.verdict.word());
        let _ = writeln!(lines, "| {claim} | {paper} | {accepted} | {simulator} | {own} | {real} | {verdict} |");
    }
    Ok(lines)
}

/// Judges the claim by figures of real packets.
fn judged(figures: &RealFigures, all: &[RecordedExperiment], id: &str) -> Result<JudgedClaim, String> {
    let study = all.iter().find(|one| one.id == id).map(|one| &one.study);
    let claim = study.and_then(|study| {
        study.claims.iter().find(|claim| format!("{}: {}", claim.subject(), claim.what) == figures.claim)
    });
    let claim = claim.ok_or_else(|| format!("{id} has no claim {:?}", figures.claim))?;
    let RealFigures { real, least, most, .. } = *figures;
    let (min, max) = (least.unwrap_or(real), most.unwrap_or(real));
    Ok(judge_recorded(claim, RecordedFigures { measured: real, bound: None, min, max }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::recorded_experiments;

    #[test]
    fn a_row_names_an_experiment_and_a_claim_and_has_the_verdict_of_its_figure() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let all = recorded_experiments(&root).unwrap();
        assert!(RealForms::read(&root, &all).is_ok_and(|forms| forms.cell("cl-fig3").contains("CLEAN")));
        let row = |id: &str, claim: &str, real: f64| {
            let text = format!(
                "missing = []\n[[form]]\nexperiment = \"{id}\"\nform = \"a\"\nscale = \"b\"\ncommand = \"c\"\n\
                 commit = \"d\"\ndate = \"e\"\nruns = \"f\"\nclaims = [{{ claim = \"{claim}\", real = {real} }}]"
            );
            RealForms::of(&text, &all).map(|forms| forms.tables)
        };
        let dropped = "clean-paper, whole run: data packets dropped";
        assert!(row("cl-fig3", dropped, 0.0).unwrap().ends_with("| 0 | holds |\n"));
        assert!(row("cl-fig3", dropped, 7.0).unwrap().ends_with("| 7 | fails |\n"));
        assert!(row("cl-fig3", "data packets lost", 0.0).is_err_and(|why| why.contains("no claim")));
        assert!(row("cl-fig33", dropped, 0.0).is_err_and(|why| why.contains("cl-fig33")));
        let missing = "form = []\n[[missing]]\nexperiment = \"cl-fig33\"\nwhy = \"a\"";
        assert!(RealForms::of(missing, &all).is_err_and(|why| why.contains("cl-fig33")));
    }
}
