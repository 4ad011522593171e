//! The simulator: a driver with a virtual clock. It consists of arrays of machines and one event queue. The machines
//! make every decision of protocols and switches.

mod flow_table;
mod link;
mod real_hosts;
mod simulator;

pub use flow_table::Retired;
pub use real_hosts::{NoRealHosts, Outgoing, RealHosts};
pub use simulator::{Flow, Network, Simulator};
