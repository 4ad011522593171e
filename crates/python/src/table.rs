//! Tables for Python, as Arrow streams.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use shallop_results::Summary;
use shallop_store::{Column, TableReader};
use shallop_workbench::report::read_summary;
use shallop_workbench::with_point_columns;

use crate::arrow::{CAPSULE, Stream};
use crate::errors::plain;

/// The rows of a table.
enum Rows {
    /// In a Parquet file with this path; the points of this summary have columns of their own.
    File(String, Arc<Summary>),
    /// In memory.
    Memory(shallop_store::Table),
}

/// A table that Python reads as an Arrow stream.
#[pyclass(frozen, module = "shallop")]
pub struct Table {
    source: Rows,
    /// Name, unit and definition of each column.
    #[pyo3(get)]
    columns: Vec<(String, String, String)>,
    #[pyo3(get)]
    rows: u64,
    /// The object whose end removes the file, if there is one; it is kept alive as long as the table.
    #[expect(dead_code, reason = "it is kept alive, not read")]
    owner: Option<Py<PyAny>>,
}

/// A table in a file beside its `summary.json`; `owner` removes both at its end. Each key that differs between points
/// has a column.
#[pyfunction]
#[pyo3(signature = (path, owner = None))]
pub fn table(path: String, owner: Option<Py<PyAny>>) -> PyResult<Table> {
    let reader = TableReader::open(&path).map_err(|why| plain(&why))?;
    let folder = Path::new(&path).parent().unwrap_or(Path::new("."));
    let summary = Arc::new(read_summary(folder).map_err(|why| plain(&why))?);
    let columns = described(&with_point_columns(&summary, reader.heading().clone()).columns);
    Ok(Table { rows: reader.rows(), columns, source: Rows::File(path, summary), owner })
}

fn described(columns: &[Column]) -> Vec<(String, String, String)> {
    let describe = |one: &Column| (one.name.clone(), one.unit.clone(), one.description.clone());
    columns.iter().map(describe).collect()
}

impl Table {
    /// A table in memory.
    pub fn in_memory(table: shallop_store::Table) -> Self {
        let (rows, columns) = (table.rows() as u64, described(&table.columns));
        Self { rows, columns, source: Rows::Memory(table), owner: None }
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn path(&self) -> Option<&str> {
        match &self.source {
            Rows::File(path, _) => Some(path),
            Rows::Memory(_) => None,
        }
    }

    fn __len__(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, ..)| name.as_str()).collect();
        format!("<Table of {} rows: {}>", self.rows, names.join(", "))
    }

    /// The rows, by Arrow's `PyCapsule` interface. A requested schema is ignored, as the interface allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = py.detach(|| match &self.source {
            Rows::File(path, summary) => TableReader::open(path).map(|reader| {
                let summary = Arc::clone(summary);
                let heading = with_point_columns(&summary, reader.heading().clone());
                let batches =
                    reader.map(move |batch| batch.map(|batch| with_point_columns(&summary, batch)));
                Stream::new(&heading, batches)
            }),
            Rows::Memory(table) => {
                Ok(Stream::new(&table.heading(), std::iter::once(Ok(table.clone()))))
            }
        });
        let stream = stream.map_err(|why| plain(&why))?;
        PyCapsule::new_with_value(py, stream, CAPSULE)
    }
}
