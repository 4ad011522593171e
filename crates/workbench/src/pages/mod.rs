//! Pages of docs and tables beside them that are made of the program and of its recorded runs. `make write-docs` writes
//! them; a test compares them with the files.

mod agreement;
mod overlay;
mod real;
mod results;
mod status;
mod traces;

pub use traces::RECORD as TRACES;

use shallop_plan::Study;
use shallop_results::RecordedRun;
use shallop_scenario::{Options, experiments, read};
use std::{fs, path::Path};

const RECORDS: &str = "docs/reproduction/recorded";

/// The page with the verdict on every claim. It is generated for the site only and is not in git.
pub const STATUS: &str = "docs/reproduction/status.md";

/// A shipped experiment with the record of its last full run.
pub struct RecordedExperiment {
    pub id: &'static str,
    /// The experiment in its full form.
    pub study: Study,
    /// `None` if no full run is recorded.
    pub record: Option<RecordedRun>,
}

/// All shipped experiments with their records, from the root of the repository. This takes some seconds.
///
/// # Errors
/// If an experiment or a record cannot be read, or a record is of no experiment or of no claim of it.
pub fn recorded_experiments(root: &Path) -> Result<Vec<RecordedExperiment>, String> {
    let mut all = Vec::new();
    for shipped in experiments::all() {
        let id = shipped.id;
        let study = read(shipped.text, &Options::default()).map_err(|why| format!("{id}: {why}"))?;
        let path = root.join(RECORDS).join(format!("{id}.json"));
        let record = match fs::read_to_string(&path) {
            Err(_) => None,
            Ok(text) => Some(serde_json::from_str(&text).map_err(|why| format!("{id}: {why}"))?),
        };
        all.push(RecordedExperiment { id, study, record });
    }
    let files = fs::read_dir(root.join(RECORDS)).map_err(|why| format!("{RECORDS}: {why}"))?;
    for file in files.filter_map(Result::ok) {
        let name = file.file_name().to_string_lossy().into_owned();
        if !all.iter().any(|one| name == format!("{}.json", one.id)) {
            return Err(format!("{name} is of no experiment: remove it"));
        }
    }
    match all.iter().map(status::left_over).find(|rows| !rows.is_empty()) {
        Some(rows) => Err(format!("recorded figures of no claim: remove {rows:#?}")),
        None => Ok(all),
    }
}

/// Every generated file in the repository at this root: the path and the text.
///
/// # Errors
/// If experiments, records or the part of a page that is written by hand cannot be read.
pub fn all(root: &Path) -> Result<Vec<(&'static str, String)>, String> {
    let experiments = recorded_experiments(root)?;
    let sections = status::Sections::new(&experiments, real::RealForms::read(root, &experiments)?)?;
    let page = fs::read_to_string(root.join(results::PAGE));
    let page = page.map_err(|why| format!("{}: {why}", results::PAGE))?;
    let traces = traces::Traces::read(root)?;
    Ok(vec![
        (STATUS, sections.page()),
        (status::VERDICTS, sections.verdicts()),
        (agreement::PAGE, agreement::page(&experiments, &traces.section())),
        (traces::FIGURE, traces.figure()),
        (results::PAGE, results::page(&page)?),
    ])
}
