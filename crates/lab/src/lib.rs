//! From a scenario to results. Everything but the module `host` is pure: text in, results out.

pub mod chips;
pub mod ends;
pub mod experiments;
pub mod flows;
pub mod layout;
pub mod measure;
pub mod network;
pub mod outcome;
pub mod plan;
pub mod run;
pub mod scenario;
pub mod series;
pub mod study;
pub mod summary;

pub use outcome::Outcome;
pub use plan::Plan;
pub use run::{RunError, run};
pub use study::Study;
pub use summary::{Run, Summary};
