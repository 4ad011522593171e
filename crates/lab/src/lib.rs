//! Runs a plan in the simulator, and measures its outcome.

pub mod ends;
pub mod run;

pub use run::{RunError, run, run_observed, run_with_hosts};
pub use shallop_measure::{Outcome, observer::Observer};
