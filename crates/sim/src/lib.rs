//! The simulator: a driver with a virtual clock. It consists of arrays of machines and one agenda, and leaves every
//! decision of protocols and switches to the machines.

mod flow_table;
pub mod hosts;
mod link;
pub mod world;

pub use flow_table::Retired;
pub use hosts::{Hosts, NoHosts};
pub use world::{Flow, Network, World};
