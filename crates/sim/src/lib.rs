//! The simulator: arrays of machines and one agenda, on a virtual clock. It decides nothing a machine could decide.

pub mod graph;
pub mod link;
pub mod paths;
mod seats;
pub mod topo;
pub mod world;

pub use graph::{Graph, GraphLink, NodeKind};
pub use link::NicMode;
pub use paths::Paths;
pub use seats::Retired;
pub use world::{Flow, Network, World};
