//! The simulator: arrays of state machines (ports, endpoints, middleboxes), an event queue and a virtual clock. The
//! machines make all decisions of protocols and switches; the simulator only passes packets and times between them.

#![forbid(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)]

mod flow_table;
mod link;
mod partition;
mod real_hosts;
mod simulator;
mod sources;

pub use flow_table::Retired;
pub use partition::{Cut, Ending, Parts, Team, cut};
pub use real_hosts::{NoRealHosts, Outgoing, RealHosts};
pub use simulator::{Flow, Glance, Network, Simulator};
