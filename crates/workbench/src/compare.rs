//! Comparison of two results. Each side is a results folder, or a scenario that is run first.

use super::diagnostic::{Result, name, plain, with_help};
use super::report::{has_results, read_summary};
use super::run_study::read_scenario;
use super::{FolderFiles, StudyTask, TableForm, render};
use shallop_results::comparison::{Comparison, Selection, compare};
use shallop_results::summary::Summary;
use shallop_scenario::{Options, Programs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub enum Side {
    Results(Box<Summary>),
    /// A scenario, which is run before the comparison.
    Scenario(Box<StudyTask>),
}

impl Side {
    /// Reads the results in a folder, or the scenario in a file. The results of the scenario go to `out`.
    pub fn read(path: &Path, (quick, programs): (bool, Programs), out: Option<PathBuf>) -> Result<Self> {
        if path.is_dir() {
            return results(path).map(Box::new).map(Self::Results);
        }
        let options = Options { quick, programs, files: Arc::new(FolderFiles::beside(path)), ..Options::default() };
        let study = read_scenario(path, &options)?;
        Ok(Self::Scenario(Box::new(StudyTask { id: None, study, folder: out })))
    }

    pub fn task(&self) -> Option<&StudyTask> {
        match self {
            Self::Scenario(task) => Some(task),
            Self::Results(_) => None,
        }
    }
}

fn results(folder: &Path) -> Result<Summary> {
    if !has_results(folder) {
        let help = "give a folder that run, sweep or reproduce wrote (of reproduce, that of one experiment), or a \
                    scenario file";
        return Err(with_help(&format!("{}: holds no summary.json", name(folder)), &help));
    }
    read_summary(folder).map_err(|why| plain(&why))
}

/// Compares two results run by run.
///
/// # Errors
/// If no two runs have the same point, scheme and seed.
pub fn summaries(a: &Summary, b: &Summary, selection: Selection<'_>) -> Result<Comparison> {
    compare(a, b, selection).map_err(|why| plain(&why))
}

/// Formats a comparison: the sentence, the table, and a list of what the table leaves out. CSV has the table alone.
pub fn text(comparison: &Comparison, form: TableForm) -> String {
    let (grid, lines) = comparison.table();
    if form == TableForm::Csv {
        return render(&grid, form);
    }
    // One line per difference.
    let mut text = format!("{}\n", comparison.finding.replace("; ", ";\n"));
    if !grid.rows.is_empty() {
        text.push('\n');
        text.push_str(&render(&grid, form));
        // Markdown takes a line directly below a table for a row of it.
        text.push_str(if form == TableForm::Markdown { "\n\n" } else { "\n" });
    }
    text.push_str(&lines.join("\n"));
    text.trim_end().to_owned()
}
