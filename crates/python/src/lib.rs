//! The Python module: a thin layer over `shallop-workbench`, as the command is. Its Python part, with the documentation
//! for users, is in `python/shallop`.

mod arrow;
mod errors;
mod progress;
#[cfg(target_os = "linux")]
mod quic;
mod recording_files;
mod study;
mod table;

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use shallop_results::comparison::Selection;
use shallop_scenario::experiments;
use shallop_scenario::{self as scenario, Options};
use shallop_workbench::{
    self as workbench, REPORT, Results, TableForm, Task, arguments, diagnostic,
};

use crate::errors::{checked, in_run, in_scenario, plain};

/// An experiment: id, title, about, and the computing time of the full and the quick form.
type ExperimentRow = (String, String, String, String, String);

#[pymodule]
mod _native {
    use super::{
        Bound, ExperimentRow, Options, Path, PathBuf, PyModule, PyModuleMethods as _, PyResult,
        Python, REPORT, Results, Selection, TableForm, Task, arguments, checked, diagnostic,
        experiments, in_run, in_scenario, plain, pyfunction, scenario, workbench,
    };

    #[pymodule_export]
    use super::errors::{ScenarioError, ShallopError};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use super::quic::{Receiver, send};
    #[pymodule_export]
    use super::study::Study;
    #[pymodule_export]
    use super::table::{Table, table};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// The shipped experiments.
    #[pyfunction]
    #[pyo3(name = "experiments")]
    fn list() -> PyResult<Vec<ExperimentRow>> {
        let row = |shipped: experiments::Shipped| {
            let task = Task::shipped(shipped, &Options::default(), None).map_err(in_scenario)?;
            let (takes, quick) = task.study.takes;
            Ok((shipped.id.to_owned(), task.study.title, task.study.about, takes, quick))
        };
        experiments::all().into_iter().map(row).collect()
    }

    /// The JSON Schema of scenarios.
    #[pyfunction]
    fn schema() -> String {
        scenario::schema().to_string()
    }

    /// The text of a scenario's file.
    #[pyfunction]
    fn read_text(path: &str) -> PyResult<String> {
        workbench::read_text(Path::new(path)).map_err(|why| in_scenario(diagnostic::plain(&why)))
    }

    /// Values separated by commas, as typed.
    #[pyfunction]
    fn values(text: &str) -> PyResult<Vec<String>> {
        scenario::values(text).map_err(|why| plain(&why))
    }

    /// The figures of the results in a folder, by name, as Vega-Lite specifications.
    #[pyfunction]
    fn figures(py: Python<'_>, folder: &str) -> PyResult<Vec<(String, String)>> {
        let results = py.detach(|| Results::read(Path::new(folder))).map_err(|why| plain(&why))?;
        let named = results.figures.iter().map(|one| (one.id.clone(), one.whole().to_string()));
        Ok(named.collect())
    }

    /// The causes of drops of the results in a folder.
    #[pyfunction]
    fn drops_by_cause(py: Python<'_>, folder: &str) -> PyResult<Table> {
        let read = || workbench::report::drops_by_cause(Path::new(folder));
        py.detach(read).map(Table::in_memory).map_err(|why| plain(&why))
    }

    /// The means over seeds of the results in a folder.
    #[pyfunction]
    fn aggregates(py: Python<'_>, folder: &str) -> PyResult<Table> {
        let read = || workbench::report::aggregates(Path::new(folder));
        py.detach(read).map(Table::in_memory).map_err(|why| plain(&why))
    }

    /// The folder of results, which has a name.
    #[pyfunction]
    fn checked_folder(out: PathBuf) -> PyResult<PathBuf> {
        checked("out", &out.display(), arguments::folder)?;
        Ok(out)
    }

    /// The completion times of the results in a folder.
    #[pyfunction]
    fn completion(py: Python<'_>, folder: &str) -> PyResult<Table> {
        let read = || workbench::report::completion(Path::new(folder));
        py.detach(read).map(Table::in_memory).map_err(|why| plain(&why))
    }

    /// Compares the results in two folders: as JSON, and as text.
    #[pyfunction]
    #[pyo3(signature = (a, b, schemes=None, points=None))]
    fn compare(
        py: Python<'_>,
        a: &str,
        b: &str,
        schemes: Option<(String, String)>,
        points: Option<(String, String)>,
    ) -> PyResult<(String, String)> {
        let found = py.detach(move || {
            let [schemes, points] = [&schemes, &points]
                .map(|pair| pair.as_ref().map(|(one, other)| (one.as_str(), other.as_str())));
            let selection = Selection { schemes, points };
            workbench::compare::folders(Path::new(a), Path::new(b), selection)
        });
        let found = found.map_err(in_run)?;
        let json = serde_json::to_string(&found).map_err(|why| plain(&why))?;
        Ok((json, workbench::compare::text(&found, TableForm::Text(None))))
    }

    /// The warnings of the results in a folder, a line each.
    #[pyfunction]
    fn warnings(py: Python<'_>, folder: &str) -> PyResult<Vec<String>> {
        let read = || workbench::report::warnings(Path::new(folder));
        py.detach(read).map_err(|why| plain(&why))
    }

    /// The links of the results in a folder.
    #[pyfunction]
    fn links(py: Python<'_>, folder: &str) -> PyResult<Table> {
        let read = || workbench::report::links(Path::new(folder));
        py.detach(read).map(Table::in_memory).map_err(|why| plain(&why))
    }

    /// The groups of the results in a folder.
    #[pyfunction]
    fn groups(py: Python<'_>, folder: &str) -> PyResult<Table> {
        let read = || workbench::report::groups(Path::new(folder));
        py.detach(read).map(Table::in_memory).map_err(|why| plain(&why))
    }

    /// Writes the page of the results in a folder and returns its path.
    #[pyfunction]
    #[pyo3(name = "report")]
    fn write_report(py: Python<'_>, folder: &str) -> PyResult<String> {
        let folder = Path::new(folder);
        py.detach(|| Results::publish(folder)).map_err(|why| plain(&why))?;
        Ok(folder.join(REPORT).display().to_string())
    }
}
