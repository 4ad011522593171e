//! Programs for the running kernel (BPF), in C in the folder `c`, and what loads them.
//!
//! Controllers of TCP (`tcp_congestion_ops`): Gemini, DCTCP, ECN* and Vegas. Arithmetic is in headers without anything
//! of a kernel, which tests compare with the laws of `shallop-control`. With the feature `load` clang
//! compiles them and libbpf loads them; without it everything that would load one says so.
//!
//! What is loaded ends with the process, unless it is pinned.

pub mod clean;
mod connection;
pub mod controller;
mod error;
pub mod inventory;
#[cfg(feature = "load")]
mod libbpf;
pub mod machine;
mod prefix;

pub use connection::Connection;
pub use controller::{Controller, Law, Program};
pub use error::BpfError;
pub use prefix::Prefix;
