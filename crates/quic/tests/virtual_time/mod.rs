//! Whole connections in virtual time, over a network with faults, without sockets and clocks. They are unit tests of
//! the library, because [`crate::endpoint_state`] is private; `src/lib.rs` includes this folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod addresses;
mod aeolus;
mod closed_gate;
mod credits;
mod fallback;
mod faults;
mod host;
mod hostile;
mod link;
mod network;
mod path_mtu;
mod path_probes;
mod stock_peer;
mod wraparound;

const MB: u64 = 1_000_000;
