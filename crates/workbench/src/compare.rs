//! Comparison of two results, each of them a folder or a scenario that is run first.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use shallop_results::comparison::{Comparison, Selection, compare};
use shallop_results::summary::Summary;
use shallop_scenario::Options;

use super::diagnostic::{Result, name, plain, with_help};
use super::report::{has_results, read_summary};
use super::work::read;
use super::{Folder, TableForm, Task, render};

/// One side of a comparison.
#[derive(Clone, Debug)]
pub enum Side {
    /// Results that are there.
    Results(Box<Summary>),
    /// A scenario to run first.
    Scenario(Box<Task>),
}

impl Side {
    /// The results in a folder, or the scenario in a file, whose results go to `out`.
    ///
    /// # Errors
    /// If the folder has no results, or the scenario has an error.
    pub fn of(path: &Path, quick: bool, out: Option<PathBuf>) -> Result<Self> {
        if path.is_dir() {
            return results(path).map(Box::new).map(Self::Results);
        }
        let options = Options { quick, files: Arc::new(Folder::of(path)), ..Options::default() };
        let study = read(path, &options)?;
        Ok(Self::Scenario(Box::new(Task { id: None, study, folder: out })))
    }

    /// The scenario, if it is one.
    #[must_use]
    pub fn task(&self) -> Option<&Task> {
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

/// Compares two results.
///
/// # Errors
/// If nothing in them can be paired.
pub fn summaries(a: &Summary, b: &Summary, selection: Selection<'_>) -> Result<Comparison> {
    compare(a, b, selection).map_err(|why| plain(&why))
}

/// A comparison as text: the sentence, the table, and what is not in it. In CSV the table alone.
#[must_use]
pub fn text(comparison: &Comparison, form: TableForm) -> String {
    let (grid, lines) = comparison.table();
    if form == TableForm::Csv {
        return render(&grid, form);
    }
    // A difference a line.
    let mut text = format!("{}\n", comparison.finding.replace("; ", ";\n"));
    if !grid.rows.is_empty() {
        text.push('\n');
        text.push_str(&render(&grid, form));
        // In Markdown a line directly under a table is a row of it.
        text.push_str(if form == TableForm::Markdown { "\n\n" } else { "\n" });
    }
    text.push_str(&lines.join("\n"));
    text.trim_end().to_owned()
}
