//! Runs a plan in the simulator, and measures the run: the probe that counts during the run, and the results that are
//! computed from its counts (flow records, time series, queues, completion times). Real hosts take part as hosts of the
//! simulator, so their runs are measured by this code too.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod capture;
pub mod completion;
pub mod converge;
pub mod drops;
pub mod ends;
mod engine;
pub mod flow_log;
pub mod flow_records;
pub mod flow_trace;
mod fractions;
mod groups;
mod links;
pub mod live_snapshot;
pub mod load_phase;
pub mod observer;
mod offered;
pub mod outcome;
pub mod parted;
mod pcapng;
mod pools;
pub mod probe;
pub mod rtts;
pub mod run;
pub mod series;
mod shares;
mod warn;

pub use observer::Observer;
pub use outcome::Outcome;
pub use parted::run_on;
pub use run::{RunError, run, run_observed, run_with_hosts};
pub use shallop_sim::Team;
