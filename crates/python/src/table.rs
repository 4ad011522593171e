//! Tables as Python has them: Arrow streams.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use shallop_store::TableReader;
use shallop_store::stream::{CAPSULE, Stream};

use crate::errors::plain;

/// Rows in a Parquet file.
#[pyclass(frozen, module = "shallop")]
pub struct Table {
    #[pyo3(get)]
    path: String,
    /// Name, unit and definition of each.
    #[pyo3(get)]
    columns: Vec<(String, String, String)>,
    #[pyo3(get)]
    rows: u64,
    /// What the file is removed with, if that is not to happen while this is in use.
    #[expect(dead_code, reason = "it is held, not read")]
    owner: Option<Py<PyAny>>,
}

/// A table in a file, which `owner` may remove once nobody holds it.
#[pyfunction]
#[pyo3(signature = (path, owner = None))]
pub fn table(path: String, owner: Option<Py<PyAny>>) -> PyResult<Table> {
    let reader = TableReader::open(&path).map_err(|why| plain(&why))?;
    let columns = reader.heading().columns.iter();
    let columns = columns
        .map(|column| (column.name.clone(), column.unit.clone(), column.description.clone()))
        .collect();
    Ok(Table { rows: reader.rows(), columns, path, owner })
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX)
    }

    fn __repr__(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, ..)| name.as_str()).collect();
        format!("<Table of {} rows: {}>", self.rows, names.join(", "))
    }

    /// The rows, as Arrow's `PyCapsule` interface has them. Whoever wants another schema casts: that may
    /// be refused.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let stream = py.detach(|| Stream::open(&self.path)).map_err(|why| plain(&why))?;
        PyCapsule::new_with_value(py, stream, CAPSULE)
    }
}
