//! Endpoints, files and certificates over loopback, and what anybody may send to them.

#![allow(clippy::unwrap_used, reason = "a test that cannot make its input should fail there")]

mod addresses;
mod authority;
mod hostile;
mod loopback;
mod session;
mod streams;
mod vectors;
