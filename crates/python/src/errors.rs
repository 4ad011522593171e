//! Exceptions of Python, with the messages that the command prints.

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use shallop_workbench::diagnostic::{Report, text};

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
