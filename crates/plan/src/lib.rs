//! Plans: what is to be run, as types. A plan describes the network, the queues and memory of its ports, the flows and
//! the schemes. The crate reads no text and no clock: `scenario` makes plans from text, and drivers run them.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod bcc;
pub mod bounds;
pub mod chips;
pub mod effective;
pub mod error;
pub mod files;
pub mod flows;
pub mod host_pairs;
pub mod ideal;
pub mod kernel;
pub mod layout;
pub mod load;
pub mod memory;
pub mod network;
pub mod pairs;
pub mod plan;
pub mod pools;
pub mod proxy;
pub mod requirements;
pub mod resolved;
pub mod scale;
pub mod sources;
pub mod study;
pub mod switches;
pub mod traffic_paths;
pub mod transport;
pub mod wait;
pub mod warn;

pub use effective::effective;
pub use error::SetupError;
pub use plan::Plan;
pub use resolved::{ResolvedNetwork, ResolvedRun};
pub use study::{Study, Variant};
