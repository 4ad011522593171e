//! Rehearsals: the hosts of a scenario are network namespaces of this machine, with the TCP of its kernel. The network
//! between them is simulated at the pace of the clock.
//!
//! A run changes nothing outside of its own namespaces. Namespaces have no names and no processes of their own, so they
//! end with this process, however it ends, together with their interfaces and sockets.

pub mod abilities;
mod attached;
mod controllers;
pub mod device;
mod error;
mod namespace;
mod netlink;
mod options;
mod pattern;
mod programs;
mod proxy;
mod quic_flows;
mod realtime;
pub mod rehearse;
pub mod replay;
mod run_clock;
pub mod session;
mod tap;
mod tcp_flows;
mod tcp_info;
mod traffic;
mod udp_flows;
pub mod user_namespace;
mod validity;

pub use attached::is_up;
pub use error::RehearsalError;
pub use realtime::keep_off;
