//! Files and folders over `FlashPass` and QUIC, and measurements of a path: the library of `shallop send`, `receive`
//! and `ping`.
//!
//! [`session`] sends and receives, and blocks the calling thread; [`protocol`] is the protocol of a transfer, which
//! resumes and verifies files over any reliable streams. [`client`] connects to a receiver that is known by a code or
//! an authority; [`server`] listens. [`ping`] measures round trips and losses. [`class_test`], [`path_measure`] and
//! [`path_verdict`] find out whether switches meter emulation packets, and [`plain_trial`] whether a transfer is faster
//! without credits. The crate `shallop_quic` provides connections.

mod active_senders;
mod activity;
pub mod class_test;
pub mod client;
mod happy_eyeballs;
pub mod host_address;
pub mod limits;
pub mod path_measure;
pub mod path_verdict;
pub mod ping;
pub mod plain_trial;
pub mod protocol;
pub mod server;
pub mod session;
