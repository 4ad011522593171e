//! Whole runs in the simulator: one executable, one module per subject.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its run should fail there")]

mod bulk;
mod claims;
mod clean;
mod conservation;
mod dynamic;
mod experiments;
mod flow_trace;
mod golden;
mod kept;
mod limited;
mod links;
mod marks;
mod mixed;
mod pools;
mod replay;
mod scheme_settings;
mod series;
mod short_runs;
mod support;
mod tails;
mod warnings;
