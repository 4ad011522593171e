//! Files and folders over `FlashPass` and QUIC, and measurements of a path: the library of `shallop send`, `receive`
//! and `ping`.
//!
//! [`session`] sends and receives, and blocks the calling thread; [`protocol`] is the protocol of a transfer, which
//! resumes and verifies files over any reliable streams. [`client`] connects to a receiver that is trusted by its
//! fingerprint, by the file of known hosts or by an authority; [`server`] listens. [`ping`] measures round trips and
//! losses. The crate `shallop_quic` provides connections.

mod active_senders;
pub mod client;
mod happy_eyeballs;
pub mod host_address;
pub mod known_hosts;
pub mod ping;
pub mod protocol;
pub mod server;
pub mod session;
mod timeout;
