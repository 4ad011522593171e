//! Whole connections in virtual time, over a network with faults, without sockets and clocks. They are unit tests of
//! the library, because [`crate::endpoint_state`] is private; `src/lib.rs` includes this folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod host;
mod hostile;
mod link;
mod network;
mod stock_peer;
mod world;

const MB: u64 = 1_000_000;
