//! Whole connections in virtual time, over a network that can be made to fail: what the protocol does, without sockets
//! and clocks.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod addresses;
mod aeolus;
mod credits;
mod fallback;
mod faults;
mod held;
mod host;
mod hostile;
mod link;
mod network;
mod stock;
mod wraps;
