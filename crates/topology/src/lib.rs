//! Networks as graphs: nodes and links, shortest and equal-cost paths, and the fabrics that scenarios name, each in its
//! own file.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

pub mod any;
pub mod bounds;
pub mod builder;
pub mod campus;
pub mod cross_dc;
pub mod dumbbell;
pub mod fabric;
pub mod fat_tree;
pub mod graph;
pub mod imported;
pub mod leaf_spine;
pub mod parking_lot;
pub mod paths;
pub mod three_dc;
pub mod twins;

pub use any::AnyFabric;
pub use dumbbell::{Dumbbell, SenderDelay};
pub use fabric::{Fabric, Largest, SwitchNames};
pub use graph::{Graph, GraphLink, NicMode, NodeKind, Way};
pub use imported::Imported;
pub use parking_lot::ParkingLot;
pub use paths::Paths;
pub use twins::Twins;
