//! The Python module: a thin face of the lab, as the command is one. Its Python half, with the words that users see, is
//! in `python/shallop`.

mod errors;
mod follow;
mod named;
mod study;
mod table;

use std::path::Path;

use pyo3::prelude::*;
use shallop_lab::experiments;
use shallop_lab::host::{self, REPORT, Results, Task, pointed};
use shallop_lab::scenario::{self, Options};

use crate::errors::{in_scenario, plain};

/// Of an experiment: id, title, about, and how long it takes in full and quick.
type Row = (String, String, String, String, String);

#[pymodule]
mod _native {
    use super::{
        Bound, Options, Path, PyModule, PyModuleMethods as _, PyResult, Python, REPORT, Results,
        Row, Task, experiments, host, in_scenario, plain, pointed, pyfunction, scenario,
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

    /// The experiments that are built in.
    #[pyfunction]
    #[pyo3(name = "experiments")]
    fn list() -> PyResult<Vec<Row>> {
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
        host::read_text(Path::new(path)).map_err(|why| in_scenario(pointed::plain(&why)))
    }

    /// Values with commas between them, as they are typed.
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

    /// Writes the page of the results in a folder and gives its path.
    #[pyfunction]
    #[pyo3(name = "report")]
    fn write_report(py: Python<'_>, folder: &str) -> PyResult<String> {
        let folder = Path::new(folder);
        py.detach(|| Results::publish(folder)).map_err(|why| plain(&why))?;
        Ok(folder.join(REPORT).display().to_string())
    }
}
