//! Exceptions of Python, with the messages that the command prints.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;
use shallop_workbench::diagnostic::{Report, text};
use shallop_workbench::printable::printable;

create_exception!(
    shallop,
    ShallopError,
    PyException,
    "Something is wrong, in the words that the command prints."
);
create_exception!(
    shallop,
    ScenarioError,
    ShallopError,
    "A scenario is not a good one; the message shows the line."
);

/// An error without a position.
pub fn plain(what: &impl ToString) -> PyErr {
    ShallopError::new_err(what.to_string())
}

/// An argument as the command reads it from text; a `ValueError` with its name, if it is none.
pub fn checked<T>(
    name: &str,
    value: &impl ToString,
    read: impl Fn(&str) -> Result<T, String>,
) -> PyResult<T> {
    let text = value.to_string();
    read(&text).map_err(|why| {
        PyValueError::new_err(format!(
            "invalid value {} for {name}: {why}",
            printable(&format!("'{text}'"))
        ))
    })
}

/// An error of a scenario.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
pub fn in_scenario(report: Report) -> PyErr {
    ScenarioError::new_err(text(&report))
}

/// An error of a run.
#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
pub fn in_run(report: Report) -> PyErr {
    ShallopError::new_err(text(&report))
}
