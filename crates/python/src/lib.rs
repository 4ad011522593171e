//! The Python module: a thin layer over `shallop-workbench`, as the command is. Its Python part, with the documentation
//! for users, is in `python/shallop`.

mod errors;
mod progress;
mod recording_files;
mod study;
mod table;

use std::path::Path;

use pyo3::prelude::*;
use shallop_scenario::experiments;
use shallop_scenario::{self as scenario, Options};
use shallop_workbench::{self as workbench, REPORT, Results, Task, diagnostic};

use crate::errors::{in_scenario, plain};

/// An experiment: id, title, about, and the computing time of the full and the quick form.
type ExperimentRow = (String, String, String, String, String);

#[pymodule]
mod _native {
    use super::{
        Bound, ExperimentRow, Options, Path, PyModule, PyModuleMethods as _, PyResult, Python,
        REPORT, Results, Task, diagnostic, experiments, in_scenario, plain, pyfunction, scenario,
        workbench,
    };

    #[pymodule_export]
    use super::errors::{ScenarioError, ShallopError};
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
