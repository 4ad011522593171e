//! Rehearsals: a scenario whose hosts are network namespaces of this machine, with its own kernel's TCP, and whose
//! switches are those of the simulator, kept to the clock (the crate `emu`).
//!
//! Nothing outside of namespaces that a run has made is touched. Namespaces have no names and no processes of their
//! own: they, their interfaces and their sockets are gone with the process, however it ends.

pub mod abilities;
mod attached;
mod controllers;
pub mod device;
mod error;
mod judge;
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
pub mod session;
mod tap;
mod tcp_flows;
mod tcp_info;
mod traffic;
mod udp_flows;
pub mod user_namespace;

pub use attached::is_up;
pub use error::RehearsalError;
pub use realtime::keep_off;
