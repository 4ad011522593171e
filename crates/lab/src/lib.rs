//! From a scenario to results. Everything but the module `host` is pure: text in, results out.

pub mod aggregate;
pub mod bcc;
mod burst;
pub mod campus;
pub mod capture;
pub mod chips;
pub mod converge;
pub mod ends;
pub mod experiments;
pub mod explain;
pub mod fabrics;
pub mod files;
pub mod flows;
mod groups;
#[cfg(feature = "host")]
pub mod host;
pub mod ideal;
pub mod import;
pub mod journal;
pub mod layout;
mod load;
pub mod measure;
pub mod memory;
pub mod mix;
pub mod network;
pub mod outcome;
pub mod plan;
pub mod pools;
pub mod proxy;
pub mod reach;
pub mod records;
pub mod rtts;
pub mod run;
pub mod scenario;
pub mod series;
pub mod setting;
pub mod shape;
mod sources;
pub mod standard;
pub mod study;
pub mod summary;
pub mod switches;
pub mod table;
pub mod tally;
pub mod template;
pub mod verdict;
mod wait;
mod warn;
pub mod workload;

pub use outcome::Outcome;
pub use plan::Plan;
pub use run::{RunError, run};
pub use study::Study;
pub use summary::{Run, Summary};

/// Simulated time, as whoever follows a run is told it.
pub use shallop_core::Span;
